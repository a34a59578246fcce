package build_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/load"
	"tollbook/site/routes"
	"tollbook/site/testgate"
)

const (
	chainBase = "eip155:8453"
	chainUSDC = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	chainEURC = "0x60a3e35cc302bfa44cb288bc5a4f316fdb1adb42"
)

// addListings lists three services that are paid on Base. The first two share a recipient, and the third changed its
// recipient ten days ago.
func addListings(t testing.TB, db *postgres.DB) {
	t.Helper()
	created := moment.AddDate(0, 0, -120)
	moved := moment.AddDate(0, 0, -10)
	price := func(slug, payTo string, since time.Time, until *time.Time) checks.Price {
		return checks.Price{
			EndpointID: postgres.EndpointID(slug, "GET", "/q"), Since: since, Until: until, Scheme: "exact",
			Network: chainBase, NetworkCAIP2: new(chainBase),
			Asset: chainUSDC, PayTo: payTo, Amount: "10000", X402Version: 2,
		}
	}
	var listings []postgres.Listing
	var histories []load.History
	for slug, prices := range map[string][]checks.Price{
		"acme": {price("acme", payee(0), created, nil)}, "bolt": {price("bolt", payee(0), created, nil)},
		"cove": {price("cove", payee(1), created, &moved), price("cove", payee(2), moved, nil)},
	} {
		listings = append(listings, postgres.Listing{
			Slug: slug, Name: slug, BaseURL: "https://" + slug + ".test", Category: "Data", Source: "imported:file",
			CreatedAt: created,
			Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/q"}},
		})
		histories = append(histories, load.History{Slug: slug, Prices: prices, Endpoints: []load.EndpointHistory{
			{Method: "GET", Path: "/q", FirstSeenAt: created, LastPaidAt: new(moment.Add(-time.Minute))},
		}})
	}
	if err := load.Sample(t.Context(), db, "made up for a test", listings, histories); err != nil {
		t.Fatal(err)
	}
}

// storeSettlements stores 160 days of settlements as an indexer commits them, in dollars and in euros. Two of the three
// facilitators count.
func storeSettlements(t testing.TB, db *postgres.DB) []ledger.Settlement {
	t.Helper()
	settled := settlements(moment.AddDate(0, 0, -160))
	commitSettlements(t, db, settled)
	return settled
}

// commitSettlements stores settlements of the last 160 days.
func commitSettlements(t testing.TB, db *postgres.DB, settled []ledger.Settlement) {
	t.Helper()
	ctx := t.Context()
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	tokens := []string{chainUSDC, chainEURC}
	_, err := db.ImportFacilitators(ctx, []ledger.Facilitator{
		{ID: "counts", Name: "Counts", WebsiteURL: "https://counts.test", UpstreamStatus: "merged",
			Settlers: []ledger.Settler{{Network: chainBase, Address: account("a", 1), Tokens: tokens}}},
		{ID: "x402.rs", Name: "Counts too", WebsiteURL: "https://too.test", UpstreamStatus: "merged",
			Settlers: []ledger.Settler{{Network: chainBase, Address: account("a", 2), Tokens: tokens}}},
		{ID: "claims", Name: "Claims", WebsiteURL: "https://claims.test", UpstreamStatus: "pull_request",
			Settlers: []ledger.Settler{{Network: chainBase, Address: account("a", 3), Tokens: tokens}}},
	})
	check(err)
	settlers, err := db.NewSettlers(ctx, chainBase)
	check(err)
	check(db.OpenScans(ctx, chainBase, settlers, 0, moment.AddDate(0, 0, -160), 100_000))
	scans, err := db.Scans(ctx, chainBase)
	check(err)
	for _, s := range scans {
		r := ledger.Range{Scan: s.ID, Network: chainBase, First: s.Next, Last: 100_010, Hash: "0xhead",
			Time: moment.Add(-time.Minute)}
		if s.End != nil {
			r.Last, r.Hash, r.Time, r.Settlements = *s.End-1, "0xfill", moment.Add(-2*time.Minute), settled
			r.Authorizations = []ledger.AuthorizationDay{{Token: chainUSDC, Day: moment.Truncate(24 * time.Hour),
				Authorizations: 1_000_000}}
			r.Senders = []ledger.SenderDay{{Sender: account("c", 1), Day: moment.Truncate(24 * time.Hour),
				Token: chainUSDC, Payments: 7, Amount: "7000000", Recipients: 2}}
		}
		_, err := db.CommitRanges(ctx, r)
		check(err)
	}
	check(db.SetHead(ctx, ledger.Head{Network: chainBase, Block: 100_012, Time: moment, PolledAt: moment}))
}

