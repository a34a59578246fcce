package rail_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tollbook/cmd/nodetest"
	"tollbook/crawl/probe"
	"tollbook/crawl/sample"
	"tollbook/site/invisible"
	"tollbook/site/rail"
	"tollbook/site/rail/railtest"
	"tollbook/site/testgate"
	"tollbook/site/x402"
	"tollbook/site/x402/x402test"
)

var update = flag.Bool("update", false, "let TestClients write the table of what clients pay")

// clientsFolder has the clients of npm, the program that runs them, and their table.
const clientsFolder = "testdata/clients"

// clientsTime is the time at which the clients ask.
var clientsTime = time.Date(2026, 11, 21, 14, 30, 0, 0, time.UTC)

// attempt is what a client does with a row or a challenge.
type attempt struct {
	Row    json.RawMessage // as the client reads it; absent if it chose none
	Pays   *clientPayment
	Reason string // why it pays nothing
}

// clientPayment is what a client signs, and to whom.
type clientPayment struct {
	Scheme, To, Invoice string
	Network, Amount     any
	Accepted            json.RawMessage // the row of a payment over x402
}

// TestClients runs the clients that buyers use against every 402 of testdata, and compares what they pay with the table
// in testdata/clients/clients.txt and with what this program says. It writes the table with -update:
//
//	TOLLBOOK_TEST=all go test ./site/rail -run TestClients -update
//
// The responses are the envelopes from the field, the fixtures of package x402, and each 402 of the sample world. A
// server on loopback sends them, and no client has a network: testdata/clients/clients.mjs answers for the nodes of
// chains that some schemes ask.
func TestClients(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	server, responses := serveResponses(t)
	said := runClients(t, server.URL, responses)
	var table strings.Builder
	for _, r := range responses {
		for _, client := range x402.Clients {
			list := said[r.Name][client]
			if len(list) == 0 {
				t.Fatalf("%s: no word from %s", r.Name, client)
			}
			words := make([]string, len(list))
			for i, a := range list {
				words[i] = a.words(server.URL)
			}
			fmt.Fprintf(&table, "%s\t%s\t%s\n", r.Name, client, strings.Join(words, "; "))
		}
	}
	checkFile(t, filepath.Join(clientsFolder, "clients.txt"), table.String())
	compareWithClients(t, server, responses, said)
}

// checkFile compares lines with a file, which it writes with -update.
func checkFile(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s; run with -update and read what changed (-want +got):\n%s", file, diff)
	}
}

func TestClientsAreLocked(t *testing.T) {
	t.Parallel()
	nodetest.CheckLock(t, clientsFolder, map[string]string{"x402-fetch": "1.2.0", "@x402/fetch": "2.27.0",
		"@x402/stellar": "2.9.0", "@x402/avm": "2.26.0",
		"mppx": "0.11.0", "@solana/mpp": "0.6.0", "@getalby/lightning-tools": "9.0.1"})
}

// words describes an attempt in one line.
func (a *attempt) words(base string) string {
	if p := a.Pays; p != nil {
		if p.Invoice != "" {
			return "pays the invoice " + p.Invoice[:min(len(p.Invoice), 12)]
		}
		text := fmt.Sprintf("pays %v by %s", p.Amount, p.Scheme)
		if p.Network != nil {
			text += fmt.Sprintf(" on %v", p.Network)
		}
		if p.To != "" {
			text += " to " + p.To
		}
		return text
	}
	reason := invisible.Replace(strings.Join(strings.Fields(strings.ReplaceAll(a.Reason, base, "BASE")), " "))
	reason, _, _ = strings.Cut(reason, ` {"x402Version"`)
	if r := []rune(reason); len(r) > 110 {
		reason = string(r[:110]) + "…"
	}
	return "no: " + reason
}

// serveResponses serves all recorded responses, each at its name.
func serveResponses(t *testing.T) (*httptest.Server, []x402test.Response) {
	t.Helper()
	all := map[string]x402test.Response{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := all[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Status)
		_, _ = w.Write(answer.Body) // the client sees the rest of an error
	}))
	t.Cleanup(server.Close)
	data, err := os.ReadFile("../x402/testdata/field/envelopes.json")
	if err != nil {
		t.Fatal(err)
	}
	field, err := x402test.ReadField(data, x402test.Fill{Base: server.URL, Expires: clientsTime.Add(time.Hour),
		Invoice: railtest.Invoice{Prefix: "bc20u", Created: clientsTime, Expiry: time.Hour}.Text()})
	if err != nil {
		t.Fatal(err)
	}
	var list []x402test.Response
	for _, r := range field {
		r.Name = "field" + r.Name
		list = append(list, r)
	}
	list = append(list, fixtures(t)...)
	list = append(list, sampleResponses(t)...)
	slices.SortFunc(list, func(a, b x402test.Response) int { return strings.Compare(a.Name, b.Name) })
	for _, r := range list {
		all[r.Name] = r
	}
	return server, list
}

