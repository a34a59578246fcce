package build_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/testgate"
)

// TestSettlementsExplainTraction computes the figures of services from their published settlements alone, as the
// methodology says, and compares them with those that the services publish.
func TestSettlementsExplainTraction(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	db := open(t)
	addListings(t, db)
	storeSettlements(t, db)
	dir := tempDir(t)
	o := options(moment)
	o.Expand = output.ExpandAll
	run(t, db, dir, o)
	read := func(name string, v any) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, "current", "v1/services", name))
		if err == nil {
			err = json.Unmarshal(data, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]site.Settlements{}
	for _, slug := range []string{"acme", "bolt", "cove"} {
		var file struct{ Data site.Settlements }
		read(slug+"/settlements.json", &file)
		files[slug] = file.Data
	}
	for slug := range files {
		var detail struct{ Data site.ServiceDetail }
		read(slug+".json", &detail)
		var volume struct{ Data []site.VolumePoint }
		read(slug+"/volume/period=all.json", &volume)
		var buyers struct{ Data []site.BuyersPoint }
		read(slug+"/buyers/period=all.json", &buyers)
		want := publishedTraction(&detail.Data.Assessment.Traction, volume.Data, buyers.Data)
		if diff := cmp.Diff(want, recountTraction(files, slug)); diff != "" {
			t.Errorf("%s (-published +recounted):\n%s", slug, diff)
		}
	}
	if n := len(files["bolt"].Recipients[0].Tokens); n != 0 || files["bolt"].Recipients[0].RowsIn != "acme" {
		t.Errorf("the file of bolt has rows of %d tokens, want none: those of acme have them", n)
	}
}

// publishedTraction returns the figures of a service as text.
func publishedTraction(t *site.Traction, volume []site.VolumePoint, buyers []site.BuyersPoint) map[string]string {
	text := func(r *big.Rat) string { return r.FloatString(9) }
	f := map[string]string{
		"volume_usd_30d": text(rat(*t.VolumeUSD30d)), "volume_usd_all_time": text(rat(*t.VolumeUSDAllTime)),
		"tx_count_30d": fmt.Sprint(*t.TxCount30d), "tx_count_all_time": fmt.Sprint(*t.TxCountAllTime),
		"unique_buyers_30d": fmt.Sprint(*t.UniqueBuyers30d), "first": t.FirstSettlementAt.String(),
		"last": t.LastSettlementAt.String(), "trend": fmt.Sprintf("%.4f", *t.Trend7dVs30d),
		"top": fmt.Sprintf("%.4f", *t.TopBuyerShare30d), "top 3": fmt.Sprintf("%.4f", *t.Top3BuyersShare30d),
		"median": text(rat(*t.MedianSettlement30d)), "max": text(rat(*t.MaxSettlement30d)),
	}
	for _, v := range t.SettledViaDetail {
		f["via "+v.ID] = fmt.Sprintf("%s in %d", text(rat(v.VolumeUSD30d)), v.TxCount30d)
	}
	for _, p := range volume {
		f["volume "+p.Date] = fmt.Sprintf("%s in %d", text(rat(p.VolumeUSD)), p.TxCount)
	}
	for _, p := range buyers {
		f["buyers "+p.Date] = fmt.Sprint(p.UniqueBuyers)
	}
	return f
}

// recountTraction computes the same from settlements.
func recountTraction(files map[string]site.Settlements, slug string) map[string]string {
	text := func(r *big.Rat) string { return r.FloatString(9) }
	back := func(days int) string { return moment.AddDate(0, 0, 1-days).Format(time.DateOnly) }
	s := newTotals()
	for _, own := range files[slug].Recipients {
		from := slices.IndexFunc(files[own.RowsIn].Recipients, func(r site.SettledRecipient) bool {
			return r.NetworkCAIP2 == own.NetworkCAIP2 && r.PayTo == own.PayTo
		})
		rows := &files[own.RowsIn].Recipients[from]
		if at := rows.FirstSettlementAt; s.first == "" || at.String() < s.first {
			s.first = at.String()
		}
		start := ""
		for _, share := range own.Shares {
			end := "9999-12-31"
			if share.Until != nil {
				end = *share.Until
			}
			s.addShare(rows, share, func(date string) bool { return date > start && date <= end }, back)
			start = end
		}
		for _, token := range rows.Tokens {
			for _, p := range token.Payers {
				if own.Until != nil && p.Date > *own.Until {
					continue
				}
				if s.buyers[p.Date] == nil {
					s.buyers[p.Date] = map[string]bool{}
				}
				s.buyers[p.Date][p.Payer] = true
				if p.Date >= back(30) {
					s.add(s.payers, p.Payer, dollars(p.Amount, token.Decimals))
				}
			}
			for _, a := range token.Amounts {
				for range a.TxCount {
					if own.Until == nil || a.Date <= *own.Until {
						s.amounts = append(s.amounts, dollars(a.Amount, token.Decimals))
					}
				}
			}
		}
	}
	top := slices.SortedFunc(maps.Values(s.payers), func(a, b *big.Rat) int { return b.Cmp(a) })
	slices.SortFunc(s.amounts, (*big.Rat).Cmp)
	n := len(s.amounts)
	median := new(big.Rat).Add(s.amounts[(n-1)/2], s.amounts[n/2])
	quotient := func(a, b *big.Rat) string { return new(big.Rat).Quo(a, b).FloatString(4) }
	f := map[string]string{
		"volume_usd_30d": text(s.share30), "volume_usd_all_time": text(s.shareAll),
		"tx_count_30d": fmt.Sprint(s.count30), "tx_count_all_time": fmt.Sprint(s.countAll),
		"unique_buyers_30d": fmt.Sprint(len(s.payers)), "first": s.first, "last": s.last,
		"trend":  quotient(new(big.Rat).Mul(s.whole7, big.NewRat(30, 7)), s.whole30),
		"top":    quotient(top[0], s.total30),
		"top 3":  quotient(new(big.Rat).Add(new(big.Rat).Add(top[0], top[1]), top[2]), s.total30),
		"median": text(median.Quo(median, big.NewRat(2, 1))), "max": text(s.amounts[n-1]),
	}
	for id, n := range s.viaCount {
		f["via "+id] = fmt.Sprintf("%s in %d", text(s.via[id]), n)
	}
	for date, n := range s.dayCount {
		f["volume "+date] = fmt.Sprintf("%s in %d", text(s.days[date]), n)
	}
	for date, payers := range s.buyers {
		f["buyers "+date] = fmt.Sprint(len(payers))
	}
	return f
}

