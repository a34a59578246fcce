package build_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/render/lists"
	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/serve"
	"tollbook/site/testgate"
)

// bestTest is a published sample directory. Its recommendations are computed again from the details of services, with
// other arithmetic than package search has.
type bestTest struct {
	t       *testing.T
	handler http.Handler
	details map[string]*site.ServiceDetail
	now     time.Time
}

func newBestTest(t *testing.T) *bestTest {
	db := openSample(t)
	storeSettlements(t, db)
	root := tempDir(t)
	run(t, db, root, options(moment))
	source, err := output.OpenSource(root, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	b := &bestTest{t, serve.NewHandler(serve.Options{Source: source, FillSearch: lists.FillResults}), map[string]*site.ServiceDetail{}, moment}
	var index routes.Index
	b.get("/"+routes.IndexFile, &index)
	for _, slug := range index.Slugs {
		var detail site.One[*site.ServiceDetail]
		b.get("/v1/services/"+slug, &detail)
		b.details[slug] = detail.Data
	}
	return b
}

// get reads a JSON response.
func (b *bestTest) get(target string, v any) {
	b.t.Helper()
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	if w.Code != http.StatusOK {
		b.t.Fatalf("%s: %d %s", target, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
		b.t.Fatalf("%s: %v", target, err)
	}
}

// TestBest asks for several needs. Every recommendation must be true of the service's detail: its endpoint, its price,
// that nothing speaks against paying it, and each term of its score.
func TestBest(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	b := newBestTest(t)
	for _, query := range []string{
		"", "limit=20", "limit=20&prefer=cheapest", "limit=20&prefer=fastest", "limit=20&prefer=most_reliable",
		"limit=20&network=BSE", "limit=20&network=SOL&max_price_usd=0.01", "limit=20&method=POST&min_grade=B",
		"limit=20&status=unknown", "limit=20&require_verified=true",
		"q=speech+to+text", "q=speech+to+text&max_price_usd=0.01&network=BSE&prefer=most_reliable",
		"q=weather&limit=20", "q=serch+the+web", "q=translate+text&prefer=cheapest", "q=llm&prefer=fastest&limit=20",
		"q=image+generation&max_price_usd=0.05", "q=zzzzzz",
	} {
		var response site.List[site.Recommendation, site.RankingMeta]
		b.get("/v1/best?"+query, &response)
		t.Logf("%s: %d of %d candidates, %d excluded", query, len(response.Data), response.Meta.Candidates,
			response.Meta.ExcludedCount)
		for i := range response.Data {
			r := &response.Data[i]
			t.Logf("  %.1f %s %s: %s", r.Score, r.Slug, r.Endpoint.Path, r.Why)
			b.checkRecommendation(query, r, &response.Meta)
			if i > 0 && response.Data[i-1].Score < r.Score {
				t.Errorf("%s: %s is behind %s", query, r.Slug, response.Data[i-1].Slug)
			}
		}
		for _, e := range response.Meta.Excluded {
			b.checkExclusion(query, e)
		}
		if !strings.Contains(query, "q=") {
			b.checkCandidates(query, &response)
		}
	}
}

// checkRecommendation compares a recommendation with the service's detail.
func (b *bestTest) checkRecommendation(query string, r *site.Recommendation, meta *site.RankingMeta) {
	b.t.Helper()
	d := b.details[r.Slug]
	if d == nil || !d.IsAdvised() || d.Status == site.StatusUnknown || d.Name != r.Name {
		b.t.Fatalf("%s: %s must not be recommended: %+v", query, r.Slug, d)
	}
	i := slices.IndexFunc(d.Endpoints, func(e site.Endpoint) bool {
		return e.Method == r.Endpoint.Method && e.Path == r.Endpoint.Path
	})
	if i < 0 || r.Endpoint.URL != d.BaseURL+r.Endpoint.Path {
		b.t.Fatalf("%s: %s has no endpoint %+v", query, r.Slug, r.Endpoint)
	}
	var price *string
	var lowest site.Decimal
	for _, p := range d.Endpoints[i].Pricing {
		short := d.Networks[slices.Index(d.NetworksCAIP2, *p.NetworkCAIP2)]
		if usd, counts := p.CountedUSD(); counts && short == r.Network && (price == nil || usd.Compare(lowest) < 0) {
			lowest = usd
			price = (*string)(&lowest)
		}
	}
	if diff := gocmp.Diff(price, r.PriceUSD); diff != "" {
		b.t.Errorf("%s: the price of %s on %s (-want +got):\n%s", query, r.Slug, r.Network, diff)
	}
	want := b.terms(d, r.PriceUSD, meta)
	if strings.Contains(query, "q=") {
		want.Relevance = r.Terms.Relevance
	}
	if diff := gocmp.Diff(want, r.Terms); diff != "" {
		b.t.Errorf("%s: terms of %s (-want +got):\n%s", query, r.Slug, diff)
	}
	if score := scoreAgain(d, want, meta); score != r.Score {
		b.t.Errorf("%s: %s has score %v, recomputed %v", query, r.Slug, r.Score, score)
	}
}

// round returns a fraction rounded to a whole number, halves up.
func round(f *big.Rat) int64 {
	f = new(big.Rat).Add(f, big.NewRat(1, 2))
	return new(big.Int).Div(f.Num(), f.Denom()).Int64()
}

// cut returns a decimal times a power of ten, cut.
func cut(decimal string, power int64) int64 {
	f, ok := new(big.Rat).SetString(decimal)
	if !ok {
		panic(decimal)
	}
	f.Mul(f, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(power), nil)))
	return new(big.Int).Div(f.Num(), f.Denom()).Int64()
}

