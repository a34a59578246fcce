package sample

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/x402"
)

// start is the time at which the tests' world begins: in the middle of a UTC day, between two milliseconds.
var start = time.Date(2026, 11, 21, 14, 30, 0, 123456789, time.UTC)

func TestCastIsBroad(t *testing.T) {
	t.Parallel()
	categories, networks, schemes, used := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for _, s := range cast() {
		categories[s.Category]++
		used[s.Behaviour]++
		for _, e := range s.endpoints {
			for _, r := range e.rails {
				networks[x402.Abbreviation(r.network.ID)]++
				schemes[r.scheme]++
			}
		}
	}
	if n := len(cast()); n < 45 {
		t.Errorf("%d services, want 45 at least", n)
	}
	for _, c := range site.Categories {
		if categories[c] < 4 {
			t.Errorf("%d services in category %s, want 4 at least", categories[c], c)
		}
	}
	if len(categories) != len(site.Categories) {
		t.Errorf("categories %v, want those of the site", categories)
	}
	for _, n := range []string{"BSE", "SOL", "POL", "ARB", "AVX", "ETH", "BST", "SOD", "NBL"} {
		if networks[n] == 0 {
			t.Errorf("no service accepts payment on %s", n)
		}
	}
	for _, s := range []string{"exact", "upto", "batch-settlement", "exact_cosmos_authz"} {
		if schemes[s] == 0 {
			t.Errorf("no service uses the scheme %s", s)
		}
	}
	for name := range behaviours {
		if used[name] == 0 {
			t.Errorf("no service behaves as %s", name)
		}
	}
}

