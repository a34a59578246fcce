package judge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/listing"
)

// texts returns links as "by networks value: slugs".
func texts(links []site.OperatorLink) []string {
	var out []string
	for _, l := range links {
		networks := ""
		if l.Networks != nil {
			networks = *l.Networks + " "
		}
		var slugs []string
		for _, s := range l.Services {
			slugs = append(slugs, s.Slug)
		}
		out = append(out, fmt.Sprintf("%d by %s %s%s: %s", l.ServiceCount, l.By, networks, l.Value,
			strings.Join(slugs, " ")))
	}
	return out
}

func TestLinks(t *testing.T) {
	t.Parallel()
	of := func(slug, base string, proved bool, recipients ...string) operatorService {
		s := operatorService{Name: slug, Slug: slug, BaseURL: base, Proved: proved}
		for _, r := range recipients {
			s.Recipients = append(s.Recipients, operatorRecipient{"eip155:*", r})
		}
		return s
	}
	services := []operatorService{
		of("a", "https://api.acme.com/v1", false, "0x1", "0x1", "0x2"),
		of("b", "https://ACME.com", false, "0x1"),
		of("c", "https://c.vercel.app/one", true),
		of("d", "https://c.vercel.app/two", true),
		of("e", "https://d.vercel.app", true), // of another owner
		of("f", "https://c.vercel.app/three", false),
		of("g", "https://shop.example.co.uk", false),
		of("h", "https://other.co.uk", false),
		of("i", "https://one.sandbox.dev", false), // the operator calls it a free host
		of("j", "https://two.sandbox.dev", false),
		of("k", "http://198.51.100.1", false), of("l", "http://198.51.100.1:81", false),
		of("m", "http://one.sample.test", false), of("n", "http://two.sample.test", false),
		of("o", "http://[::1", false), of("p", "", false),
		{Name: "q", Slug: "q", BaseURL: "https://q.org", Recipients: []operatorRecipient{{"solana:x", "0x1"}}},
	}
	free, err := listing.FreeHosts{}.With([]byte("sandbox.dev\n"))
	if err != nil {
		t.Fatal(err)
	}
	x := newOperators(services, free)
	all, count := x.All()
	want := []string{"2 by domain acme.com: a b", "2 by owner c.vercel.app: c d", "2 by recipient eip155:* 0x1: a b"}
	if diff := cmp.Diff(want, texts(all)); diff != "" || count != 3 {
		t.Errorf("%d links (-want +got)\n%s", count, diff)
	}
	for i, want := range map[int][]string{0: {want[0], want[2]}, 2: want[1:2], 4: nil, 16: nil} {
		if diff := cmp.Diff(want, texts(x.Of(i))); diff != "" {
			t.Errorf("links of %s (-want +got)\n%s", services[i].Slug, diff)
		}
	}
}

// TestManyServices checks that a link counts all services and names the first hundred.
func TestManyServices(t *testing.T) {
	t.Parallel()
	services := make([]operatorService, 250)
	for i := range services {
		services[i] = operatorService{Slug: fmt.Sprintf("s%03d", i), BaseURL: fmt.Sprintf("https://s%d.acme.com", i)}
	}
	links := newOperators(services, listing.FreeHosts{}).Of(249)
	if len(links) != 1 || links[0].ServiceCount != 250 || len(links[0].Services) != site.MaxSharedWith {
		t.Errorf("links %v, want one of 250 services that names %d", texts(links), site.MaxSharedWith)
	}
}