// fixtures returns the 402s of the fixtures of package x402.
func fixtures(t *testing.T) (list []x402test.Response) {
	t.Helper()
	files, err := filepath.Glob("../x402/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			name, ok := strings.CutSuffix(f.Name, ".http")
			if !ok {
				continue
			}
			r, err := x402test.ReadFixture(f.Data, x402test.Members(archive), x402.MaxBody)
			if err != nil {
				t.Fatal(err)
			}
			if r.Status == http.StatusPaymentRequired {
				r.Name = "fixture/" + strings.TrimSuffix(filepath.Base(file), ".txtar") + "/" + name
				list = append(list, r)
			}
		}
	}
	return list
}

// sampleResponses returns the 402s of the sample world.
func sampleResponses(t *testing.T) (list []x402test.Response) {
	t.Helper()
	w, err := sample.Start(t.Context(), sample.Options{Now: func() time.Time { return clientsTime }, Pace: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	client := &http.Client{
		Timeout:       5 * time.Second, // some services of the world never answer
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // some certificates of the world are expired
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, mine, err := w.Dial(ctx, network, addr)
				if !mine {
					return nil, fmt.Errorf("connect to %s: not a name of the sample world", addr)
				}
				return conn, err
			}},
	}
	for _, l := range sample.Listings(clientsTime, time.Hour) {
		for _, e := range l.Endpoints {
			method := e.Method
			if method == "" {
				method = http.MethodGet
			}
			request, err := http.NewRequestWithContext(t.Context(), method, l.BaseURL+e.Path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err != nil {
				continue // a service that is down
			}
			body, err := io.ReadAll(io.LimitReader(response.Body, x402.MaxBody))
			response.Body.Close()
			if err == nil && response.StatusCode == http.StatusPaymentRequired {
				list = append(list, x402test.Response{Name: "sample/" + l.Slug + e.Path, Status: response.StatusCode,
					Header: response.Header, Body: body})
			}
		}
	}
	return list
}

// runClients returns what each client does with each response, by the names of the response and of the client.
func runClients(t *testing.T, base string, responses []x402test.Response) map[string]map[string][]attempt {
	t.Helper()
	dir := t.TempDir()
	program, err := os.ReadFile(filepath.Join(clientsFolder, "clients.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "clients.mjs"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	modules := nodetest.Install(t, clientsFolder, "--legacy-peer-deps")
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	type request struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}
	input := struct {
		Now   int64     `json:"now"`
		Cases []request `json:"cases"`
	}{Now: clientsTime.UnixMilli()}
	for _, r := range responses {
		input.Cases = append(input.Cases, request{r.Name, base + "/" + r.Name})
	}
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "clients.mjs")
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(text)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("run the clients: %v", err)
	}
	var said map[string]map[string][]attempt
	if err := json.Unmarshal(output, &said); err != nil {
		t.Fatalf("read what the clients do: %v", err)
	}
	return said
}

// compareWithClients compares who pays for each row and offer, as this program says, with what the clients do. Each
// disagreement is in testdata/clients/disagreements.txt with its reason.
func compareWithClients(t *testing.T, server *httptest.Server, responses []x402test.Response,
	said map[string]map[string][]attempt) {
	t.Helper()
	prober := probe.New(probe.Options{Now: func() time.Time { return clientsTime },
		Guard: &probe.Guard{AllowPrivate: []string{server.Listener.Addr().String()}}})
	defer prober.Close()
	var lines strings.Builder
	used := map[string]bool{}
	compare := func(name, reason string, ours, theirs []string) {
		if reason == "" && ours == nil || slices.Equal(ours, theirs) {
			return // unknown, or the same
		}
		line := fmt.Sprintf("%s: ours %s; theirs %s", name, orNobody(ours), orNobody(theirs))
		if reason != "" {
			line = fmt.Sprintf("%s: ours nobody, %s; theirs %s", name, reason, orNobody(theirs))
		}
		for _, d := range disagreements {
			if d.pattern.MatchString(line) {
				used[d.why] = true
				fmt.Fprintf(&lines, "%s\t%s\n", line, d.why)
				return
			}
		}
		t.Errorf("%s; mend the rule, or add it to disagreements with its reason", line)
	}
	for _, r := range responses {
		result := prober.Probe(t.Context(), probe.Target{URL: server.URL + "/" + r.Name, Method: http.MethodGet,
			OnlyMethod: true, Session: &probe.Session{}})
		evidence := x402.Evidence{Endpoint: "GET", Captured: result.Captured}
		payers := x402.PayersOf(evidence)
		for i, reason := range x402.UnsignableRows(evidence) {
			row := &result.Captured.Envelope.Accepts[i]
			_, reason, _ = strings.Cut(reason, ": ")
			compare(fmt.Sprintf("%s row %d", r.Name, i+1), reason, payers[i].Clients,
				payersOf(said[r.Name], func(a *attempt) bool { return isRow(a.paidRow(), row) }))
		}
		for i, o := range result.Offers {
			ours := o.Payers().Clients
			if o.Fault() != "" {
				ours = []string{}
			}
			compare(fmt.Sprintf("%s offer %d, %s", r.Name, i+1, o.Scheme), o.Fault(), ours,
				payersOf(said[r.Name], func(a *attempt) bool {
					return a.Pays.Scheme == o.Scheme && a.Pays.Amount == o.Amount || a.Pays.Invoice != "" &&
						(o.Protocol == rail.L402 || o.Scheme == "lightning/charge")
				}))
		}
	}
	for _, d := range disagreements {
		if !used[d.why] {
			t.Errorf("disagreement %q no longer exists; delete it", d.pattern)
		}
	}
	checkFile(t, filepath.Join(clientsFolder, "disagreements.txt"), lines.String())
}

