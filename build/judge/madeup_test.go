package judge

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build/judge/directory"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// madeUp is a made-up service: its facts, and what somebody who pays often says of it.
type madeUp struct {
	name, verdict string
	reasons       string // codes
	facts         *postgres.ServiceFacts
}

// readMadeUp reads made-up services from Markdown. A heading begins a service. Indented lines are its facts, by the
// clock of the tests; "Verdict:" and "Reasons:" begin the lines with what is right. All else is for people.
func readMadeUp(t *testing.T, file string) (list []madeUp) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "# "); ok {
			list = append(list, newMadeUp(name, int64(len(list)+1)))
			continue
		}
		if len(list) == 0 {
			continue
		}
		m := &list[len(list)-1]
		if verdict, ok := strings.CutPrefix(line, "Verdict: "); ok {
			m.verdict = verdict
		} else if reasons, ok := strings.CutPrefix(line, "Reasons: "); ok {
			m.reasons = reasons
		} else if fact, ok := strings.CutPrefix(line, "    "); ok {
			if err := m.addFact(fact); err != nil {
				t.Fatalf("%s: %s: %q: %v", file, m.name, fact, err)
			}
		}
	}
	for _, m := range list {
		if m.verdict == "" || m.reasons == "" || len(m.facts.Endpoints) == 0 {
			t.Fatalf("%s: %s has no verdict, no reasons or no endpoint", file, m.name)
		}
		for i := range m.facts.Endpoints {
			m.answer(&m.facts.Endpoints[i])
		}
	}
	return list
}

// newMadeUp returns a service that was listed 300 days ago and is online, without an endpoint.
func newMadeUp(name string, id int64) madeUp {
	f := newService()
	f.Slug, f.Category, f.ID = name, name, id
	f.BaseURL, f.CreatedAt = "https://"+name+".test", *ago(300 * 24 * time.Hour)
	f.LastCheckedAt, f.LastSuccessAt, f.LastStatus = ago(5*time.Minute), ago(5*time.Minute), new(site.StatusOnline)
	return madeUp{name: name, facts: f}
}

// addFact adds a fact that one line states.
func (m *madeUp) addFact(line string) error {
	f, w := m.facts, strings.Fields(line)
	var a, b, c, d int
	scan := func(format string, to ...any) bool {
		n, err := fmt.Sscanf(line, format, to...)
		return err == nil && n == len(to)
	}
	var status, from, to string
	switch {
	case scan("listed %d days ago", &a):
		f.CreatedAt = *ago(time.Duration(a) * 24 * time.Hour)
	case scan("visited every %d minutes, last %d minutes ago: %s", &a, &b, &status):
		f.CheckInterval, f.LastCheckedAt, f.LastStatus = time.Duration(a)*time.Minute, ago(time.Duration(b)*time.Minute), &status
	case line == "never visited":
		f.LastCheckedAt, f.LastStatus, f.LastSuccessAt = nil, nil, nil
	case scan("%d visits failed in %d hours", &a, &b):
		f.ConsecutiveFailures, f.FailingSince = a, ago(time.Duration(b)*time.Hour)
	case scan("terms last seen %d hours ago", &a):
		f.LastSuccessAt = ago(time.Duration(a) * time.Hour)
	case line == "terms never seen":
		f.LastSuccessAt = nil
	case scan("days %d to %d ago: %d of %d checks up", &a, &b, &c, &d):
		m.addDays(a, b, c, d)
	case line == "no encryption":
		f.BaseURL = "http://" + m.name + ".test"
	case scan("recipient moved %d days ago from %s to %s", &a, &from, &to):
		change := site.RecipientChange{Network: base, Endpoint: "GET /x", OldPayTo: new(accountNamed(from)),
			NewPayTo: new(accountNamed(to))}
		text, err := json.Marshal(site.PayToSummary{PayToChanges: []site.RecipientChange{change}})
		if err != nil {
			return err
		}
		f.Moves = append(f.Moves, checks.Change{Type: site.PayToChanged, ObservedAt: *ago(time.Duration(a) * 24 * time.Hour),
			Summary: text})
	case len(w) == 3 && (w[0] == "GET" || w[0] == "POST"):
		e := postgres.EndpointFacts{}
		e.Method, e.Path, e.FirstSeenAt = w[0], w[1], f.CreatedAt
		if e.LastPaidAt = f.LastSuccessAt; w[2] != "unasked" {
			e.Verdict = &w[2]
		}
		f.Endpoints = append(f.Endpoints, e)
	case len(f.Endpoints) == 0:
		return fmt.Errorf("neither a fact of a service nor an endpoint")
	case w[0] == "row":
		return m.addRow(w[1:])
	case w[0] == "offer":
		var o checks.Offer
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "offer ")), &o); err != nil {
			return err
		}
		e := &f.Endpoints[len(f.Endpoints)-1]
		e.Offers = append(e.Offers, o)
	default:
		return fmt.Errorf("no fact")
	}
	return nil
}