func account(kind string, n int) string { return fmt.Sprintf("0x%s%039d", kind, n) }
func payee(n int) string                { return account("b", n) }

// settlements returns two thousand settlements from first to moment, some of them redemptions. They are the same every
// time.
func settlements(first time.Time) []ledger.Settlement {
	random := rand.New(rand.NewPCG(1, 2))
	var list []ledger.Settlement
	for i := range 2000 {
		by := random.IntN(3)
		s := ledger.Settlement{
			Network: chainBase, Block: int64(i * 49), BlockHash: "0x1",
			Time:        first.Add(time.Duration(i) * (moment.Sub(first) / 2000)).Truncate(time.Second),
			Transaction: fmt.Sprintf("0x%064x", i), LogIndex: i % 3,
			Facilitator: []string{"counts", "x402.rs", "claims"}[by], Settler: account("a", by+1),
			Token: chainUSDC, Payer: account("d", random.IntN(9)), Payee: payee(random.IntN(4)),
			Amount: fmt.Sprint(1 + random.Int64N(3_000_000)), Method: "eip3009",
		}
		if random.IntN(10) == 0 {
			s.Token = chainEURC
		}
		if random.IntN(20) == 0 {
			s.Payer = s.Payee
		}
		if i%17 == 0 {
			s.Method, s.Payer = ledger.MethodBatch, account("e", 1)
		}
		list = append(list, s)
	}
	return list
}

