package facts

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"
)

// links returns the methods and URLs of declared endpoints.
func links(list []Declared) (out []string) {
	for _, d := range list {
		out = append(out, strings.TrimSpace(d.Method+" "+d.URL))
	}
	return out
}

// TestCandidates checks which URLs documents name: those on the document's host or below it, each once, up to a limit.
func TestCandidates(t *testing.T) {
	t.Parallel()
	address, err := url.Parse("https://acme.test/doc")
	if err != nil {
		t.Fatal(err)
	}
	card := func(doc string) ([]Declared, error) { return ReadAgentCard([]byte(doc), address) }
	text := func(doc string) ([]Declared, error) { return ReadLLMsTxt([]byte(doc), address), nil }
	catalogue := func(doc string) ([]Declared, error) {
		c, err := ReadAPICatalog([]byte(doc), address)
		var out []Declared
		for _, u := range c.Descriptions {
			out = append(out, Declared{URL: u.String()})
		}
		for _, u := range c.Catalogs {
			out = append(out, Declared{URL: u.String(), Method: "CATALOG"})
		}
		return out, err
	}
	record := func(doc string) ([]Declared, error) {
		if u := ReadTXT(strings.Split(doc, "\n"), address); u != nil {
			return []Declared{{URL: u.String()}}, nil
		}
		return nil, nil
	}
	const paid = `"capabilities": {"extensions": [{"uri": "https://github.com/google-a2a/a2a-x402/v0.1"}]}`
	for _, c := range []struct {
		name string
		read func(string) ([]Declared, error)
		doc  string
		want []string
	}{
		{"catalogue", catalogue, `{"linkset": [{"anchor": "https://acme.test/", "service-desc": [
			{"href": "https://acme.test/a.json"}, {"href": "/b.json"}, {"href": "https://docs.acme.test/c.json"},
			{"href": "/b.json"}]}, {"item": [{"href": "/d"}]}, {"service-desc": {"href": "/one.json"}}]}`,
			[]string{"https://acme.test/a.json", "https://acme.test/b.json", "https://docs.acme.test/c.json",
				"https://acme.test/one.json"}},
		{"catalogues in a catalogue", catalogue, `{"linkset": [{"api-catalog": [{"href": "/a"}, {"href": "/a"},
			{"href": "https://evil.test/b"}, {"href": "http://169.254.169.254/"}, {"href": "/c"}, {"href": "/d"}]},
			{"api-catalog": {"href": "/e"}}, {"api-catalog": [{"href": "/f"}]}]}`,
			[]string{"CATALOG https://acme.test/a", "CATALOG https://acme.test/c", "CATALOG https://acme.test/d",
				"CATALOG https://acme.test/e"}},
		{"catalogue of others", catalogue, `{"linkset": [{"service-desc": [{"href": "https://evil.test/a"},
			{"href": "https://xacme.test/a"}, {"href": "http://127.0.0.1/a"}, {"href": "file:///etc/passwd"},
			{"href": "https://u:p@acme.test/a"}, {"href": "https://acme.test:8443/a"}, {"href": ""}]}]}`,
			nil},
		{"large catalogue", catalogue, `{"linkset": [{"service-desc": [` +
			strings.Repeat(`{"href": "/a"},{"href": "/b"},{"href": "/c"},{"href": "/d"},{"href": "/e"},`, 999) +
			`1]}]}`, []string{"https://acme.test/a", "https://acme.test/b", "https://acme.test/c",
			"https://acme.test/d"}},
		{"paid agent", card, `{"name": "A", "url": "https://acme.test/a2a", "additionalInterfaces": [
			{"url": "https://acme.test/rest"}, {"url": "https://evil.test/x"}], "skills": [], ` + paid + `}`,
			[]string{"POST https://acme.test/a2a", "POST https://acme.test/rest"}},
		{"free agent", card, `{"name": "A", "url": "https://acme.test/a2a", "skills": [], "capabilities": {}}`, nil},
		{"agent on another host", card, `{"url": "https://evil.test/x402", "skills": [], ` + paid + `}`, nil},
		{"links", text, "# Acme\n- [Quote](/v1/quote): 0.01 USDC\n- [Search](https://acme.test/v1/search?q=a).\n" +
			"See https://acme.test/v1/bare, https://evil.test/x, [docs](/docs.md), https://acme.test/,\n" +
			"[again](/v1/quote#top), http://acme.test/v1/plain",
			[]string{"GET https://acme.test/v1/quote", "GET https://acme.test/v1/search?q=a",
				"GET https://acme.test/v1/bare", "GET http://acme.test/v1/plain"}},
		{"record", record, "v=spf1 -all\nv=x402-1; wk=https://acme.test/.well-known/x402; net=base",
			[]string{"https://acme.test/.well-known/x402"}},
		{"record of another host", record, "v=x402-1; wk=https://evil.test/list", nil},
		{"record without a version", record, "wk=https://acme.test/list", nil},
		{"late record", record, strings.Repeat("x\n", maxTXT) + "v=x402-1; wk=https://acme.test/list", nil},
	} {
		got, err := c.read(c.doc)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, links(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	var many strings.Builder
	for i := range 10_000 {
		many.WriteString("https://acme.test/p" + strings.Repeat("a", i%97) + " ")
	}
	if got, _ := text(many.String()); len(got) != maxCandidates {
		t.Errorf("%d candidates of a long text, want %d", len(got), maxCandidates)
	}
	for _, doc := range []string{"", "null", "[]", "{}", strings.Repeat("[", 100_000), `{"linkset": {}}`, "\x00"} {
		for _, read := range []func(string) ([]Declared, error){card, text, catalogue, record} {
			if got, _ := read(doc); len(got) > 0 {
				t.Errorf("%.20q: %v", doc, links(got))
			}
		}
	}
}

// resolver returns a resolver that asks a server on loopback, which knows TXT records by name.
func resolver(t *testing.T, records map[string]string) *net.Resolver {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for p := make([]byte, 4<<10); ; {
			n, from, err := l.ReadFrom(p)
			if err != nil {
				return // closed
			}
			var m dnsmessage.Message
			if m.Unpack(p[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true}, Questions: m.Questions}
			if text, ok := records[q.Name.String()]; ok {
				reply.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.TXTResource{TXT: []string{text}},
				}}
			} else {
				reply.RCode = dnsmessage.RCodeNameError
			}
			if packed, err := reply.Pack(); err == nil {
				_, _ = l.WriteTo(packed, from) // the client repeats its question
			}
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	var d net.Dialer
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "udp", l.LocalAddr().String())
	}}
}