// addDays adds the sums of UTC days, the oldest first, and those of the last 24 hours.
func (m *madeUp) addDays(from, to, up, counted int) {
	const quarter = int64(15 * time.Minute / time.Millisecond) // for which each counted check is known
	sum := checks.Rollup{ServiceID: m.facts.ID, Checks: 96, Counted: counted, Up: up, KnownMS: int64(counted) * quarter,
		UpMS: int64(up) * quarter}
	for age := from; age >= to; age-- {
		sum.Start = dayOfTime(now).AddDate(0, 0, -age)
		m.facts.Days = append(m.facts.Days, sum)
	}
	m.facts.TotalChecks += int64(from-to+1) * 96
	if to == 0 {
		sum.Start = now.Truncate(time.Hour).Add(-2 * time.Hour)
		m.facts.Hours = append(m.facts.Hours, sum)
	}
}

// rowForms are the tokens of rows: network, asset, and extra.
var rowForms = map[string][3]string{
	"base":         {base, usdc, `"name":"USD Coin","version":"2"`},
	"base-sepolia": {"eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", `"name":"USDC","version":"2"`},
	"wrong-domain": {base, usdc, `"name":"USDC","version":"2"`},
	"other-token":  {base, "0x1111111111111111111111111111111111111111", `"name":"Own","version":"1"`},
	"chain-999999": {"eip155:999999", usdc, `"name":"USD Coin","version":"2"`},
	"version-1":    {"base", usdc, `"name":"USD Coin","version":"2"`},
}

// addRow adds a payment option to the last endpoint: a token, an amount, a recipient and until when it is valid.
func (m *madeUp) addRow(w []string) error {
	if len(w) < 3 {
		return fmt.Errorf("a row has a token, an amount and a recipient")
	}
	form, ok := rowForms[w[0]]
	if !ok {
		return fmt.Errorf("no token %s", w[0])
	}
	extra := form[2]
	if len(w) > 3 {
		hours, err := strconv.Atoi(w[3])
		if err != nil {
			return err
		}
		extra += `,"validUntil":"` + ago(time.Duration(-hours)*time.Hour).Format(time.RFC3339) + `"`
	}
	row := fmt.Sprintf(`{"scheme":"exact","network":%q,"amount":%q,"asset":%q,"payTo":%q,"maxTimeoutSeconds":60,`+
		`"extra":{%s}}`, form[0], w[1], form[1], accountNamed(w[2]), extra)
	e := &m.facts.Endpoints[len(m.facts.Endpoints)-1]
	if e.Envelope == nil {
		e.Envelope = &checks.Envelope{}
	}
	if len(e.Envelope.Body) > 0 {
		row = string(e.Envelope.Body) + "," + row
	}
	e.Envelope.Body = []byte(row)
	return nil
}