// disagreements are the kinds of rows and offers for which this program and the clients differ, each with the reason.
// The first that matches counts.
var disagreements = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`the token's domain is`),
		"clients sign under any domain; the token refuses a signature under another one than its own"},
	{regexp.MustCompile(`extra.version is missing or not a string`),
		"the client hashes the number, the token its text, so the token refuses the signature"},
	{regexp.MustCompile(`is not a whole number of atomic units`),
		"the client signs the number and sends the text, which facilitators refuse unless it is decimal"},
	{regexp.MustCompile(`Header and body ask for different payments`),
		"each client reads one of the two, so what is paid depends on the client"},
	{regexp.MustCompile(`ateway.*ours nobody; theirs|seconder.*ours nobody; theirs`),
		"clients sign for Circle Gateway under the token's address, and Gateway refuses it: it asks for its own"},
	{regexp.MustCompile(`is a burn address`), "clients do not look at the recipient; the payment would be lost"},
	{regexp.MustCompile(`not standard base64 but url.*; theirs mppx$`),
		"mppx alone reads base64url; the clients of the protocol's own SDK refuse it"},
	{regexp.MustCompile(`version 2 is in body.*; theirs x402-fetch$`),
		"x402-fetch reads any body as version 1 and answers with a payment of version 2 that no facilitator knows"},
	{regexp.MustCompile(`ours nobody, the asset ".*" is the .*, not a token of .*; theirs `),
		"clients sign for any address; that of another network's token is no token on this one"},
	{regexp.MustCompile(`gzip-mislabel.*; theirs nobody$`),
		"a body is unpacked here by its first bytes; fetch goes by Content-Encoding and fails"},
	{regexp.MustCompile(`the invoice is not bech32`), "the client gives the invoice to the wallet, which refuses it"},
	{regexp.MustCompile(`differs from that of the invoice`),
		"the client pays the invoice and does not compare it with the amount"},
	{regexp.MustCompile(`tempo/subscription: .*; theirs nobody$`), "mppx takes periods of days and weeks alone"},
	{regexp.MustCompile(`l402/.* offer .*; theirs nobody$`),
		"the client finds the challenge only at the start of the header, with parameters in lower case; others read it " +
			"as RFC 9110 says"},
}

func orNobody(clients []string) string {
	if len(clients) == 0 {
		return "nobody"
	}
	return strings.Join(clients, ", ")
}

// payersOf returns the clients that pay what is accepted, in the order in which they are published.
func payersOf(said map[string][]attempt, isAccepted func(*attempt) bool) []string {
	payers := []string{}
	for _, client := range x402.Clients {
		if slices.ContainsFunc(said[client], func(a attempt) bool { return a.Pays != nil && isAccepted(&a) }) {
			payers = append(payers, client)
		}
	}
	return payers
}

// isRow reports whether a row that a client pays is a row of an envelope, in the form of either version.
func isRow(paid json.RawMessage, row *x402.Requirement) bool {
	return describeRow(paid) == describeRow(row.Raw)
}

// describeRow returns the terms of a row, under the names of both versions.
func describeRow(raw json.RawMessage) string {
	var r struct {
		Network                                         string
		Scheme, Asset, PayTo, Amount, MaxAmountRequired any
	}
	if json.Unmarshal(raw, &r) != nil {
		return ""
	}
	if r.Amount == nil {
		r.Amount = r.MaxAmountRequired
	}
	if id, isListed := x402.ResolveNetwork(r.Network); isListed {
		r.Network = id
	}
	return fmt.Sprint(r.Scheme, r.Network, r.Asset, r.PayTo, r.Amount)
}

// paidRow returns the row that a client pays by. A payment of version 1 does not repeat it.
func (a *attempt) paidRow() json.RawMessage {
	if a.Pays.Accepted != nil {
		return a.Pays.Accepted
	}
	return a.Row
}
