package postgres_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/postgrestest"
)

func facilitator(id string, settlers ...string) ledger.Facilitator {
	f := ledger.Facilitator{ID: id, Name: strings.ToUpper(id), WebsiteURL: "https://" + id + ".test",
		UpstreamStatus: "merged"}
	for _, s := range settlers {
		f.Settlers = append(f.Settlers, ledger.Settler{Network: "eip155:8453", Address: s, Tokens: []string{"usdc"}})
	}
	return f
}

func TestImportFacilitators(t *testing.T) {
	t.Parallel()
	db := open(t)
	since := time.Date(2025, 10, 29, 0, 0, 0, 0, time.UTC)
	renamed := facilitator("acme", "0xa1", "0xa3")
	renamed.Name, renamed.Settlers[0].Since = "Acme Pay", &since
	for _, c := range []struct {
		name string
		list []ledger.Facilitator
		want ledger.ImportReport
		err  error
	}{
		{"from nothing", []ledger.Facilitator{facilitator("acme", "0xa1", "0xa2"), facilitator("bolt"),
			facilitator("cove", "0xc1")},
			ledger.ImportReport{Added: []string{"acme", "bolt", "cove"}, SettlersAdded: 3}, nil},
		{"the same again", []ledger.Facilitator{facilitator("acme", "0xa1", "0xa2"), facilitator("bolt"),
			facilitator("cove", "0xc1")},
			ledger.ImportReport{Left: []string{"acme", "bolt", "cove"}}, nil},
		{"a claim on another's account", []ledger.Facilitator{facilitator("dune"), facilitator("bolt", "0xc1")},
			ledger.ImportReport{}, ledger.ErrClaimed},
		{"new words, one account for another", []ledger.Facilitator{renamed, facilitator("bolt")},
			ledger.ImportReport{Changed: []string{"acme"}, Left: []string{"bolt"}, SettlersAdded: 1, SettlersRemoved: 1,
				Others: 1}, nil},
		{"an account that passes on", []ledger.Facilitator{facilitator("bolt", "0xc1"), facilitator("cove")},
			ledger.ImportReport{Changed: []string{"bolt", "cove"}, SettlersAdded: 1, SettlersRemoved: 1, Others: 1},
			nil},
	} {
		got, err := db.ImportFacilitators(t.Context(), c.list)
		if !errors.Is(err, c.err) {
			t.Fatalf("%s: error %v, want %v", c.name, err, c.err)
		}
		if c.err != nil && (!strings.Contains(err.Error(), "bolt") || !strings.Contains(err.Error(), "cove")) {
			t.Errorf("%s: %v names not both", c.name, err)
		}
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if err := db.TrustFacilitator(t.Context(), "bolt", true); err != nil {
		t.Fatal(err)
	}
	if err := db.TrustFacilitator(t.Context(), "nobody", true); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("trusting nobody = %v, want ErrNotFound", err)
	}
	bolt := facilitator("bolt", "0xc1")
	if _, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{bolt}); err != nil {
		t.Fatal(err)
	}
	bolt.Trusted = true
	want := []ledger.Facilitator{renamed, bolt, facilitator("cove")}
	got, err := db.Facilitators(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("facilitators after all (-want +got):\n%s", diff)
	}
}

