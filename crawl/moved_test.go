package crawl

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/facts"
	"tollbook/crawl/list"
	"tollbook/crawl/source"
	"tollbook/site/postgres"
	"tollbook/site/postgres/consent"
)

// moving redirects each request to the same path on another host.
func moving(status int, to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://"+to+r.URL.Path)
		w.WriteHeader(status)
	}
}

// TestMovedHosts checks what a source's rows of a new host become after a visit saw that a service moved there. They
// are the same endpoints of the same service, unless somebody else may own the new host.
func TestMovedHosts(t *testing.T) {
	t.Parallel()
	const before = "http://old.acme.com /x"
	paid := func(w http.ResponseWriter, _ *http.Request) { pay(w, challenge) }
	for _, tt := range []struct {
		name  string
		hosts map[string]http.HandlerFunc // besides new.acme.com, which asks to be paid
		list  []postgres.Listing          // besides old.acme.com
		then  func(w *town, m *memory)    // after the first visit; another follows
		want  []string                    // services with endpoints, after rows for /x and /y of new.acme.com
	}{
		{name: "301", hosts: map[string]http.HandlerFunc{"old.acme.com": moving(301, "new.acme.com")},
			want: []string{before + " /y"}},
		{name: "308 in two steps", hosts: map[string]http.HandlerFunc{"old.acme.com": moving(308, "mid.acme.com"),
			"mid.acme.com": moving(301, "new.acme.com")}, want: []string{before + " /y"}},
		{name: "one of two steps is temporary", hosts: map[string]http.HandlerFunc{
			"old.acme.com": moving(301, "mid.acme.com"), "mid.acme.com": moving(307, "new.acme.com")},
			want: []string{"http://new.acme.com /x /y", before}},
		{name: "302", hosts: map[string]http.HandlerFunc{"old.acme.com": moving(302, "new.acme.com")},
			want: []string{"http://new.acme.com /x /y", before}},
		{name: "another path", hosts: map[string]http.HandlerFunc{"old.acme.com": func(w http.ResponseWriter,
			r *http.Request) {
			http.Redirect(w, r, "http://new.acme.com/v2"+r.URL.Path, http.StatusMovedPermanently)
		}}, want: []string{"http://new.acme.com /x /y", before}},
		{name: "another domain", hosts: map[string]http.HandlerFunc{"old.acme.com": moving(301, "new.acme.net"),
			"new.acme.net": paid}, want: []string{"http://new.acme.com /x /y", before}},
		{name: "a cycle", hosts: map[string]http.HandlerFunc{"old.acme.com": moving(301, "new.acme.com"),
			"new.acme.com": moving(301, "old.acme.com")}, want: []string{"http://new.acme.com /x /y", before}},
		{name: "the new host is listed", hosts: map[string]http.HandlerFunc{
			"old.acme.com": moving(301, "new.acme.com")},
			list: []postgres.Listing{oneEndpoint("new", "http://new.acme.com", "/z")},
			want: []string{"http://new.acme.com /x /y /z", before}},
		{name: "two hosts moved to one", hosts: map[string]http.HandlerFunc{
			"old.acme.com": moving(301, "new.acme.com"), "older.acme.com": moving(301, "new.acme.com")},
			list: []postgres.Listing{oneEndpoint("older", "http://older.acme.com", "/z")},
			want: []string{"http://new.acme.com /x /y", before, "http://older.acme.com /z"}},
		{name: "it moved back", hosts: map[string]http.HandlerFunc{"old.acme.com": moving(301, "new.acme.com")},
			then: func(w *town, _ *memory) { w.hosts["old.acme.com"] = paid },
			want: []string{"http://new.acme.com /x /y", before}},
		{name: "the old host opted out", hosts: map[string]http.HandlerFunc{
			"old.acme.com": moving(301, "new.acme.com")},
			then: func(_ *town, m *memory) { optOut(t, m, "old.acme.com") }, want: []string{before}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, o := newTown(t, "com")
			w.hosts["new.acme.com"] = paid
			for host, h := range tt.hosts {
				w.hosts[host] = h
			}
			m := open(t)
			m.list(t, append(tt.list, oneEndpoint("old", "http://old.acme.com", "/x"))...)
			now := &clock{now: dawn}
			c := crawler(t, m, Options{Now: now.Now}, o)
			round(t, c)
			if tt.then != nil {
				tt.then(w, m)
				now.set(dawn.Add(time.Hour))
				round(t, c)
			}
			rows := []facts.Item{{URL: "https://new.acme.com/x", Method: "GET", Type: source.HTTP},
				{URL: "https://new.acme.com:443/y", Method: "GET", Type: source.HTTP}}
			for i := range 2 { // the second time changes nothing
				if _, err := c.ListItems(t.Context(), rows, "a"); err != nil {
					t.Fatal(err)
				}
				got := m.strings(t, `SELECT replace(base_url, 'https', 'http') || ' ' ||
						string_agg(path, ' ' ORDER BY path)
					FROM services JOIN endpoints ON service_id = services.id GROUP BY base_url ORDER BY 1`)
				slices.Sort(tt.want)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("services after import %d (-want +got)\n%s", i+1, diff)
				}
			}
		})
	}
}

