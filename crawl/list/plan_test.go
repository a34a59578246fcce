package list

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site/postgres"
)

// stored returns a directory with three services: one of a file, one that was submitted, and one that was erased.
func stored(change func(acme *postgres.DueService)) postgres.Listed {
	acme := postgres.DueService{
		Service: postgres.Service{
			ID: 1, Slug: "acme", Name: "Acme", Description: "d", BaseURL: "https://acme.example", Category: "AI",
			Source: sourceFile, State: postgres.StateListed,
		},
		Endpoints: []postgres.Endpoint{
			{ID: uuid.UUID{1}, Method: "GET", Path: "/a", Origin: "import", LastPaidAt: new(time.Time)},
			{ID: uuid.UUID{2}, Method: "POST", MethodDeclared: true, Path: "/b", Origin: "import"},
			{ID: uuid.UUID{3}, Method: "GET", MethodDeclared: true, Path: "/found", Origin: "openapi"},
		},
	}
	bolt := postgres.DueService{Service: postgres.Service{
		ID: 2, Slug: "bolt", Name: "Bolt", Description: "d", BaseURL: "https://bolt.example", Category: "Data",
		Source: "submitted", State: postgres.StateListed,
	}}
	if change != nil {
		change(&acme)
	}
	return postgres.Listed{Services: []postgres.DueService{acme, bolt}, Erased: map[string]bool{"gone": true}}
}

// entryOf returns an entry in TOML with some lines replaced or added; a line "field =" leaves the field out.
func entryOf(lines ...string) string {
	fields := []string{`service_name = "Acme"`, `description = "d"`, `url = "https://acme.example"`, `category = "AI"`,
		`endpoints = ["/a", "POST /b"]`}
	for _, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		replaced := false
		for i, f := range fields {
			if strings.HasPrefix(f, name+" ") {
				fields[i], replaced = line, true
			}
		}
		if !replaced {
			fields = append(fields, line)
		}
	}
	return "[[service]]\n" + strings.Join(fields, "\n") + "\n"
}