// TestSurveyReadsNestedCatalogues checks that a survey reads the catalogues of APIs in a catalogue, each once and at
// most maxCatalogs, though they name each other in a circle.
func TestSurveyReadsNestedCatalogues(t *testing.T) {
	t.Parallel()
	catalog := func(members string) string { return "200 application/linkset+json {\"linkset\": [" + members + "]}" }
	w, f := newTown(t, map[string]http.Handler{"acme.test": pages{
		wellKnownAPICatalog: catalog(`{"api-catalog": [{"href": "/.well-known/api-catalog"}, {"href": "/one"},
			{"href": "/two"}, {"href": "http://evil.test/three"}]}`),
		"/one":        catalog(`{"api-catalog": [{"href": "/.well-known/api-catalog"}, {"href": "/three"}]}`),
		"/two":        catalog(`{"api-catalog": [{"href": "/one"}, {"href": "/two"}, {"href": "/four"}]}`),
		"/three":      catalog(`{"service-desc": [{"href": "/paid.yaml"}], "api-catalog": [{"href": "/five"}]}`),
		"/four":       catalog(`{"api-catalog": [{"href": "/one"}]}`),
		"/five":       catalog(`{}`),
		"/paid.yaml":  "200 application/yaml openapi: 3.1.0\npaths:\n  /buy:\n    get:\n      responses: {402: {}}\n",
		"/robots.txt": "200 text/plain ",
	}})
	got := f.Survey(t.Context(), "http://acme.test", "")
	if len(got.Endpoints) != 1 || got.Endpoints[0].Path != "/buy" {
		t.Errorf("endpoints %v, want GET /buy", got.Endpoints)
	}
	count := map[string]int{}
	for _, r := range w.log() {
		count[r]++
		if strings.HasPrefix(r, "evil") || strings.HasSuffix(r, "/five") {
			t.Errorf("requested %s", r)
		}
	}
	for r, n := range count {
		if n > 1 {
			t.Errorf("requested %s %d times", r, n)
		}
	}
}

// TestSurveyFollowsNames checks that a survey finds endpoints through a catalogue of APIs and a TXT record, and
// candidates through llms.txt and an agent card, and that it requests nothing of other hosts.
func TestSurveyFollowsNames(t *testing.T) {
	t.Parallel()
	w, f := newTown(t, map[string]http.Handler{
		"acme.test": pages{
			"/.well-known/api-catalog": `200 application/linkset+json {"linkset": [{"service-desc": [` +
				`{"href": "/specs/paid.json"}, {"href": "http://evil.test/spec.json"}]}]}`,
			"/specs/paid.json": sold,
			"/llms.txt":        "200 text/plain [Q](/quote) and http://evil.test/q",
			"/.well-known/agent-card.json": `200 application/json {"url": "http://acme.test/a2a", "skills": [],
				"capabilities": {"extensions": [{"uri": "https://a.test/x402/v0.2"}]}}`,
			"/lists/x402.json": `200 application/json {"resources": ["http://acme.test/listed"]}`,
		},
	})
	f.o.LookupTXT = resolver(t, map[string]string{"_x402.acme.test.": "v=x402-1; wk=http://acme.test/lists/x402.json"}).
		LookupTXT
	got := f.Survey(t.Context(), "http://acme.test", "")
	if diff := cmp.Diff("hOpLrt GET/buy(openapi) /listed(well-known) GET/quote(llms-txt)? "+
		"POST/a2a(agent-card)?", got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if requests := w.log(); slices.ContainsFunc(requests, func(r string) bool {
		return strings.HasPrefix(r, "evil") || strings.HasSuffix(r, "/quote")
	}) {
		t.Errorf("requested %s", requests)
	}
}
