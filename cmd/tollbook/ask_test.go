package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/probe"
	"tollbook/crawl/sample"
	"tollbook/site/listing"
)

// checked runs check on a URL and returns its report and exit status.
func checked(t *testing.T, o checkOptions, address string) (r readerReport, status int) {
	t.Helper()
	normal, err := listing.NormalURL(address)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o.JSON = true
	switch err := runCheck(t.Context(), &o, address, normal, &out); {
	case errors.Is(err, errUnknown):
		status = 2
	case err != nil:
		status = 1
	}
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("check %s: %v", address, err)
	}
	return r, status
}

// TestAsk checks what check --ask finds at the sample services, compared with a directory that visited them.
func TestAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	services, err := sample.Start(context.Background(), sample.Options{Pace: 0.001})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { services.Close() })
	o := checkOptions{Ask: true, options: options{dataOptions: dataOptions{Data: w.data}},
		routes: []probe.Route{{Domain: sample.Domain, Dial: services.Dial, RootCAs: services.RootCAs()}}}
	for _, tt := range []struct {
		address, payTo, network string
		status                  int
		verdict                 string
		findings                []string // subjects with their results
	}{
		{address: "https://gullwing-markets.sample.test/books", status: 0, verdict: "same",
			findings: []string{"option same", "option same", "option same"}},
		{address: "https://gullwing-markets.sample.test/books", network: "base", status: 0, verdict: "same",
			findings: []string{"network same", "option same"}},
		{address: "https://gullwing-markets.sample.test/books", payTo: "0xD83C72d9a5F817878c5E0F7e5Af6db9556f23223",
			status: 1, verdict: "differs", findings: []string{"recipient differs", "option same", "option same",
				"option same", "recipient differs"}},
		{address: "https://tinderbox-tokens.sample.test/scan", status: 1, verdict: "danger",
			findings: []string{"risk danger", "option same", "recipient danger"}},
		{address: "https://driftwood-treasury.sample.test/treasury", status: 1, verdict: "danger",
			findings: []string{"listing unknown", "recipient danger", "answer unknown"}},
		{address: "https://gullwing-markets.sample.test/nothing", status: 2, verdict: "unknown",
			findings: []string{"listing unknown", "answer unknown"}},
		{address: "https://nobody.sample.test/", status: 2, verdict: "unknown",
			findings: []string{"listing unknown", "answer unknown"}},
		{address: "http://127.0.0.1/", status: 2, verdict: "unknown",
			findings: []string{"listing unknown", "answer unknown"}},
	} {
		t.Run(strings.TrimSpace(tt.address+" "+tt.network+" "+tt.payTo), func(t *testing.T) {
			t.Parallel()
			o := o
			o.PayTo, o.Network = tt.payTo, tt.network
			got, status := checked(t, o, tt.address)
			if status != tt.status || got.Verdict != tt.verdict {
				t.Errorf("exit status %d, verdict %s; want %d, %s", status, got.Verdict, tt.status, tt.verdict)
			}
			findings := []string{}
			for _, f := range got.Findings {
				if f.Result != resultNote {
					findings = append(findings, f.About+" "+f.Result)
				}
			}
			if diff := cmp.Diff(tt.findings, findings); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%+v", diff, got.Findings)
			}
		})
	}
}

// TestAskStranger asks a hostile URL, which names thousands of options with texts for a terminal.
func TestAskStranger(t *testing.T) {
	t.Parallel()
	row := `{"scheme":"exact","network":"eip155:8453","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",` +
		`"amount":"1","payTo":"0x\u001b[2J\u202e","maxTimeoutSeconds":60}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusPaymentRequired)
		_, _ = w.Write([]byte(`{"x402Version":2,"accepts":[` + row + strings.Repeat(","+row, 999) + `]}`))
	}))
	t.Cleanup(s.Close)
	directory := hostileDirectory(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":{"code":404,"type":"not_found","message":"nothing"}}`))
	})
	status, printed := runReader(t, "check", "--ask", "--crawl-allow-private", s.Listener.Addr().String(), s.URL+"/q",
		"--directory", directory)
	if lines := strings.Count(printed, "\n"); status != 1 || lines > 60 || !strings.Contains(printed, "Do not pay.") {
		t.Errorf("exit status %d, %d lines:\n%.3000s", status, lines, printed)
	}
	checkTerminal(t, printed)
}