func TestPlan(t *testing.T) {
	t.Parallel()
	other := []string{`service_name = "Cask"`, `url = "https://cask.example"`, `endpoints = ["/c"]`}
	for _, test := range []struct {
		name   string
		has    func(*postgres.DueService)
		list   string
		prune  bool
		want   string // + added, ~ changed, - retired, ! note
		counts [2]int // unchanged, missing
	}{
		{name: "the same", list: entryOf(), counts: [2]int{1, 0}},
		{name: "another service", list: entryOf(other...), want: "+ cask https://cask.example /c",
			counts: [2]int{0, 1}},
		{name: "another service, pruned", list: entryOf(other...), prune: true,
			want: "+ cask https://cask.example /c\n- acme"},
		{name: "a mended name", list: entryOf(`service_name = "Acme Quotes"`),
			want: "~ acme service_name: Acme → Acme Quotes"},
		{name: "a changed URL", list: entryOf(`url = "https://new.example/v1"`),
			want: "~ acme url: https://acme.example → https://new.example/v1"},
		{name: "https now", has: func(s *postgres.DueService) { s.BaseURL, s.Name = "http://acme.example", "Ltd" },
			list: entryOf(),
			want: "~ acme service_name: Ltd → Acme; url: http://acme.example → https://acme.example"},
		{name: "a changed URL of a verified service", has: func(s *postgres.DueService) { s.VerifiedAt = &noon },
			list: entryOf(`url = "https://new.example"`),
			want: "~ acme url: https://acme.example → https://new.example; verified: true → false"},
		{name: "another path of a verified service", has: func(s *postgres.DueService) { s.VerifiedAt = &noon },
			list: entryOf(`url = "https://acme.example/v2"`),
			want: "~ acme url: https://acme.example → https://acme.example/v2"},
		{name: "name and URL changed", list: entryOf(`service_name = "New"`, `url = "https://new.example"`),
			want: "+ new https://new.example /a, POST /b", counts: [2]int{0, 1}},
		{name: "name and URL changed with the slug",
			list: entryOf(`service_name = "New"`, `url = "https://new.example"`, `slug = "acme"`),
			want: "~ acme service_name: Acme → New; url: https://acme.example → https://new.example"},
		{name: "the name of a submitted service", list: entryOf() + entryOf(`service_name = "Bolt"`,
			`url = "https://other.example"`), want: "+ other-example https://other.example /a, POST /b",
			counts: [2]int{1, 0}},
		{name: "a submitted service", list: entryOf() + entryOf(`service_name = "Bolt"`, `url = "https://bolt.example"`,
			`category = "Data"`, `endpoints = ["/x"]`), want: "~ bolt endpoint: - → /x", counts: [2]int{1, 0}},
		{name: "the slug of an erased service", list: entryOf() + entryOf(`service_name = "Gone"`,
			`url = "https://gone.example"`), want: "+ gone-example https://gone.example /a, POST /b",
			counts: [2]int{1, 0}},
		{name: "a website", list: entryOf(`website_url = "https://www.acme.example"`),
			want: "~ acme website_url: - → https://www.acme.example"},
		{name: "another source", list: entryOf(`source = "imported:peer"`),
			want: "~ acme source: imported:file → imported:peer"},
		{name: "a mistyped endpoint", list: entryOf(`endpoints = ["/a", "POST /c"]`),
			want: "~ acme endpoint: - → POST /c; endpoint: POST /b → -"},
		{name: "a declared method", list: entryOf(`endpoints = ["/a", "GET /a", "POST /b"]`),
			want: "~ acme endpoint: - → GET /a"},
		{name: "an endpoint that was paid for", list: entryOf(`endpoints = ["POST /b"]`),
			want:   "! acme keeps endpoint GET /a and its prices, although the list lacks it; --prune removes both",
			counts: [2]int{1, 0}},
		{name: "an endpoint that was paid for, pruned", list: entryOf(`endpoints = ["POST /b"]`), prune: true,
			want: "~ acme endpoint: GET /a → - (erases endpoint GET /a with its prices)"},
		{name: "retired by hand", has: func(s *postgres.DueService) {
			s.State = postgres.StateRetired
		}, list: entryOf(),
			want:   "! acme stays retired, as the operator decided; tollbook services resume acme lists it again",
			counts: [2]int{1, 0}},
		{name: "retired by a file", list: entryOf(),
			has:  func(s *postgres.DueService) { s.State, s.Pruned = postgres.StateRetired, true },
			want: "~ acme state: retired → listed"},
		{name: "retired already", has: func(s *postgres.DueService) { s.State = postgres.StateRetired }, prune: true,
			list: entryOf(other...), want: "+ cask https://cask.example /c"},
		{name: "paused", has: func(s *postgres.DueService) { s.State = postgres.StatePaused }, list: entryOf(),
			counts: [2]int{1, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			has := stored(test.has)
			o := Options{Name: "list.toml", Now: noon, Categories: Categories(has)}
			entries, err := Read(strings.NewReader(test.list), o)
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewPlan(entries, o, has, test.prune)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, planText(p)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.counts, [2]int{p.Unchanged, p.Missing}); diff != "" {
				t.Errorf("unchanged and missing (-want +got):\n%s", diff)
			}
		})
	}
}

func planText(p *Plan) string {
	var lines []string
	for _, a := range p.Add {
		lines = append(lines, "+ "+a.Slug+" "+a.URL+" "+strings.Join(a.Endpoints, ", "))
	}
	for _, c := range p.Change {
		line := "~ " + c.Slug + " " + describe(c.Fields)
		if len(c.Erases) > 0 {
			line += " (erases " + strings.Join(c.Erases, ", ") + ")"
		}
		lines = append(lines, line)
	}
	for _, r := range p.Retire {
		lines = append(lines, "- "+r.Slug)
	}
	for _, n := range p.Notes {
		lines = append(lines, "! "+n.Slug+" "+n.Text)
	}
	return strings.Join(lines, "\n")
}

