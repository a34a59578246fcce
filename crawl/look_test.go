package crawl

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/testgate"
	"tollbook/site/webbotauth"
)

// TestLooksAreBuilt visits services that ask other readers, or requests by another method, for other payments than agents.
// It checks what the snapshot of those facts says: the flag, and both sides as evidence. A visit looks once a day at an
// endpoint that was paid before; a service that mends its terms loses the flag with the next look.
func TestLooksAreBuilt(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	const own, other = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "0x742d35Cc6634C0532925a3b844Bc454e4438f44e"
	var mu sync.Mutex
	asked, mended, count := map[string]int{}, false, 0
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		terms := func(amount, payTo string) {
			pay(w, strings.NewReplacer(`"10000"`, `"`+amount+`"`, own, payTo).Replace(challenge))
		}
		name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		isBrowser := strings.Contains(r.Header.Get("Accept"), "text/html")
		if isBrowser && path == "x" {
			asked[name]++
		}
		switch {
		case path != "x":
			http.NotFound(w, r)
		case name == "browser" && isBrowser && !mended, name == "method" && r.Method == http.MethodPost,
			name == "client" && strings.HasPrefix(r.UserAgent(), "node"),
			name == "unsigned" && r.Header.Get("Signature") == "":
			terms("10000", other)
		case name == "dearer" && isBrowser:
			terms("90000", own)
		case name == "rotating":
			count++
			terms("10000", fmt.Sprintf("0x742d35cc6634c0532925a3b844bc454e%08x", count))
		default:
			terms("10000", own)
		}
	}))
	m := open(t)
	services := []string{"browser", "client", "dearer", "method", "rotating", "same", "unsigned"}
	for _, slug := range services {
		l := oneEndpoint(slug, base+"/"+slug, "/x")
		l.Endpoints[0].Method = ""
		m.list(t, l)
	}
	now := &clock{now: dawn}
	o.Now = now.Now
	var err error
	o.Signer, err = webbotauth.NewSigner(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), "https://tollbook.example")
	if err != nil {
		t.Fatal(err)
	}
	c := crawler(t, m, Options{Now: now.Now}, o)
	dir := t.TempDir()

	const agent = "two terms for one request, of which the %s differs: the response to an agent asks for 10000 of USDC " +
		"on base to " + own + "; the response to %s asks for %s of USDC on base to %s"
	differ := map[string]string{
		"browser":  fmt.Sprintf(agent, "recipient", "a browser", "10000", other),
		"client":   fmt.Sprintf(agent, "recipient", "a client that pays", "10000", other),
		"unsigned": fmt.Sprintf(agent, "recipient", "a request without a signature", "10000", other),
		"dearer":   fmt.Sprintf(agent, "amount", "a browser", "90000", own),
		"method":   fmt.Sprintf(agent, "recipient", "POST", "10000", other),
	}
	for _, step := range []struct {
		name  string
		after time.Duration
		mend  bool
		looks int // at each service, until then
		want  []string
	}{
		{"first visits", 0, false, 0, nil}, // nothing asked for payment before
		{"looks", time.Hour, false, 1, []string{"browser", "client", "dearer", "method", "unsigned"}},
		{"the same day", 24 * time.Hour, true, 1, []string{"browser", "client", "dearer", "method", "unsigned"}},
		{"a day after the look", 26 * time.Hour, true, 2, []string{"client", "dearer", "method", "unsigned"}},
	} {
		mu.Lock()
		mended = step.mend
		mu.Unlock()
		now.set(dawn.Add(step.after))
		round(t, c)
		for _, slug := range services {
			if asked[slug] != step.looks {
				t.Errorf("%s: %d looks at %s, want %d", step.name, asked[slug], slug, step.looks)
			}
		}
		at := now.Now().Add(time.Minute)
		folder, err := output.OpenFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := build.Run(t.Context(), m.DB, folder, build.Options{Now: at, Every: time.Hour, NoData: true,
			Expand: output.ExpandAll, Site: render.Site{BaseURL: "https://tollbook.example"}}); err != nil {
			t.Fatal(err)
		}
		want, got := map[string]string{}, map[string]string{}
		for _, slug := range step.want {
			want[slug] = differ[slug]
		}
		for _, slug := range services {
			checkConflict(t, dir, slug, got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: conflicts (-want +got):\n%s", step.name, diff)
		}
	}
}

// checkConflict adds the conflict that a snapshot publishes of a service to conflicts. The flag, its evidence and the
// two sides must agree.
func checkConflict(t *testing.T, dir, slug string, conflicts map[string]string) {
	t.Helper()
	var detail struct{ Data site.ServiceDetail }
	var evidence struct{ Data site.Evidence }
	for file, to := range map[string]any{slug + ".json": &detail, slug + "/evidence.json": &evidence} {
		data, err := os.ReadFile(filepath.Join(dir, "current/v1/services", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, to); err != nil {
			t.Fatal(err)
		}
	}
	flag := ""
	for _, f := range detail.Data.Assessment.Risk.Flags {
		if f.Code == "terms_conflict" && f.Level == site.RiskDanger {
			flag = f.Evidence
		}
	}
	for _, e := range evidence.Data.Endpoints {
		for _, c := range e.Conflicts {
			conflicts[slug] = c.Text
			if len(c.Sides) != 2 || c.Sides[0].PayTo == c.Sides[1].PayTo && c.Sides[0].Price == c.Sides[1].Price {
				t.Errorf("%s: sides of the conflict: %+v", slug, c.Sides)
			}
			if !strings.HasSuffix(flag, c.Text) {
				t.Errorf("%s: flag with the evidence %q, want %q", slug, flag, c.Text)
			}
			flag = ""
		}
	}
	if flag != "" {
		t.Errorf("%s: flag %q without a conflict in the evidence", slug, flag)
	}
}