func TestCastIsWellFormed(t *testing.T) {
	t.Parallel()
	slug := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$`) // valid as a label of a host name
	seen := map[string]bool{}
	for _, s := range cast() {
		if !slug.MatchString(s.Slug) {
			t.Errorf("%s: not a slug", s.Slug)
		}
		for _, text := range []string{s.Slug, s.Name, s.Description} {
			if text == "" || seen[text] {
				t.Errorf("%s: %q is empty or another service's", s.Slug, text)
			}
			seen[text] = true
		}
		if !strings.HasSuffix(s.Description, ".") || len(s.Description) > 200 {
			t.Errorf("%s: description is not a short sentence: %q", s.Slug, s.Description)
		}
		if len(s.endpoints) == 0 || s.Age <= 0 || s.Latency <= 0 || s.Since >= s.Age {
			t.Errorf("%s: endpoints %d, age %g, latency %d, since %g", s.Slug, len(s.endpoints), s.Age, s.Latency,
				s.Since)
		}
		if (s.Before == "") != (s.Since == 0) {
			t.Errorf("%s: before %q and since %g go together", s.Slug, s.Before, s.Since)
		}
		keys := map[string]bool{}
		for _, e := range s.endpoints {
			if keys[e.key()] || !strings.HasPrefix(e.path, "/") || strings.ContainsAny(e.path, "{}:?") {
				t.Errorf("%s: endpoint %s is a duplicate or not a plain path", s.Slug, e.key())
			}
			keys[e.key()] = true
			for _, r := range e.rails {
				if _, fraction, _ := strings.Cut(e.price, "."); len(fraction) > r.asset.Decimals {
					t.Errorf("%s: %s is finer than %s", s.Slug, e.price, r.asset.Symbol)
				}
			}
		}
		for i, c := range s.Change {
			if s.changed(i, start).Before(s.created(start)) {
				t.Errorf("%s: a change %g days ago, before it was listed", s.Slug, c.Days)
			}
		}
	}
}

// TestCastDescribesBehaviours checks that the comment of cast.toml describes exactly the behaviours that exist.
func TestCastDescribesBehaviours(t *testing.T) {
	_, list, ok := strings.Cut(string(castTOML), "# Behaviours, defined in behaviour.go:\n")
	list, _, end := strings.Cut(list, "\n\n")
	if !ok || !end {
		t.Fatal("cast.toml has no list of behaviours")
	}
	described := map[string]bool{}
	for line := range strings.Lines(list) {
		if name, text, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "#")), " "); ok && text != "" {
			described[name] = true
		}
	}
	want := map[string]bool{}
	for name := range behaviours {
		want[name] = true
	}
	if diff := cmp.Diff(want, described); diff != "" {
		t.Errorf("behaviours described in cast.toml (-want +got):\n%s", diff)
	}
}

func TestCastIsInvented(t *testing.T) {
	t.Parallel()
	for _, host := range regexp.MustCompile(`(?i)[a-z0-9-]+\.(com|net|org|io|ai|dev|xyz|app|sh|co|finance)\b`).
		FindAll(castTOML, -1) {
		t.Errorf("cast.toml names the host %s", host)
	}
	for _, l := range Listings(start, time.Minute) {
		if !strings.HasSuffix(l.BaseURL, "://"+l.Slug+"."+Domain) {
			t.Errorf("%s has the base URL %s", l.Slug, l.BaseURL)
		}
		if l.WebsiteURL != nil && *l.WebsiteURL != l.BaseURL+"/" {
			t.Errorf("%s has its website at %s", l.Slug, *l.WebsiteURL)
		}
	}
}

func TestReadCastRefuses(t *testing.T) {
	t.Parallel()
	const good = "[[service]]\nslug = \"a\"\n"
	for _, test := range []struct{ name, text, want string }{
		{"no TOML", "[[service", "toml"},
		{"unknown field", good + "colour = \"red\"\n", "strict mode"},
		{"unknown behaviour", good + "behaviour = \"polite\"\n", `service a: unknown behaviour "polite"`},
		{"unknown former behaviour", good + "before = \"polite\"\n", `unknown behaviour "polite"`},
		{"unknown temper", good + "temper = \"sanguine\"\n", `unknown temper "sanguine"`},
		{"short endpoint", good + "endpoints = [\"GET /x 0.01\"]\n", "want METHOD /path USD description"},
		{"price", good + "endpoints = [\"GET /x cheap A thing\"]\n", `price: parse decimal "cheap"`},
		{"rail", good + "pays = [\"base\"]\nendpoints = [\"GET /x 1 A thing\"]\n",
			`rail "base": want scheme network [token]`},
		{"network", good + "pays = [\"exact atlantis\"]\nendpoints = [\"GET /x 1 A thing\"]\n",
			`unknown network "atlantis"`},
		{"token", good + "pays = [\"exact base GOLD\"]\nendpoints = [\"GET /x 1 A thing\"]\n",
			"no GOLD on eip155:8453"},
		{"change of nothing", good + "[[service.change]]\nendpoint = \"GET /x\"\n",
			`change of "GET /x", which is not an endpoint`},
		{"rail of a change", good + "[[service.change]]\npays = [\"x\"]\n", `rail "x"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := readCast([]byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestListings(t *testing.T) {
	t.Parallel()
	list := Listings(start, 20*time.Second)
	if diff := cmp.Diff(list, Listings(start, 20*time.Second)); diff != "" {
		t.Errorf("two calls differ:\n%s", diff)
	}
	var slugs []string
	verified, older := 0, 0
	for _, l := range list {
		slugs = append(slugs, l.Slug)
		if l.VerifiedAt != nil {
			verified++
			if l.VerifiedAt.After(start) || l.VerifiedAt.Before(l.CreatedAt) {
				t.Errorf("%s was verified at %v, listed at %v", l.Slug, l.VerifiedAt, l.CreatedAt)
			}
		}
		if l.CreatedAt.After(start) {
			t.Errorf("%s is listed after the start", l.Slug)
		}
		if start.Sub(l.CreatedAt) > 90*day {
			older++
		}
		if l.Source != Source || l.Interval != 20*time.Second {
			t.Errorf("%s: source %q, interval %v", l.Slug, l.Source, l.Interval)
		}
	}
	if !slices.IsSorted(slugs) {
		t.Error("listings are not by slug")
	}
	if verified < 10 || older < 20 || older > len(list)-10 {
		t.Errorf("%d verified, %d of %d older than 90 days: not a directory's mix", verified, older, len(list))
	}
}

func TestAsOfUndoesChanges(t *testing.T) {
	t.Parallel()
	rails, err := parseRails([]string{"exact base"})
	if err != nil {
		t.Fatal(err)
	}
	text := `
[[service]]
slug = "a"
pays = ["exact base", "exact solana"]
endpoints = ["GET /x 0.03 A thing", "GET /y 0.03 Another"]
[[service.change]]
days = 10
recipient = 4
timeout = 60
[[service.change]]
days = 20
endpoint = "GET /x"
price = "0.02"
[[service.change]]
days = 30
endpoint = "GET /y"
absent = true
[[service.change]]
days = 40
endpoint = "GET /x"
price = "0.01"
pays = ["exact base"]
`
	list, err := readCast([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := list[0]
	type state struct {
		Key, Price                string
		Rails, Recipient, Timeout int
	}
	want := [][]state{
		{{"GET /x", "0.01", len(rails), 4, 60}},
		{{"GET /x", "0.02", 2, 4, 60}},
		{{"GET /x", "0.02", 2, 4, 60}, {"GET /y", "0.03", 2, 4, 60}},
		{{"GET /x", "0.03", 2, 4, 60}, {"GET /y", "0.03", 2, 4, 60}},
		{{"GET /x", "0.03", 2, 0, 300}, {"GET /y", "0.03", 2, 0, 300}},
	}
	for n := range want {
		var got []state
		for _, e := range s.asOf(n).endpoints {
			got = append(got, state{e.key(), e.price, len(e.rails), e.recipient, e.timeout})
		}
		if diff := cmp.Diff(want[n], got); diff != "" {
			t.Errorf("after %d changes (-want +got):\n%s", n, diff)
		}
	}
}