// answer turns the rows of an endpoint into its newest terms, and into the prices that a visit stores of them.
func (m *madeUp) answer(e *postgres.EndpointFacts) {
	if e.Envelope == nil || m.facts.LastSuccessAt == nil {
		return
	}
	terms := `{"x402Version":2,"accepts":[` + string(e.Envelope.Body) + `]}`
	e.Envelope = &checks.Envelope{ReceivedAt: *m.facts.LastSuccessAt, Method: e.Method, StatusCode: 402,
		URL: m.facts.BaseURL + e.Path, TLSVerified: true,
		Header: http.Header{"Payment-Required": {base64.StdEncoding.EncodeToString([]byte(terms))}}}
	captured := x402.Capture(x402.Answer{Status: 402, Header: e.Envelope.Header, URL: e.Envelope.URL})
	for i, r := range captured.Envelope.Accepts {
		if !r.Usable() {
			continue
		}
		p := checks.Price{Since: m.facts.CreatedAt, Scheme: r.Scheme, Network: r.Network, Asset: r.Asset, PayTo: r.PayTo,
			Amount: r.Amount, X402Version: 2, Position: i, Extra: new(string(r.Extra))}
		if r.NetworkCAIP2 != "" {
			p.NetworkCAIP2 = new(r.NetworkCAIP2)
		}
		e.Prices = append(e.Prices, p)
	}
}

// accountNamed returns the account with a name on networks of EVM.
func accountNamed(name string) string {
	switch name {
	case "burn":
		return dead
	case "token":
		return usdc
	}
	sum := sha256.Sum256([]byte(name))
	return "0x" + hex.EncodeToString(sum[:20])
}

// checkMadeUp judges made-up services as one directory, and compares the verdicts with what is right.
func checkMadeUp(t *testing.T, list []madeUp) {
	t.Helper()
	f := &postgres.Facts{}
	for _, m := range list {
		f.Services = append(f.Services, *m.facts)
	}
	for i, l := range judgeAll(f, now).Services {
		d := &l.Detail
		var codes []string
		for _, r := range d.Assessment.Advice.Reasons {
			codes = append(codes, r.Code)
		}
		want := list[i].verdict + ": " + list[i].reasons
		got := display.AdviceLevel(d.Assessment.Advice.Level) + ": " + strings.Join(codes, ", ")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-payer +program):\n%s%s", list[i].name, diff, display.Reasons(&d.Assessment.Advice))
		}
		isPayable := false
		for k, terms := range l.Terms {
			isPayable = isPayable || terms.Payable
			if terms.Payable != (terms.Reason == "") || terms.Payable && !d.Endpoints[k].Verdict.IsAdvised() {
				t.Errorf("%s: endpoint %d is payable %t, reason %q, verdict %v", list[i].name, k, terms.Payable, terms.Reason,
					d.Endpoints[k].Verdict)
			}
		}
		if d.Assessment.Advice.Level == site.AdviceGood && !isPayable || isPayable && !d.IsAdvised() ||
			d.PaymentReady && !d.IsAdvised() {
			t.Errorf("%s: payable %t, payment ready %t, verdict %s", list[i].name, isPayable, d.PaymentReady,
				d.Assessment.Advice.Level)
		}
	}
}