func TestFaultsOfAPlan(t *testing.T) {
	t.Parallel()
	const categories = "(AI, Blockchain, Compute, Content, Data, Finance, Other, Verification; " +
		"--new-categories accepts it)"
	for _, test := range []struct{ name, list, fault string }{
		{"the slug of an erased service", entryOf(`slug = "gone"`, `url = "https://gone.example"`),
			"list.toml:7:8: slug gone belonged to a service that was erased, and a slug is never given twice; choose " +
				"another or leave it out"},
		{"a new slug for a listed service", entryOf(`slug = "new"`),
			"list.toml:4:7: url https://acme.example is listed as acme; name that slug, or leave the slug out"},
		{"the URL of another service", entryOf(`slug = "acme"`, `url = "https://bolt.example"`),
			"list.toml:4:7: url https://bolt.example is listed as bolt; name that slug, or leave the slug out"},
		{"another domain", entryOf(`slug = "acme"`, `url = "https://acme.test"`),
			"list.toml:4:7: url https://acme.test is on another domain than https://acme.example, where acme has asked for " +
				"payment; list the new address as a service of its own"},
		{"a mistyped category", entryOf(`category = "Finanse"`),
			`list.toml:5:12: category "Finanse" is not in the list; did you mean "Finance"? ` + categories},
		{"an unknown category", entryOf(`category = "Weather"`),
			`list.toml:5:12: category "Weather" is not in the list ` + categories},
	} {
		has := stored(func(acme *postgres.DueService) { acme.LastSuccessAt = new(noon) })
		o := Options{Name: "list.toml", Now: noon, Categories: Categories(has)}
		entries, err := Read(strings.NewReader(test.list), o)
		if err == nil {
			_, err = NewPlan(entries, o, has, false)
		}
		if diff := cmp.Diff([]string{test.fault}, faults(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestMovesOfAPlan checks which new addresses of a service a list may name.
func TestMovesOfAPlan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		url, paid string
		ok        bool
	}{
		{"https://api.acme.example/v2", "https://acme.example", true},
		{"https://acme.example:8443", "https://acme.example", true},
		{"https://other.example", "https://acme.example", false},
		{"https://other.example", "", true},                       // it never asked for payment: there is no history to take along
		{"https://two.github.io", "https://one.github.io", false}, // sites of different people
		{"https://203.0.113.7", "https://203.0.113.8", false},
	} {
		has := stored(func(acme *postgres.DueService) {
			if test.paid != "" {
				acme.BaseURL, acme.LastSuccessAt = test.paid, new(noon)
			}
		})
		o := Options{Name: "list.toml", Now: noon, Categories: Categories(has)}
		entries, err := Read(strings.NewReader(entryOf(`slug = "acme"`, `url = "`+test.url+`"`)), o)
		if err == nil {
			_, err = NewPlan(entries, o, has, false)
		}
		if (err == nil) != test.ok {
			t.Errorf("from %q to %s: %v, want allowed %v", test.paid, test.url, err, test.ok)
		}
	}
}

// TestPlanRemoved checks that an entry of a removed service is a note, and that the other entries are applied. It is
// found by its address, or without one by its slug.
func TestPlanRemoved(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	has := stored(nil)
	has.Removed = []postgres.RemovedService{
		{Slug: "gone", RemovedAt: at, Actor: "anna", Addresses: []string{"gone.example/pay"}},
		{Slug: "early", RemovedAt: at},
		{Slug: "free", RemovedAt: at, Addresses: []string{"free.example"}, AllowedAt: &at},
	}
	has.Erased = map[string]bool{"gone": true, "early": true, "free": true}
	const gone = "removed on 2026-11-01 by anna: stays removed; tollbook services allow gone lets it be listed again"
	for _, tt := range []struct {
		name, list string
		want       []string // notes, then the slugs that are added
	}{
		{"its address and slug", entryOf(`slug = "gone"`, `url = "http://GONE.example/pay/"`),
			[]string{"http://gone.example/pay is not listed: " + gone}},
		{"its address under another name", entryOf(`service_name = "Other"`, `url = "https://www.gone.example/pay"`) +
			entryOf(`service_name = "New"`, `url = "https://new.example"`),
			[]string{"https://www.gone.example/pay is not listed: " + gone, "new"}},
		{"a neighbour", entryOf(`service_name = "Near"`, `url = "https://gone.example/quote"`), []string{"near"}},
		{"a slug without an address", entryOf(`slug = "early"`, `url = "https://early.example"`),
			[]string{"https://early.example is not listed: removed on 2026-11-01: stays removed; tollbook services " +
				"allow early lets it be listed again"}},
		{"one that is allowed", entryOf(`service_name = "Free"`, `url = "https://free.example"`),
			[]string{"free-example"}},
		{"a listed service that would move there", entryOf(`slug = "acme"`, `url = "https://gone.example/pay"`),
			[]string{"stays as it is, because the service at https://gone.example/pay was " + gone}},
	} {
		o := Options{Name: "list.toml", Now: at}
		entries, err := Read(strings.NewReader(tt.list), o)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		p, err := NewPlan(entries, o, has, false)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got []string
		for _, n := range p.Notes {
			if got = append(got, n.Text); n.Removed == nil {
				t.Errorf("%s: the note has no removal", tt.name)
			}
		}
		for _, a := range p.Add {
			got = append(got, a.Slug)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if len(p.Change) > 0 {
			t.Errorf("%s: changes %+v", tt.name, p.Change)
		}
	}
}