func optOut(t *testing.T, m *memory, host string) {
	t.Helper()
	_, err := m.RecordOptOut(t.Context(), consent.OptOut{Host: host, Document: "http://" + host + "/robots.txt",
		Since: dawn, ReadAt: dawn}, dawn.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
}

// TestOptOutOfMovedHost checks that an opt-out of the new host hides the service of the old one, and that it is shown
// again only when neither host opts out.
func TestOptOutOfMovedHost(t *testing.T) {
	t.Parallel()
	w, o := newTown(t, "com")
	w.hosts["old.acme.com"] = moving(301, "new.acme.com")
	w.hosts["new.acme.com"] = func(w http.ResponseWriter, _ *http.Request) { pay(w, challenge) }
	m := open(t)
	m.list(t, oneEndpoint("old", "http://old.acme.com", "/x"), oneEndpoint("other", "http://other.acme.com", "/x"))
	round(t, crawler(t, m, Options{Now: func() time.Time { return dawn }}, o))
	end := func(host string) {
		if _, err := m.EndOptOut(t.Context(), host, dawn); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { optOut(t, m, "new.acme.com") }, "old hidden, other listed"},
		{func() { optOut(t, m, "old.acme.com") }, "old hidden, other listed"},
		{func() { end("new.acme.com") }, "old hidden, other listed"},
		{func() { end("old.acme.com") }, "old listed, other listed"},
	} {
		step.do()
		got := strings.Join(m.strings(t, `SELECT slug || ' ' || listing_state FROM services ORDER BY slug`), ", ")
		if got != step.want {
			t.Errorf("states %q, want %q", got, step.want)
		}
	}
}

// TestPlanOfMovedHost checks that a list that names the new host means the service that moved there.
func TestPlanOfMovedHost(t *testing.T) {
	t.Parallel()
	w, o := newTown(t, "com")
	w.hosts["old.acme.com"] = moving(308, "new.acme.com")
	w.hosts["new.acme.com"] = func(w http.ResponseWriter, _ *http.Request) { pay(w, challenge) }
	m := open(t)
	m.list(t, oneEndpoint("old", "http://old.acme.com/v1", "/x"))
	round(t, crawler(t, m, Options{Now: func() time.Time { return dawn }}, o))
	for _, want := range []string{"0 added, changed [url: http://old.acme.com/v1 → https://new.acme.com/v1]",
		"0 added, changed []"} {
		err := m.ChangeListings(t.Context(), "someone", dawn, func(has postgres.Listed) (postgres.ListingChanges,
			error) {
			entries := []list.Entry{{Listing: oneEndpoint("", "https://new.acme.com/v1", "/x")}}
			entries[0].Name = "old"
			p, err := list.NewPlan(entries, list.Options{}, has, false)
			if err != nil {
				return postgres.ListingChanges{}, err
			}
			var fields []list.FieldChange
			for _, c := range p.Change {
				fields = append(fields, c.Fields...)
			}
			if got := fmt.Sprintf("%d added, changed %s", len(p.Add), fields); got != want {
				t.Errorf("plan: %s, want %s", got, want)
			}
			return p.Changes(), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
