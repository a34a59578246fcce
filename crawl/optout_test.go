package crawl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/crawl/facts"
	"tollbook/crawl/list"
	"tollbook/site"
	"tollbook/site/message"
	"tollbook/site/postgres"
	"tollbook/site/postgres/consent"
)

// optOutTown serves acme.com and two services on it; shown is what its /.well-known/tollbook contains, "" for none,
// "500" for a fault.
func optOutTown(t *testing.T) (w *town, m *memory, c *Crawler, now *clock, shown *atomic.Value) {
	t.Helper()
	w, o := newTown(t, "com")
	shown = &atomic.Value{}
	shown.Store("")
	w.hosts["acme.com"] = func(rw http.ResponseWriter, r *http.Request) {
		text := shown.Load().(string)
		switch {
		case strings.HasPrefix(r.URL.Path, "/v"):
			pay(rw, challenge)
		case r.URL.Path == "/.well-known/tollbook" && text == "500":
			rw.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/.well-known/tollbook" && text != "":
			io.WriteString(rw, text)
		default:
			http.NotFound(rw, r)
		}
	}
	w.hosts["list.com"] = func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(rw, `{"items": [{"resource": "http://acme.com/v9/new", "type": "http"},
			{"resource": "https://acme.com/v9/newer", "type": "http"},
			{"resource": "http://umbra.com/v1/a", "type": "http"}]}`)
	}
	m = open(t)
	m.list(t, oneEndpoint("acme", "http://acme.com/v1", "/x"), oneEndpoint("acme-two", "http://acme.com/v2", "/x"),
		oneEndpoint("other", "http://other.com", "/x"))
	now = &clock{now: dawn}
	c = crawler(t, m, Options{Now: now.Now, Bootstrap: "http://rdap.com/", Rand: func() float64 { return 0.5 }}, o)
	return w, m, c, now, shown
}

// states returns the states of all services by slug.
func (m *memory) states(t *testing.T) string {
	t.Helper()
	return strings.Join(m.strings(t, `
		SELECT slug || ' ' || listing_state || coalesce(' was ' || state_before_opt_out, '')
		FROM services ORDER BY slug`), ", ")
}