// terms computes the terms of a service as the methodology page says, without text.
func (b *bestTest) terms(d *site.ServiceDetail, price *string, meta *site.RankingMeta) site.RankingTerms {
	a := &d.Assessment
	uptime, speed := int64(0), int64(0)
	if p := d.Uptime.D30; p != nil {
		hundredths := round(new(big.Rat).Mul(new(big.Rat).SetFloat64(*p), big.NewRat(100, 1)))
		n := min(d.Uptime.Coverage.D30.CheckCount, 1_000_000)
		uptime = round(big.NewRat(max(hundredths-9000, 0)*n, n+20))
	}
	if ms := a.Reliability.ResponseP95MS; ms != nil {
		speed = round(big.NewRat(1_000_000, 1000+int64(*ms)))
	}
	share := int64(meta.Weights.SpeedShare)
	t := site.RankingTerms{Relevance: 100,
		Reliability: float64(round(big.NewRat(uptime*(100-share)+speed*share, 100))) / 10,
		Compliance:  map[string]float64{"A": 100, "B": 80, "C": 60, "D": 40}[a.Compliance.Grade]}
	if price != nil && meta.MedianPriceUSD != nil {
		p, m := min(cut(*price, 9), 1e12), min(cut(*meta.MedianPriceUSD, 9), 1e12)
		if t.Price = 100; p > 0 {
			t.Price = float64(round(big.NewRat(1000*m, m+p))) / 10
		}
	}
	if v, n := a.Traction.OrganicVolumeUSD30d, a.Traction.OrganicBuyers30d; v != nil && n != nil {
		t.Traction = float64(min(5*min(*n, 20), min(cut(string(*v), 0), 100)))
	}
	age := min(max(b.now.Sub(d.LastSuccessAt.Time).Milliseconds()/60_000, 0), 10080)
	t.Recency = float64(1000-round(big.NewRat(1000*age, 10080))) / 10
	return t
}

