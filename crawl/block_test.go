package crawl

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres"
	"tollbook/site/postgres/consent"
)

// TestBlock checks which services a block hides and keeps from being listed, in Go and in SQL, and that its end brings
// them back as they were.
func TestBlock(t *testing.T) {
	t.Parallel()
	hosts := []string{"spam.example", "api.spam.example", "api.spam.example:8443", "a.b.spam.example", "notspam.example",
		"spam.example.org", "[2001:db8::1]:8443"}
	for _, tt := range []struct {
		block string
		means []string
	}{
		{"spam.example", hosts[:1]},
		{"https://api.spam.example/", []string{"api.spam.example"}},
		{"api.spam.example:8443", []string{"api.spam.example:8443"}},
		{"*.spam.example", hosts[:4]},
		{"*.Spam.Example", hosts[:4]},
		{"[2001:db8::1]:8443", hosts[6:]},
		{"other.example", nil},
	} {
		t.Run(tt.block, func(t *testing.T) {
			t.Parallel()
			m := open(t)
			bySlug := map[string]string{}
			for i, h := range hosts {
				slug := string(rune('a' + i))
				bySlug[slug] = h
				m.list(t, oneEndpoint(slug, "https://"+h, "/pay"))
			}
			host, err := consent.BlockedHost(tt.block)
			if err != nil {
				t.Fatal(err)
			}
			hidden, err := m.Block(t.Context(), host, "ada", "spam", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, slug := range hidden {
				got = append(got, bySlug[slug])
			}
			if diff := cmp.Diff(tt.means, got); diff != "" {
				t.Errorf("hidden (-want +got):\n%s", diff)
			}
			listed, err := m.Listed(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			means := map[string]bool{}
			for _, h := range tt.means {
				means[h] = true
			}
			for _, h := range hosts {
				if _, ok := listed.OptOuts.Find(h); ok != means[h] {
					t.Errorf("in Go the block means %s: %t, want %t", h, ok, means[h])
				}
				err := m.AddListings(t.Context(), []postgres.Listing{oneEndpoint("new-"+h[:3], "https://"+h+"/new", "/pay")})
				if errors.As(err, new(*consent.Error)) != means[h] {
					t.Errorf("listing at %s: %v, want it to be refused: %t", h, err, means[h])
				}
			}
			if shown, ok, err := m.Unblock(t.Context(), host, "ada", time.Now()); err != nil || !ok || !cmp.Equal(shown, hidden) {
				t.Errorf("the end of the block shows %q, %t, %v, want %q", shown, ok, err, hidden)
			}
			if _, ok, err := m.Unblock(t.Context(), host, "ada", time.Now()); err != nil || ok {
				t.Errorf("the block ends twice: %t, %v", ok, err)
			}
		})
	}
	for _, text := range []string{"", "*.", "*.com", "*.spam.example:80", "https://spam.example/path", "a b", "http://",
		"spam.example/x"} {
		if host, err := consent.BlockedHost(text); err == nil {
			t.Errorf("%q blocks %q", text, host)
		}
	}
}

// TestBlockAndOptOut checks that a block stays when the owner opts out, too, and the other way around.
func TestBlockAndOptOut(t *testing.T) {
	t.Parallel()
	m := open(t)
	m.list(t, oneEndpoint("acme", "https://acme.example", "/pay"))
	now := time.Now()
	o := consent.OptOut{Host: "acme.example", Document: "https://acme.example/robots.txt", Since: now, ReadAt: now}
	state := func() string {
		t.Helper()
		list := m.strings(t, `SELECT listing_state || ' ' || (SELECT count(*) FROM opt_outs) FROM services`)
		return list[0]
	}
	step := func(want string, err error) {
		t.Helper()
		if got := state(); err != nil || got != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	ctx := t.Context()
	_, err := m.Block(ctx, o.Host, "ada", "", now)
	step("hidden 1", err)
	_, err = m.RecordOptOut(ctx, o, now)
	step("hidden 1", err)
	if due, err := m.TakeOptOuts(ctx, now.Add(time.Hour), time.Hour, 9); len(due) > 0 || err != nil {
		t.Errorf("the owner of a blocked host is asked: %v, %v", due, err)
	}
	_, err = m.EndOptOut(ctx, o.Host, now)
	step("hidden 1", err)
	_, _, err = m.Unblock(ctx, o.Host, "ada", now)
	step("hidden 1", err) // the owner's wish is left
	_, err = m.EndOptOut(ctx, o.Host, now)
	step("listed 0", err)
}
