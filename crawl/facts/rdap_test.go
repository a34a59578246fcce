package facts

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tollbook/crawl/probe"
)

// registry starts a small RDAP server that answers as registries do.
func registry(t *testing.T) (server string, f *Fetcher) {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, body string) {
		w.Header().Set("Content-Type", "application/rdap+json")
		io.WriteString(w, body)
	}
	registered := `{"objectClassName": "domain", "ldhName": "%s", 
		"events": [{"eventAction": "registration", "eventDate": "2026-11-01T10:00:00Z"}],
		"entities": [{"roles": ["registrar"], "vcardArray": ["vcard", [["fn", {}, "text", "Names Ltd"]]]}]}`
	mux.HandleFunc("GET /v1/domain/{name}", func(w http.ResponseWriter, r *http.Request) {
		switch name := r.PathValue("name"); name {
		case "acme.com":
			if r.Header.Get("Accept") != "application/rdap+json, application/json" {
				t.Errorf("accepts %q", r.Header.Get("Accept"))
			}
			answer(w, fmt.Sprintf(registered, "ACME.COM"))
		case "moved.com":
			http.Redirect(w, r, "/v2/domain/"+name, http.StatusFound)
		case "astray.com":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		case "round.com":
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		case "busy.com":
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(http.StatusTooManyRequests)
		case "page.com":
			io.WriteString(w, "<html>Please solve this</html>")
		case "big.com":
			answer(w, `{"objectClassName": "domain", "x": "`+strings.Repeat("x", 4<<20))
		case "deep.com":
			answer(w, `{"objectClassName": "domain", "events": `+strings.Repeat("[", 50_000))
		case "other.com":
			answer(w, fmt.Sprintf(registered, "acme.com"))
		default:
			http.NotFound(w, r)
		}
	})
	mux.HandleFunc("GET /v2/domain/{name}",
		func(w http.ResponseWriter, r *http.Request) { answer(w, fmt.Sprintf(registered, r.PathValue("name"))) })
	mux.HandleFunc("GET /dns.json", func(w http.ResponseWriter, r *http.Request) {
		answer(w, `{"version": "1.0", "services": [[["com"], ["http://`+r.Host+`/v1"]]]}`)
	})
	mux.HandleFunc("GET /page", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	f = New(Options{Guard: &probe.Guard{AllowPrivate: []string{s.Listener.Addr().String()}},
		Now: func() time.Time { return now }})
	t.Cleanup(f.Close)
	return s.URL, f
}

func TestRegistration(t *testing.T) {
	t.Parallel()
	server, f := registry(t)
	b, body, err := f.Bootstrap(t.Context(), server+"/dns.json")
	if err != nil || len(body) == 0 {
		t.Fatalf("list of RDAP servers: %d bytes, error %v", len(body), err)
	}
	created := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	for domain, want := range map[string]struct {
		registration Registration
		again        time.Duration
		err          error
	}{
		"acme.com":    {registration: Registration{"Names Ltd", created}},
		"moved.com":   {registration: Registration{"Names Ltd", created}},
		"unknown.com": {err: ErrUnregistered},
		"busy.com":    {err: ErrLater, again: 2 * time.Hour},
		"astray.com":  {err: ErrElsewhere},
		"round.com":   {err: ErrElsewhere},
		"page.com":    {err: errNoDocument},
		"big.com":     {err: errNoDocument},
		"deep.com":    {err: errNoDocument},
		"other.com":   {err: errAny},
	} {
		got, again, err := f.Registration(t.Context(), b.Server(domain), domain)
		wrong := !errors.Is(err, want.err) && !(want.err == errAny && err != nil)
		if wrong || got != want.registration || again != want.again {
			t.Errorf("%s: %+v, again in %s, error %v; want %+v", domain, got, again, err, want)
		}
	}
	for _, address := range []string{server + "/page", server + "/none", "http://10.0.0.1/dns.json"} {
		if _, _, err := f.Bootstrap(t.Context(), address); err == nil {
			t.Errorf("Bootstrap(%s) succeeded, want an error", address)
		}
	}
}
