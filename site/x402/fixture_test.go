package x402

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tollbook/site/x402/x402test"
)

var update = flag.Bool("update", false, "rewrite what the fixtures in testdata expect")

// TestFixtures runs every testdata/*.txtar. Each NAME.http is a response of a service, and NAME.json is the expected
// result of reading and judging it. A response is a template, so that long or encoded parts stay readable
// (x402test.ReadFixture).
//
// An optional evidence.json says how the endpoint was reached. A fixture without responses is an endpoint from which
// nothing could be read, and none.json contains the verdict.
func TestFixtures(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 45 {
		t.Fatalf("found %d fixtures, want the 45 of the list at least: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			runFixture(t, file)
		})
	}
}

func runFixture(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	members := x402test.Members(archive)
	got := map[string][]byte{}
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".http"); ok {
			ev := fixtureEvidence(t, members)
			ev.Captured = Capture(readAnswer(t, f.Data, members, ev.URL))
			got[name+".json"] = describe(t, ev)
			judgeAgain(t, ev)
		}
	}
	if len(got) == 0 {
		got["none.json"] = describe(t, fixtureEvidence(t, members))
	}
	for name, text := range got {
		if *update {
			setFile(archive, name, text)
			continue
		}
		if diff := cmp.Diff(string(members[name]), string(text)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", file, name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// judgeAgain checks that the stored parts of a response give the same verdict later.
func judgeAgain(t *testing.T, ev Evidence) {
	t.Helper()
	stored := ev
	stored.Captured = Captured{Defects: ev.Captured.Defects, Divergent: ev.Captured.Divergent,
		Protocols: ev.Captured.Protocols}
	if e := ev.Captured.Envelope; e != nil {
		again, ok := Reread(e.Raw, e.Channel, e.Decode)
		if !ok || again.Fingerprint() != e.Fingerprint() {
			t.Errorf("Reread reads %+v, Capture has read %+v", again, e)
		}
		stored.Captured.Envelope = &again
	}
	if diff := cmp.Diff(Assess([]Evidence{ev}), Assess([]Evidence{stored})); diff != "" {
		t.Errorf("the verdict on the stored parts differs (-response +stored):\n%s", diff)
	}
}

func setFile(a *txtar.Archive, name string, data []byte) {
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = data
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: data})
}

func fixtureEvidence(t *testing.T, members map[string][]byte) Evidence {
	ev := Evidence{Endpoint: "GET /quote", URL: "https://api.acme.test/quote", TLSVerified: true}
	if text := members["evidence.json"]; text != nil {
		if err := json.Unmarshal(text, &ev); err != nil {
			t.Fatalf("read evidence.json: %v", err)
		}
	}
	return ev
}

func readAnswer(t *testing.T, text []byte, members map[string][]byte, url string) Answer {
	t.Helper()
	r, err := x402test.ReadFixture(text, members, MaxBody)
	if err != nil {
		t.Fatal(err)
	}
	return Answer{Status: r.Status, Header: r.Header, Body: r.Body, URL: url}
}

// described contains the expectations of a fixture, in the order in which a reader wants to know them.
type described struct {
	Envelope     string            `json:"envelope"` // "v2 by header, std", "none"
	Others       []string          `json:"others,omitempty"`
	Relation     Relation          `json:"relation,omitempty"`
	Protocols    []string          `json:"protocols,omitempty"`
	Platform     bool              `json:"platform,omitempty"`
	Resource     *Resource         `json:"resource,omitempty"`
	Discovery    *Discovery        `json:"discovery,omitempty"`
	Requirements []describedRow    `json:"requirements,omitempty"`
	Defects      []string          `json:"defects"`
	Grade        string            `json:"grade"`
	Passed       int               `json:"passed"`
	Failed       map[string]string `json:"failed"`
	PayTo        string            `json:"pay_to"` // source and location
	Warnings     []string          `json:"warnings"`
}

type describedRow struct {
	Scheme   string          `json:"scheme"`
	Network  string          `json:"network"`
	Asset    string          `json:"asset"`
	Amount   string          `json:"amount"`
	PayTo    string          `json:"pay_to"`
	Timeout  *int            `json:"timeout"`
	Extra    json.RawMessage `json:"extra"`
	Usable   bool            `json:"usable"`
	Variable bool            `json:"variable,omitempty"`
	PriceUSD string          `json:"price_usd,omitempty"`
}

func describe(t *testing.T, ev Evidence) []byte {
	t.Helper()
	c := ev.Captured
	d := described{Envelope: "none", Relation: c.Relation, Protocols: c.Protocols, Platform: c.Platform,
		Defects: []string{}, Warnings: []string{}, Failed: map[string]string{}}
	if e := c.Envelope; e != nil {
		d.Envelope = envelopeLine(*e)
		d.Resource, d.Discovery = &e.Resource, e.Discovery
		for _, r := range e.Accepts {
			price, _ := r.PriceUSD()
			d.Requirements = append(d.Requirements, describedRow{
				Scheme: r.Scheme, Network: r.NetworkCAIP2, Asset: r.AssetName + " " + r.AssetNorm, Amount: r.Amount,
				PayTo: r.PayToNorm, Timeout: r.MaxTimeoutSeconds, Extra: r.StableExtra(), Usable: r.Usable(),
				Variable: r.Variable(), PriceUSD: price,
			})
		}
	}
	for _, e := range c.Others {
		d.Others = append(d.Others, envelopeLine(e))
	}
	for _, x := range c.Defects {
		d.Defects = append(d.Defects, line(x.Code, "", x.Row, x.Detail))
	}
	verdict := Assess([]Evidence{ev})
	d.Grade, d.Passed, d.PayTo = verdict.Grade, verdict.Passed,
		strings.TrimSpace(verdict.PayToSource+" "+verdict.PayToLocation)
	for _, check := range verdict.Checks {
		if !check.Pass {
			d.Failed[check.ID] = check.Reason
		}
	}
	for _, w := range verdict.Warnings {
		d.Warnings = append(d.Warnings, line(w.Code, w.Endpoint, w.Row, w.Detail))
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(d); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func envelopeLine(e Envelope) string {
	return fmt.Sprintf("v%d by %s, %s, %d rows", e.Version, e.Channel, e.Decode, len(e.Accepts))
}

func line(code, endpoint string, row *int, detail string) string {
	s := code
	if endpoint != "" {
		s += " at " + endpoint
	}
	if row != nil {
		s += fmt.Sprintf(" in row %d", *row)
	}
	if detail != "" {
		s += ": " + detail
	}
	return s
}