// TestOptOut checks that all services of a host are hidden in the round in which its owner opts out, and that nothing
// on the host is asked or listed any more. Only an answer ends the opt-out. Then the services get back the states that
// they had.
func TestOptOut(t *testing.T) {
	t.Parallel()
	w, m, c, now, shown := optOutTown(t)
	gather(t, c)
	if report := round(t, c); report.Online != 2 {
		t.Fatalf("%+v, want two services online", report)
	}
	if _, err := m.conn.Exec(t.Context(),
		`UPDATE services SET listing_state = 'paused' WHERE slug = 'acme-two'`); err != nil {
		t.Fatal(err)
	}
	shown.Store("opt-out\n")
	now.set(dawn.Add(25 * time.Hour))
	if g := gather(t, c); g.OptedOut != 1 {
		t.Errorf("%+v, want one opt-out", g)
	}
	hidden := "acme hidden was listed, acme-two hidden was paused, other listed"
	if diff := cmp.Diff(hidden, m.states(t)); diff != "" {
		t.Fatalf("states (-want +got):\n%s", diff)
	}
	before := w.count("acme.com /v1/x")
	now.set(dawn.Add(26 * time.Hour))
	gather(t, c)
	round(t, c)
	if n := w.count("acme.com /v1/x") - before; n != 0 || w.count("acme.com /.well-known/tollbook") != 3 {
		t.Errorf("%d visits of a host that opted out, %d readings of its document", n,
			w.count("acme.com /.well-known/tollbook"))
	}
	err := m.Read(t.Context(), func(r *postgres.Reader) error {
		f, err := r.Directory(t.Context(), now.Now(), 0)
		if err == nil && (f.OptedOut != 1 || len(f.Services) != 1 || len(f.Hidden) != 2) {
			t.Errorf("a build reads %d opt-outs, %d services, %d hidden ones", f.OptedOut, len(f.Services),
				len(f.Hidden))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	checkRefusals(t, m, c)
	checkOptOutExport(t, m)

	// Faults keep the opt-out. An answer without the line ends it.
	for i, step := range []struct{ shown, want string }{
		{"500", hidden}, {"opt-out", hidden}, {"tollbook-TOKEN", "acme listed, acme-two paused, other listed"},
	} {
		shown.Store(step.shown)
		now.set(dawn.Add(time.Duration(i+3) * 24 * time.Hour))
		gather(t, c)
		if diff := cmp.Diff(step.want, m.states(t)); diff != "" {
			t.Errorf("%q is shown (-want +got):\n%s", step.shown, diff)
		}
	}
	if report := round(t, c); report.Online != 1 {
		t.Errorf("%+v, want acme online again", report)
	}
	trail := m.strings(t, `SELECT actor || ' ' || action FROM audit JOIN services s ON s.id = service_id
		WHERE slug = 'acme' ORDER BY audit.id`)
	if diff := cmp.Diff([]string{"owner opt-out", "owner end of opt-out"}, trail); diff != "" {
		t.Errorf("audit trail (-want +got):\n%s", diff)
	}
}

// checkRefusals checks that nothing lists a service on a host that opted out, and that each refusal says why.
func checkRefusals(t *testing.T, m *memory, c *Crawler) {
	t.Helper()
	const why = "the owner of acme.com opted out: http://acme.com/.well-known/tollbook has said so since 2026-"
	wantWhy := func(what, text string) {
		t.Helper()
		if !strings.Contains(text, why) {
			t.Errorf("%s: %q, want the reason %q", what, text, why)
		}
	}
	got, err := c.Preview(t.Context(), "http://list.com/discovery/resources", nil)
	if err != nil || len(got.OptedOut) != 1 || got.Listed != 1 || got.Existing != 0 {
		t.Fatalf("import of a catalogue: %+v, %v", got, err)
	}
	wantWhy("import of a catalogue", got.OptedOut[0].String())
	wantWhy("listing", m.AddListings(t.Context(),
		[]postgres.Listing{oneEndpoint("new", "https://ACME.com/x", "/a")}).Error())

	has, err := m.Listed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listed := `[{"service_name": "Acme", "description": "d", "url": "http://acme.com/v1", "category": "AI",
		"endpoints": ["/y"]}, {"service_name": "New", "description": "d", "url": "https://acme.com/v3",
		"category": "AI", "endpoints": ["/z"]}, {"service_name": "Other", "slug": "other", "description": "d",
		"url": "http://acme.com/v4", "category": "AI", "endpoints": ["/x"]}]`
	o := list.Options{Name: "list.json", Now: dawn}
	entries, err := list.Read(strings.NewReader(listed), o)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := list.NewPlan(entries, o, has, true)
	if err != nil || len(plan.Add)+len(plan.Change) != 0 || len(plan.Notes) != 3 {
		t.Fatalf("apply: %+v, %v", plan, err)
	}
	for _, n := range plan.Notes {
		wantWhy("apply", n.Text)
	}
	_, _, err = list.ChangeState(&has.Services[0], postgres.StateRetired, "retire")
	if err == nil || !strings.Contains(err.Error(), "the owner of acme.com opted out") {
		t.Errorf("retire: %v", err)
	}

	submitted := site.IncomingSubmission{Submission: site.Submission{URL: "http://acme.com", Email: "a@acme.com",
		ServiceName: "A", Description: "d", WebsiteURL: "http://acme.com", Category: "AI",
		Endpoints: []string{"/v1/x"}},
		Domain: "acme.com", Client: "1", At: dawn}
	_, err = m.ReceiveSubmission(t.Context(), submitted)
	var fault *message.Error
	if !errors.As(err, &fault) || fault.Fields[0].Field != "url" {
		t.Fatalf("submission: %v", err)
	}
	wantWhy("submission", fault.Error())
	// A submission from before the opt-out can't be approved.
	submitted.URL = "http://umbra.com"
	receipt, err := m.ReceiveSubmission(t.Context(), submitted)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.conn.Exec(t.Context(),
		`UPDATE inbox SET body = jsonb_set(body, '{url}', '"http://acme.com"')`); err != nil {
		t.Fatal(err)
	}
	_, err = m.ApproveSubmission(t.Context(), uuid.MustParse(receipt.ID), "op", "", dawn)
	if !errors.As(err, new(*consent.Error)) {
		t.Errorf("approval: %v", err)
	}
}

// checkOptOutExport checks that an export contains opt-outs, and that its import gives the same directory.
func checkOptOutExport(t *testing.T, m *memory) {
	t.Helper()
	d, err := m.Directory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := WriteDirectory(&file, d, true); err != nil {
		t.Fatal(err)
	}
	read, err := ReadDirectory("export", bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	other := open(t)
	if err := other.Restore(t.Context(), read, dawn); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.states(t), other.states(t)); diff != "" {
		t.Errorf("states of the restored directory (-want +got):\n%s", diff)
	}
	again, err := other.Directory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var copied bytes.Buffer
	if err := WriteDirectory(&copied, again, true); err != nil || !bytes.Equal(file.Bytes(), copied.Bytes()) {
		t.Errorf("export of the restored directory: %v\n%s", err, cmp.Diff(file.String(), copied.String()))
	}
	if n := len(other.strings(t, `SELECT slug FROM services JOIN service_states ON service_id = id
		WHERE next_check_at < '9000-01-01'`)); n != 1 {
		t.Errorf("%d services of the restored directory are visited, want the one that did not opt out", n)
	}
}

// TestAskOptOut checks that a host can be asked at once, before it is listed and after.
func TestAskOptOut(t *testing.T) {
	t.Parallel()
	_, m, c, _, shown := optOutTown(t)
	shown.Store("opt-out")
	o, err := c.AskOptOut(t.Context(), "http://acme.com/anything")
	if err != nil || o == nil || o.Host != "acme.com" {
		t.Fatalf("%+v, %v", o, err)
	}
	shown.Store("500")
	if _, err := c.AskOptOut(t.Context(), "http://acme.com"); !errors.Is(err, facts.ErrNoAnswer) {
		t.Errorf("a fault: %v", err)
	}
	if got := m.states(t); !strings.HasPrefix(got, "acme hidden was listed") {
		t.Errorf("after a fault: %s", got)
	}
	shown.Store("")
	if o, err := c.AskOptOut(t.Context(), "http://acme.com"); o != nil || err != nil {
		t.Errorf("without the document: %+v, %v", o, err)
	}
	if got := m.states(t); got != "acme listed, acme-two listed, other listed" {
		t.Errorf("after the opt-out: %s", got)
	}
}