// totals collects the figures of a service.
type totals struct {
	total30, share30, shareAll *big.Rat
	whole7, whole30            *big.Rat // without today
	count30, countAll          int64
	days, via, payers          map[string]*big.Rat
	dayCount, viaCount         map[string]int64
	buyers                     map[string]map[string]bool
	amounts                    []*big.Rat
	first, last                string
}

func newTotals() *totals {
	return &totals{total30: new(big.Rat), share30: new(big.Rat), shareAll: new(big.Rat),
		whole7: new(big.Rat), whole30: new(big.Rat), days: map[string]*big.Rat{}, via: map[string]*big.Rat{}, payers: map[string]*big.Rat{},
		dayCount: map[string]int64{}, viaCount: map[string]int64{}, buyers: map[string]map[string]bool{}}
}

func (s *totals) add(to map[string]*big.Rat, key string, v *big.Rat) {
	if to[key] == nil {
		to[key] = new(big.Rat)
	}
	to[key].Add(to[key], v)
}

// addShare adds the days of one share: sums of days and of facilitators are divided as running sums.
func (s *totals) addShare(rows *site.SettledRecipient, share site.RecipientShare, belongs func(string) bool,
	back func(days int) string) {
	days, via := map[string]*big.Rat{}, map[string]*big.Rat{}
	all, thirty := new(big.Rat), new(big.Rat)
	for _, token := range rows.Tokens {
		for _, d := range token.Days {
			if !belongs(d.Date) {
				continue
			}
			v := dollars(d.Amount, token.Decimals)
			all.Add(all, v)
			s.add(days, d.Date, v)
			s.dayCount[d.Date] += d.TxCount
			s.countAll += d.TxCount
			s.last = max(s.last, d.LastAt.String())
			if d.Date >= back(8) && d.Date < back(1) {
				s.whole7.Add(s.whole7, v)
			}
			if d.Date >= back(31) && d.Date < back(1) {
				s.whole30.Add(s.whole30, v)
			}
			if d.Date >= back(30) {
				thirty.Add(thirty, v)
				s.count30 += d.TxCount
				s.viaCount[token.FacilitatorID] += d.TxCount
				s.add(via, token.FacilitatorID, v)
			}
		}
	}
	s.total30.Add(s.total30, thirty)
	s.share30.Add(s.share30, part(thirty, share))
	s.shareAll.Add(s.shareAll, part(all, share))
	for to, sums := range map[*map[string]*big.Rat]map[string]*big.Rat{&s.days: days, &s.via: via} {
		sum, before := new(big.Rat), new(big.Rat)
		for _, key := range slices.Sorted(maps.Keys(sums)) {
			after := part(sum.Add(sum, sums[key]), share)
			s.add(*to, key, new(big.Rat).Sub(after, before))
			before = after
		}
	}
}

// part returns a share of a sum: whole micro-dollars, of which the first services get one more, and the next the rest.
func part(sum *big.Rat, share site.RecipientShare) *big.Rat {
	micros := new(big.Rat).Mul(sum, big.NewRat(1_000_000, 1))
	whole := new(big.Int).Quo(micros.Num(), micros.Denom())
	rest := new(big.Rat).Sub(micros, new(big.Rat).SetInt(whole))
	each, over := new(big.Int).QuoRem(whole, big.NewInt(int64(share.ServiceCount)), new(big.Int))
	got := new(big.Rat).SetInt(each)
	switch place := int64(share.Place); {
	case place < over.Int64():
		got.Add(got, big.NewRat(1, 1))
	case place == over.Int64():
		got.Add(got, rest)
	}
	return got.Quo(got, big.NewRat(1_000_000, 1))
}

// dollars returns an amount in dollars.
func dollars(amount string, decimals int) *big.Rat {
	n, ok := new(big.Int).SetString(amount, 10)
	if !ok {
		panic("no integer: " + amount)
	}
	return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil))
}