// someSettlements are n settlements of the four weeks before end, among few accounts, with times on the very edges of
// hours and days among them.
func someSettlements(r *rand.Rand, n int, end time.Time) []ledger.Settlement {
	list := make([]ledger.Settlement, n)
	for i := range list {
		at := end.Add(-time.Duration(r.Int64N(int64(28 * 24 * time.Hour)))).Truncate(time.Second)
		switch r.IntN(6) {
		case 0:
			at = at.Truncate(time.Hour)
		case 1:
			at = at.Truncate(24 * time.Hour)
		case 2:
			at = end.Add(-time.Duration(r.Int64N(int64(26 * time.Hour)))).Truncate(time.Hour)
		}
		network := []string{"eip155:8453", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"}[r.IntN(2)]
		transaction := fmt.Sprintf("0x%064x", i/3)
		if network[0] == 's' {
			transaction = fmt.Sprintf("sig%d", i/3)
		}
		list[i] = ledger.Settlement{
			Network: network, Block: at.Unix() / 2, Time: at, Transaction: transaction, LogIndex: i,
			Facilitator: []string{"acme", "bolt"}[r.IntN(2)],
			Settler:     fmt.Sprintf("settler%d", r.IntN(3)), Token: []string{"usdc", "eurc"}[r.IntN(2)],
			Method: []string{"eip3009", "permit2", ledger.MethodBatch}[r.IntN(3)],
			Payer:  fmt.Sprintf("account%d", r.IntN(5)), Payee: fmt.Sprintf("account%d", r.IntN(5)),
			Amount: []string{"0", "1", "10000",
				"115792089237316195423570985008687907853269984665640564039457584007913129639935"}[r.IntN(4)],
		}
	}
	return list
}

// sumBy is the naive roll-up: settlements grouped by a key that begins with the period's start. It omits those with an
// empty key.
func sumBy(list []ledger.Settlement, key func(ledger.Settlement) string) []string {
	type sum struct {
		n      int
		amount *big.Int
	}
	sums := map[string]*sum{}
	for _, s := range list {
		k := key(s)
		if k == "" {
			continue
		}
		if sums[k] == nil {
			sums[k] = &sum{amount: new(big.Int)}
		}
		amount, _ := new(big.Int).SetString(s.Amount, 10)
		sums[k].n++
		sums[k].amount.Add(sums[k].amount, amount)
	}
	var out []string
	for k, s := range sums {
		out = append(out, fmt.Sprintf("%s: %d, %s", k, s.n, s.amount))
	}
	slices.Sort(out)
	return out
}

// TestRecordSettlements records settlements in random portions, some of them repeatedly, and compares the tables with
// sums over the distinct ones.
func TestRecordSettlements(t *testing.T) {
	t.Parallel()
	dsn := template.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn := postgrestest.Connect(t, dsn+"&timezone=UTC")
	facilitators := []ledger.Facilitator{facilitator("acme", "settler0", "settler1"), facilitator("bolt", "settler2")}
	if _, err := db.ImportFacilitators(t.Context(), facilitators); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4020, 402))
	list := someSettlements(r, 1500, start)
	stored := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, len(list)-1).Draw(t, "from")
		part := list[from:min(len(list), from+rapid.IntRange(0, 200).Draw(t, "n"))]
		fresh := int64(0)
		for _, s := range part {
			if id := fmt.Sprint(s.Network, s.Transaction, s.LogIndex); !stored[id] {
				stored[id] = true
				fresh++
			}
		}
		twice := append(slices.Clone(part), part...)
		got, err := db.RecordSettlements(t.Context(), twice)
		if err != nil || got != fresh {
			t.Fatalf("%d recorded, error %v, want %d", got, err, fresh)
		}
	})
	// by ANALYZE
	if n, err := db.RecordSettlements(t.Context(), list); err != nil || n != int64(len(list)-len(stored)) {
		t.Fatalf("all of them: %d recorded, error %v", n, err)
	}
	day := func(s ledger.Settlement) string { return s.Time.Format("2006-01-02") }
	flow := func(s ledger.Settlement) string { return s.Facilitator + " " + s.Network + " " + s.Token }
	unlessBatch := func(s ledger.Settlement, key string) string {
		if s.Method == ledger.MethodBatch {
			return ""
		}
		return key
	}
	const tokenJoin = ` JOIN facilitator_tokens f ON f.id = token_id JOIN chains c ON c.id = f.chain_id`
	for _, table := range []struct {
		name, sql string
		key       func(ledger.Settlement) string
	}{
		{"token_hours",
			`SELECT to_char(hour, 'YYYY-MM-DD"T"HH24') || ' ' || facilitator_id || ' ' || network || ' ' || token,
				settlements, amount::text FROM token_hours` + tokenJoin,
			func(s ledger.Settlement) string { return s.Time.Format("2006-01-02T15") + " " + flow(s) }},
		{"token_days",
			`SELECT day || ' ' || facilitator_id || ' ' || network || ' ' || token, settlements, amount::text
				FROM token_days` + tokenJoin,
			func(s ledger.Settlement) string { return day(s) + " " + flow(s) }},
		{"payee_days",
			`SELECT day || ' ' || facilitator_id || ' ' || network || ' ' || token || ' ' || a.address, settlements,
				amount::text FROM payee_days` + tokenJoin +
				` JOIN accounts a ON a.id = payee_id`,
			func(s ledger.Settlement) string { return day(s) + " " + flow(s) + " " + s.Payee }},
		{"payer_days",
			`SELECT day || ' ' || facilitator_id || ' ' || network || ' ' || token || ' ' || a.address
				|| ' ' || b.address, settlements, amount::text FROM payer_days` + tokenJoin +
				` JOIN accounts a ON a.id = payee_id JOIN accounts b ON b.id = payer_id`,
			func(s ledger.Settlement) string {
				return unlessBatch(s, day(s)+" "+flow(s)+" "+s.Payee+" "+s.Payer)
			}},
		{"amount_days",
			`SELECT day || ' ' || facilitator_id || ' ' || network || ' ' || token || ' ' || a.address
				|| ' ' || amount, settlements, (amount * settlements)::text FROM amount_days` + tokenJoin +
				` JOIN accounts a ON a.id = payee_id`,
			func(s ledger.Settlement) string {
				return unlessBatch(s, day(s)+" "+flow(s)+" "+s.Payee+" "+s.Amount)
			}},
		{"settlements",
			`SELECT settled_at || ' ' || block || ' ' || facilitator_id || ' ' || network || ' ' || token
				|| ' ' || a.address || ' ' || b.address || ' ' || d.address || ' ' || log_index || ' ' ||
			CASE octet_length(transaction) WHEN 32 THEN '0x' || encode(transaction, 'hex')
				ELSE convert_from(transaction, 'UTF8') END, 1, amount::text FROM settlements` + tokenJoin +
				` JOIN accounts a ON a.id = payee_id JOIN accounts b ON b.id = payer_id
					JOIN accounts d ON d.id = settler_id`,
			func(s ledger.Settlement) string {
				return fmt.Sprintf("%s %d %s %s %s %s %d %s", s.Time.Format("2006-01-02 15:04:05-07"), s.Block, flow(s),
					s.Payee, s.Payer, s.Settler, s.LogIndex, s.Transaction)
			}},
	} {
		rows, err := conn.Query(t.Context(), table.sql)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			var key, amount string
			var n int
			err := row.Scan(&key, &n, &amount)
			return fmt.Sprintf("%s: %d, %s", key, n, amount), err
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if diff := gocmp.Diff(sumBy(list, table.key), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", table.name, diff)
		}
	}
	checkFlows(t, db, list)
	checkPayments(t, conn, list)
}