// scoreAgain computes a score from its terms.
func scoreAgain(d *site.ServiceDetail, t site.RankingTerms, meta *site.RankingMeta) float64 {
	tenths := func(f float64) int64 { return round(new(big.Rat).Mul(new(big.Rat).SetFloat64(f), big.NewRat(10, 1))) }
	w := &meta.Weights
	sum := int64(w.Reliability)*tenths(t.Reliability) + int64(w.Compliance)*tenths(t.Compliance) +
		int64(w.Price)*tenths(t.Price) + int64(w.Traction)*tenths(t.Traction) + int64(w.Recency)*tenths(t.Recency)
	score := float64(round(big.NewRat(sum*tenths(t.Relevance), 100_000))) / 10
	if limit, capped := map[string]float64{"C": 80, "D": 50, "F": 20,
		"unknown": 40}[d.Assessment.Compliance.Grade]; capped {
		score = min(score, limit)
	}
	if d.Assessment.Risk.Level == site.RiskWarning {
		score = min(score, 80)
	}
	return score
}

// checkExclusion compares the reason of an exclusion with the service's detail, where the detail says it.
func (b *bestTest) checkExclusion(query string, e site.Exclusion) {
	b.t.Helper()
	d := b.details[e.Slug]
	if want := b.excludedByFacts(d); want != "" && want != e.Code || e.Code == site.ExcludedDanger && want != e.Code {
		b.t.Errorf("%s: %s is excluded as %s, its facts say %q", query, e.Slug, e.Code, want)
	}
}

// excludedByFacts returns why a service is excluded whatever the request is, "" if it is not.
func (b *bestTest) excludedByFacts(d *site.ServiceDetail) string {
	switch {
	case d.Assessment.Risk.Level == site.RiskDanger:
		return site.ExcludedDanger
	case d.Status == site.StatusOffline:
		return site.ExcludedOffline
	case d.Status == site.StatusUnknown || d.LastSuccessAt == nil ||
		b.now.Sub(d.LastSuccessAt.Time) >= 7*24*time.Hour:
		return site.ExcludedStale
	case !d.PaymentReady:
		return site.ExcludedUnpayable
	}
	return ""
}

// checkCandidates counts the candidates of a request without text, and computes their median price: one vote for each
// operator, that of the dearest endpoint that can be paid.
func (b *bestTest) checkCandidates(query string, response *site.List[site.Recommendation, site.RankingMeta]) {
	b.t.Helper()
	if query != "" && query != "limit=20" && !strings.HasPrefix(query, "limit=20&prefer=") {
		return
	}
	votes := map[string]*big.Rat{}
	candidates := 0
	for block := 0; block*site.RowsPerBlock < len(b.details); block++ {
		var rows site.List[site.ServiceRow, site.TotalMeta]
		b.get(fmt.Sprintf("/v1/rows/%d.json", block), &rows)
		for _, row := range rows.Data {
			if b.excludedByFacts(b.details[row.Slug]) != "" {
				continue
			}
			candidates++
			for _, e := range row.Endpoints {
				for _, price := range e.Prices() {
					of := *row.Assessment.Operator
					if p := price.Rational(); e.Payable && p.Cmp(big.NewRat(1, 10_000)) >= 0 &&
						(votes[of] == nil || p.Cmp(votes[of]) > 0) {
						votes[of] = p
					}
				}
			}
		}
	}
	prices := slices.SortedFunc(maps.Values(votes), (*big.Rat).Cmp)
	if len(prices) == 0 || response.Meta.Candidates != candidates || response.Meta.MedianPriceUSD == nil {
		b.t.Fatalf("%s: %d candidates with %v, meta is %+v", query, candidates, prices, response.Meta)
	}
	median := new(big.Rat).Add(prices[(len(prices)-1)/2], prices[len(prices)/2])
	median.Quo(median, big.NewRat(2, 1))
	if got, _ := new(big.Rat).SetString(*response.Meta.MedianPriceUSD); got == nil || got.Cmp(median) != 0 {
		b.t.Errorf("%s: the median is %s, want %s of %v", query, *response.Meta.MedianPriceUSD, median, prices)
	}
}