// TestRevenueMatchesRecount builds from a database that an indexer wrote, and compares all figures with a recount of
// the settlements.
func TestRevenueMatchesRecount(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	db := open(t)
	addListings(t, db)
	settled := storeSettlements(t, db)
	dir := tempDir(t)
	o := options(moment)
	o.Expand = output.ExpandAll
	run(t, db, dir, o)
	read := func(name string, v any) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, "current", name))
		if err == nil {
			err = json.Unmarshal(data, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	today := moment.Truncate(24 * time.Hour)
	created := today.AddDate(0, 0, -120) // since when the services are known to name their recipients
	until := today.AddDate(0, 0, -9)     // of what cove was paid at before it moved: the day after
	parts := new(big.Rat)                // of acme and bolt
	for _, c := range []struct {
		slug string
		own  func(ledger.Settlement) bool
	}{
		{"acme", func(s ledger.Settlement) bool { return s.Payee == payee(0) && !s.Time.Before(created) }},
		{"bolt", func(s ledger.Settlement) bool { return s.Payee == payee(0) && !s.Time.Before(created) }},
		{"cove", func(s ledger.Settlement) bool {
			return s.Payee == payee(1) && !s.Time.Before(created) && s.Time.Before(until.AddDate(0, 0, 1)) ||
				s.Payee == payee(2) && !s.Time.Before(today.AddDate(0, 0, -10))
		}},
	} {
		var got struct{ Data site.ServiceDetail }
		read("v1/services/"+c.slug+".json", &got)
		var volume struct{ Data []site.VolumePoint }
		read("v1/services/"+c.slug+"/volume/period=all.json", &volume)
		var buyers struct{ Data []site.BuyersPoint }
		read("v1/services/"+c.slug+"/buyers/period=all.json", &buyers)
		want := recount(settled, c.own)
		if diff := cmp.Diff(want.figures(), figuresOf(&got.Data.Assessment.Traction)); diff != "" {
			t.Errorf("%s (-recount +published):\n%s", c.slug, diff)
		}
		part := rat(*got.Data.Assessment.Traction.VolumeUSD30d)
		if c.slug == "cove" {
			if part.Cmp(want.usd30) != 0 {
				t.Errorf("cove received $%s in 30 days, want $%s", part.FloatString(6), want.usd30.FloatString(6))
			}
		} else if parts.Add(parts, part); c.slug == "bolt" && parts.Cmp(want.usd30) != 0 {
			t.Errorf("acme and bolt received $%s in 30 days, want $%s", parts.FloatString(6), want.usd30.FloatString(6))
		}
		sum, n := new(big.Rat), int64(0)
		for _, p := range volume.Data {
			sum.Add(sum, rat(p.VolumeUSD))
			n += p.TxCount
		}
		if all := got.Data.Assessment.Traction; sum.Cmp(rat(*all.VolumeUSDAllTime)) != 0 || n != *all.TxCountAllTime {
			t.Errorf("%s: days sum to $%s in %d settlements, all time is $%s in %d", c.slug, sum.FloatString(6), n,
				*all.VolumeUSDAllTime, *all.TxCountAllTime)
		}
		if diff := cmp.Diff(want.buyersByDay(today.AddDate(0, 0, 1-site.BuyersDays)), buyers.Data); diff != "" {
			t.Errorf("%s: buyers by day (-recount +published):\n%s", c.slug, diff)
		}
	}
	var coverage struct{ Data site.CoverageReport }
	read("v1/coverage.json", &coverage)
	checkCoverage(t, coverage.Data, settled)
	var detail struct{ Data site.FacilitatorDetail }
	read("v1/facilitators/x402.rs.json", &detail)
	if want := 3; detail.Data.ServiceCount != want || len(detail.Data.Buyers.ByChain) != 2 ||
		len(detail.Data.Settlers) != 1 {
		t.Errorf("x402.rs settles for %d services, has %d rows of buyers, %d settlers; want 3, 2, 1",
			detail.Data.ServiceCount, len(detail.Data.Buyers.ByChain), len(detail.Data.Settlers))
	}
}

// TestSharedDaysAreNoMerit lists a stranger that names an account for 35 days, so that it shares the last six of them.
// The rows by which services are ordered and scored have the other days of the first owner alone, and nothing of the
// stranger. The published figures of both have all days.
func TestSharedDaysAreNoMerit(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	db := open(t)
	today := moment.Truncate(24 * time.Hour)
	var listings []postgres.Listing
	var histories []load.History
	for slug, since := range map[string]time.Time{"first": moment.AddDate(0, 0, -120), "late": moment.AddDate(0, 0, -35)} {
		listings = append(listings, postgres.Listing{Slug: slug, Name: slug, BaseURL: "https://" + slug + ".test",
			Category: "Data", Source: "imported:file", CreatedAt: since,
			Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/q"}}})
		histories = append(histories, load.History{Slug: slug, Prices: []checks.Price{{
			EndpointID: postgres.EndpointID(slug, "GET", "/q"), Since: since, Scheme: "exact", Network: chainBase,
			NetworkCAIP2: new(chainBase), Asset: chainUSDC, PayTo: payee(0), Amount: "10000", X402Version: 2}},
			Endpoints: []load.EndpointHistory{
				{Method: "GET", Path: "/q", FirstSeenAt: since, LastPaidAt: new(moment.Add(-time.Minute))}}})
	}
	if err := load.Sample(t.Context(), db, "made up for a test", listings, histories); err != nil {
		t.Fatal(err)
	}
	settled, dir := storeSettlements(t, db), tempDir(t)
	o := options(moment)
	o.Expand = output.ExpandAll
	run(t, db, dir, o)
	all := recount(settled, func(s ledger.Settlement) bool { return s.Payee == payee(0) })
	alone := recount(settled, func(s ledger.Settlement) bool {
		return s.Payee == payee(0) && s.Time.Before(today.AddDate(0, 0, -5))
	})
	read := func(name string, v any) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, "current", name))
		if err == nil {
			err = json.Unmarshal(data, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var detail struct{ Data site.ServiceDetail }
	var volumes, buyers site.One[[]any]
	read(routes.ColumnKey("volume_usd_30d"), &volumes)
	read(routes.ColumnKey("unique_buyers_30d"), &buyers)
	read("v1/services/first.json", &detail)
	want := []any{fmt.Sprint(all.n30), alone.usd30.FloatString(6), fmt.Sprint(len(alone.payers)), nil, nil}
	got := []any{fmt.Sprint(*detail.Data.Assessment.Traction.TxCount30d),
		volumes.Data[0], fmt.Sprint(buyers.Data[0]), volumes.Data[1], buyers.Data[1]}
	if diff := cmp.Diff(want, got); diff != "" || alone.n30 == all.n30 {
		t.Errorf("settlements, volume and buyers of the owner, and those of the stranger (-want +got):\n%s", diff)
	}
}

// TestPackedDaysWriteTheSameFiles builds while days before the window are rows, and again after they were packed.
func TestPackedDaysWriteTheSameFiles(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	db := open(t)
	addListings(t, db)
	storeSettlements(t, db)
	dir := tempDir(t)
	var files [2]map[string]string
	for i := range files {
		o := options(moment.Add(time.Duration(i) * time.Minute))
		o.Expand = output.ExpandAll
		run(t, db, dir, o)
		files[i] = map[string]string{}
		for _, slug := range []string{"acme", "bolt", "cove"} {
			data, err := os.ReadFile(filepath.Join(dir, "current/v1/services", slug, "volume/period=all.json"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(data), `"date"`) < 95 {
				t.Errorf("%s has %d days", slug, strings.Count(string(data), `"date"`))
			}
			files[i][slug] = string(data)
		}
	}
	if diff := cmp.Diff(files[0], files[1]); diff != "" {
		t.Errorf("volume (-rows +packed):\n%s", diff)
	}
}

// recountedRevenue is a service's revenue, counted settlement by settlement.
type recountedRevenue struct {
	usd30  *big.Rat
	n30    int64
	nAll   int64
	payers map[string]*big.Rat // of 30 days
	via    map[string]int64
	sums   []*big.Rat
	last   time.Time
	days   map[string]map[string]bool // payers by day
}

// isCounted reports whether a settlement counts as volume: it is in dollars, by a facilitator that owns its settlers.
func isCounted(s ledger.Settlement) bool { return s.Token == chainUSDC && s.Facilitator != "claims" }

func recount(list []ledger.Settlement, own func(ledger.Settlement) bool) *recountedRevenue {
	c := &recountedRevenue{usd30: new(big.Rat), payers: map[string]*big.Rat{}, via: map[string]int64{},
		days: map[string]map[string]bool{}}
	month := moment.Truncate(24*time.Hour).AddDate(0, 0, -29)
	for _, s := range list {
		if !isCounted(s) || !own(s) {
			continue
		}
		c.nAll++
		day := s.Time.UTC().Format(time.DateOnly)
		if c.days[day] == nil {
			c.days[day] = map[string]bool{}
		}
		if s.Method != ledger.MethodBatch {
			c.days[day][s.Payer] = true
		}
		if s.Time.After(c.last) {
			c.last = s.Time
		}
		if s.Time.Before(month) {
			continue
		}
		usd, _ := new(big.Rat).SetString(s.Amount)
		usd.Quo(usd, big.NewRat(1_000_000, 1))
		c.n30++
		c.usd30.Add(c.usd30, usd)
		c.via[s.Facilitator]++
		if s.Method == ledger.MethodBatch {
			continue
		}
		c.sums = append(c.sums, usd)
		if c.payers[s.Payer] == nil {
			c.payers[s.Payer] = new(big.Rat)
		}
		c.payers[s.Payer].Add(c.payers[s.Payer], usd)
	}
	return c
}

// figures returns the figures that are not divided if a recipient is shared.
func (c *recountedRevenue) figures() map[string]string {
	slices.SortFunc(c.sums, (*big.Rat).Cmp)
	n := len(c.sums)
	median := new(big.Rat).Add(c.sums[(n-1)/2], c.sums[n/2])
	return map[string]string{
		"30 days": fmt.Sprint(c.n30), "all": fmt.Sprint(c.nAll), "buyers": fmt.Sprint(len(c.payers)),
		"last":   site.NewTime(c.last).String(),
		"median": median.Quo(median, big.NewRat(2, 1)).FloatString(7), "most": c.sums[n-1].FloatString(7),
		"top":   new(big.Rat).Quo(c.top(1), c.usd30).FloatString(4),
		"top 3": new(big.Rat).Quo(c.top(3), c.usd30).FloatString(4), "via": fmt.Sprint(c.via),
	}
}

func (c *recountedRevenue) top(n int) *big.Rat {
	of := slices.SortedFunc(maps.Values(c.payers), func(a, b *big.Rat) int { return b.Cmp(a) })
	sum := new(big.Rat)
	for _, r := range of[:n] {
		sum.Add(sum, r)
	}
	return sum
}

func (c *recountedRevenue) buyersByDay(first time.Time) []site.BuyersPoint {
	var points []site.BuyersPoint
	for _, day := range slices.Sorted(maps.Keys(c.days)) {
		if day >= first.Format(time.DateOnly) && len(c.days[day]) > 0 {
			points = append(points, site.BuyersPoint{Date: day, UniqueBuyers: int64(len(c.days[day]))})
		}
	}
	return points
}

func figuresOf(t *site.Traction) map[string]string {
	via := map[string]int64{}
	for _, v := range t.SettledViaDetail {
		via[v.ID] = v.TxCount30d
	}
	return map[string]string{
		"30 days": fmt.Sprint(*t.TxCount30d), "all": fmt.Sprint(*t.TxCountAllTime),
		"buyers": fmt.Sprint(*t.UniqueBuyers30d), "last": t.LastSettlementAt.String(),
		"median": rat(*t.MedianSettlement30d).FloatString(7), "most": rat(*t.MaxSettlement30d).FloatString(7),
		"top": fmt.Sprintf("%.4f", *t.TopBuyerShare30d), "top 3": fmt.Sprintf("%.4f", *t.Top3BuyersShare30d),
		"via": fmt.Sprint(via),
	}
}

func rat(d site.Decimal) *big.Rat {
	r, ok := new(big.Rat).SetString(string(d))
	if !ok {
		panic("no decimal: " + d)
	}
	return r
}

// checkCoverage counts the volume of the directory and its quality again.
func checkCoverage(t *testing.T, c site.CoverageReport, settled []ledger.Settlement) {
	t.Helper()
	all, self := recount(settled, func(ledger.Settlement) bool { return true }),
		recount(settled, func(s ledger.Settlement) bool { return s.Payer == s.Payee })
	if rat(c.Volume30d.Raw.VolumeUSD).Cmp(all.usd30) != 0 || c.Volume30d.Raw.TxCount != all.n30 ||
		rat(c.Volume30d.SelfPayment.VolumeUSD).Cmp(self.usd30) != 0 || c.Volume30d.SelfPayment.TxCount != self.n30 {
		t.Errorf("volume is %+v, want %s in %d, %s in %d of it to themselves", c.Volume30d, all.usd30.FloatString(6),
			all.n30, self.usd30.FloatString(6), self.n30)
	}
	if len(c.Networks) != 1 || !c.Networks[0].Measured || *c.Networks[0].Cursor.Block != 100_010 ||
		*c.Networks[0].Cursor.AgeSeconds != 60 || *c.Networks[0].HeadBlock != 100_012 || *c.Networks[0].Filling != 0 {
		t.Errorf("networks are %+v, want Base alone, measured up to block 100010, a minute old", c.Networks)
	}
	if len(c.CandidateSettlers) != 1 || !strings.EqualFold(c.CandidateSettlers[0].Address, account("c", 1)) ||
		*c.CandidateSettlers[0].VolumeUSD != "7" {
		t.Errorf("candidates are %+v, want one that moved $7", c.CandidateSettlers)
	}
	if c.Operators.ServiceCount != 3 || c.Operators.OperatorCount != 2 {
		t.Errorf("%d services of %d operators, want 3 of 2", c.Operators.ServiceCount, c.Operators.OperatorCount)
	}
}