// checkFlows holds what a build reads, at several moments, against the plain list.
func checkFlows(t *testing.T, db *postgres.DB, list []ledger.Settlement) {
	for _, now := range []time.Time{start, start.Truncate(24 * time.Hour), start.Add(-time.Nanosecond),
		start.AddDate(0, 0, 80)} {
		var facts *postgres.Facts
		if err := db.Read(t.Context(), func(r *postgres.Reader) (err error) {
			facts, err = r.Facts(t.Context(), now, 0)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		today := now.Truncate(24 * time.Hour)
		line := func(f ledger.Facilitator, w ledger.TokenFacts, part string, s ledger.SettlementSum) string {
			return fmt.Sprintf("%s %s %s %s %s: %d, %s", part, s.Start.Format(time.RFC3339), f.ID, w.Network, w.Token,
				s.Settlements, s.Amount)
		}
		var got []string
		for _, f := range facts.Facilitators {
			for _, w := range f.Tokens {
				for _, s := range w.Hours {
					got = append(got, line(f.Facilitator, w, "hour", s))
				}
				for _, s := range w.Days {
					got = append(got, line(f.Facilitator, w, "day", s))
				}
				if newest := slices.MaxFunc(w.Days, func(a, b ledger.SettlementSum) int {
					return cmp.Compare(a.Start.Unix(), b.Start.Unix())
				}); !newest.LastAt.Equal(w.All.LastAt) {
					t.Errorf("last of all %v, of the newest day %v", w.All.LastAt, newest.LastAt)
				}
			}
		}
		checkLast(t, facts.Facilitators, list, today.AddDate(0, 0, 1))
		slices.Sort(got)
		part := func(name string, period time.Duration, from time.Time) []string {
			var in []ledger.Settlement
			for _, s := range list {
				if !s.Time.Before(from) && !s.Time.Truncate(period).After(now) {
					in = append(in, s)
				}
			}
			return sumBy(in, func(s ledger.Settlement) string {
				return fmt.Sprintf("%s %s %s %s %s", name, s.Time.Truncate(period).Format(time.RFC3339), s.Facilitator,
					s.Network, s.Token)
			})
		}
		want := append(part("hour", time.Hour, now.Truncate(time.Hour).Add(-24*time.Hour)),
			part("day", 24*time.Hour, today.AddDate(0, 0, -89))...)
		slices.Sort(want)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("at %v (-want +got):\n%s", now, diff)
		}
	}
}

// checkLast compares the last settlement of each settler with the newest one of the list before a time.
func checkLast(t *testing.T, facilitators []ledger.FacilitatorFacts, list []ledger.Settlement, before time.Time) {
	t.Helper()
	got, want := map[string]string{}, map[string]string{}
	for _, f := range facilitators {
		for account, last := range f.LastAt {
			got[account[0]+" "+account[1]] = last.UTC().Format(time.RFC3339Nano)
		}
		for _, s := range f.Settlers {
			var last time.Time
			for _, l := range list {
				if l.Network == s.Network && l.Settler == s.Address && l.Time.After(last) && l.Time.Before(before) {
					last = l.Time
					want[s.Network+" "+s.Address] = last.UTC().Format(time.RFC3339Nano)
				}
			}
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" || len(want) == 0 && len(list) > 0 {
		t.Errorf("last settlements of accounts before %v (-want +got):\n%s", before, diff)
	}
}

func TestRecordSettlementsAllOrNone(t *testing.T) {
	t.Parallel()
	db := open(t)
	if _, err := db.ImportFacilitators(t.Context(),
		[]ledger.Facilitator{facilitator("acme"), facilitator("bolt")}); err != nil {
		t.Fatal(err)
	}
	list := someSettlements(rand.New(rand.NewPCG(1, 2)), 20, start)
	for _, c := range []struct {
		name string
		edit func(s *ledger.Settlement)
		want string
		is   error
	}{
		{"an unknown facilitator", func(s *ledger.Settlement) {
			s.Facilitator = "nobody"
		}, "nobody", ledger.ErrUnknownFacilitator},
		{"a float", func(s *ledger.Settlement) { s.Amount = "1.5" }, `amount "1.5" is no decimal integer`, nil},
		{"a negative amount", func(s *ledger.Settlement) { s.Amount = "-1" }, `amount "-1"`, nil},
		{"no amount", func(s *ledger.Settlement) { s.Amount = "" }, `amount ""`, nil},
	} {
		wrong := slices.Clone(list)
		c.edit(&wrong[11])
		_, err := db.RecordSettlements(t.Context(), wrong)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
	if n, err := db.RecordSettlements(t.Context(), list); err != nil || n != 20 {
		t.Errorf("after all that failed: %d recorded, error %v, want 20", n, err)
	}
	if n, err := db.RecordSettlements(t.Context(), nil); err != nil || n != 0 {
		t.Errorf("none: %d, %v", n, err)
	}
}