// TestPayerAgrees checks the verdicts on twenty made-up services against those that somebody who pays often gave, each
// alone in its directory.
func TestPayerAgrees(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/payer/*.md")
	if err != nil || len(files) != 20 {
		t.Fatalf("%d services, %v; want 20", len(files), err)
	}
	for _, file := range files {
		checkMadeUp(t, readMadeUp(t, file))
	}
}

// TestServicesMadeToFool checks the verdicts on services that were made to fool a judge, all in one directory.
func TestServicesMadeToFool(t *testing.T) {
	t.Parallel()
	list := readMadeUp(t, "../testdata/fool.md")
	if len(list) < 25 {
		t.Fatalf("%d services, want at least 25", len(list))
	}
	checkMadeUp(t, list)
}

// pickOf returns the pick of a service whose row has all that a pick needs but, perhaps, the verdict.
func pickOf(d *site.ServiceDetail) *site.Pick {
	row := &site.ServiceRow{ServiceListItem: d.Item()}
	row.Status, row.RiskLevel = site.StatusOnline, site.RiskClean
	row.Assessment.PaymentReady, row.Assessment.LastSuccessAt = true, new(site.NewTime(now))
	row.Assessment.Traction.OrganicBuyers30d = d.Assessment.Traction.OrganicBuyers30d
	row.Endpoints = []site.RowEndpoint{{Method: "GET", Path: "/x", Networks: []string{"BSE"}, Payable: true,
		PriceUSD: new("0.00001"), PricesUSD: map[string]string{"BSE": "0.00001"}}}
	return directory.PicksOf(row, now)
}

// TestWaysToGame tries ways to a better place than a service deserves, all in one directory. No way makes a service one
// that is safe to pay, which lists, picks and badges need, none takes a settlement from somebody else, and none puts a
// warning on a bystander. What a way costs the one who tries it is its verdict.
func TestWaysToGame(t *testing.T) {
	t.Parallel()
	f := &postgres.Facts{Chains: []ledger.ChainFacts{{Network: base, MeasuredSince: ago(90 * 24 * time.Hour)}}}
	for _, m := range readMadeUp(t, "../testdata/fool.md") {
		f.Services = append(f.Services, *m.facts)
	}
	payee := ledger.PayeeFacts{Network: base, Address: strings.ToLower(accountNamed("victim"))}
	for age := 60; age >= 0; age-- {
		day := dayOfTime(now).AddDate(0, 0, -age)
		payee.Days = append(payee.Days, ledger.RevenueDay{Day: day, Facilitator: "acme", Settlements: 1, USD: "1",
			FirstAt: day, LastAt: day})
	}
	f.Revenue = &ledger.Revenue{Payees: []ledger.PayeeFacts{payee}}
	services := map[string]*site.ServiceDetail{}
	snapshot := judgeAll(f, now)
	for i := range snapshot.Services {
		services[snapshot.Services[i].Detail.Slug] = &snapshot.Services[i].Detail
	}
	for _, way := range []struct{ aim, way, service, costs string }{
		{"price", "ask for so little that it is a typing error", "wrong-decimals-low", site.AdviceUnknown},
		{"price", "ask for nothing, and have the lowest price", "amount-zero", site.AdviceUnknown},
		{"rank", "list a cheap route beside the product", "decoy-ping", site.AdviceUnknown},
		{"picks", "be perfect for an hour", "listed-an-hour-ago-and-perfect", site.AdviceCaution},
		{"uptime", "answer the crawler with a bot filter when it is down", "blocks-us-six-days", site.AdviceCaution},
		{"uptime", "be down while it is visited rarely", "dead-forty-of-ninety-days", site.AdviceCaution},
		{"revenue", "name the account of a service that is paid", "thief-of-account", site.AdviceCaution},
		{"warnings", "change the recipient before anybody is warned of it", "scam-rotator", site.AdviceDoNotPay},
		{"warnings", "name the account of a service to put a danger on it", "taints-its-victim", site.AdviceDoNotPay},
		{"badge", "show the badge of a service that takes money for nobody", "burn-address", site.AdviceDoNotPay},
		{"badge", "let the terms expire and stay online", "expired-offer", site.AdviceDoNotPay},
		{"verdict", "sell for test money", "test-money", site.AdviceCaution},
	} {
		d := services[way.service]
		if d == nil {
			t.Fatalf("no service %s", way.service)
		}
		if diff := cmp.Diff(way.costs, d.Assessment.Advice.Level); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", way.aim, way.way, diff)
		}
		if pick := pickOf(d); pick != nil || d.PaymentReady && !d.IsAdvised() {
			t.Errorf("%s: %s: picked %v, payment ready %t", way.aim, way.way, pick, d.PaymentReady)
		}
		if n := d.Assessment.Traction.TxCountAllTime; n != nil && *n > 0 {
			t.Errorf("%s: %s: it has %d settlements of somebody else", way.aim, way.way, *n)
		}
	}
	for _, bystander := range []string{"honest", "victim", "tainted-by-nobody"} {
		d := services[bystander]
		if level := d.Assessment.Advice.Level; level != site.AdviceGood || pickOf(d) == nil {
			t.Errorf("%s is %s, picked %v", bystander, level, pickOf(d))
		}
	}
	if n := services["victim"].Assessment.Traction.TxCountAllTime; n == nil || *n != 61 {
		t.Errorf("the victim has %v settlements of 61", n)
	}
}
