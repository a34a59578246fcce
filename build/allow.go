package build

import (
	"cmp"
	"net/url"
	"slices"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// newAllowance returns the row of a service in the allow-list: what its endpoints ask for that clients may be sent to.
func newAllowance(l *site.Listing) *site.Allowance {
	a := &site.Allowance{Slug: l.Item.Slug, Name: l.Item.Name, Category: l.Item.Category, AdviceLevel: l.Item.AdviceLevel,
		Hosts: []string{}, Options: []site.AllowedOption{}}
	if !site.IsAdvised(a.AdviceLevel) {
		return a
	}
	for i := range l.Detail.Endpoints {
		e := &l.Detail.Endpoints[i]
		if !l.Terms[i].Payable || !e.Verdict.IsAdvised() {
			continue
		}
		before := len(a.Options)
		for _, p := range e.X402Pricing() {
			if p.NetworkCAIP2 != nil && site.IsAdvised(p.VerdictLevel) {
				o := site.AllowedOption{NetworkCAIP2: *p.NetworkCAIP2, AssetAddress: p.AssetAddress, AssetName: p.AssetName,
					PayTo: p.PayTo, Price: p.Price, PriceCondition: p.PayableBy.PriceCondition()}
				if p.PriceUSD != nil {
					if usd, err := site.ParseDecimal(*p.PriceUSD); err == nil {
						o.PriceUSD = &usd
					}
				}
				a.Options = append(a.Options, o)
			}
		}
		if u, err := url.Parse(l.Detail.BaseURL + e.Path); err == nil && len(a.Options) > before {
			a.Hosts = append(a.Hosts, u.Host)
		}
	}
	slices.Sort(a.Hosts)
	a.Hosts = slices.Compact(a.Hosts)
	slices.SortFunc(a.Options, compareAllowed)
	a.Options = slices.CompactFunc(a.Options, func(x, y site.AllowedOption) bool { return compareAllowed(x, y) == 0 })
	a.Options = truncate(a.Options, site.MaxAllowances, &a.Clipped)
	return a
}

// compareAllowed orders options by price in dollars, those without one last, and then by all other fields.
func compareAllowed(a, b site.AllowedOption) int {
	return cmp.Or(site.NullsLast(a.PriceUSD, b.PriceUSD, site.Decimal.Compare), cmp.Compare(a.NetworkCAIP2, b.NetworkCAIP2),
		cmp.Compare(a.AssetAddress, b.AssetAddress), cmp.Compare(a.PayTo, b.PayTo), compareAtomic(a.Price, b.Price),
		cmp.Compare(needOf(a), needOf(b)))
}

// needOf returns what a buyer needs before a payment by an option, "" if nothing.
func needOf(o site.AllowedOption) string {
	if o.PriceCondition == nil {
		return ""
	}
	return *o.PriceCondition
}

func compareAtomic(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// allowWriter writes blocks of the allow-list, a row for each service in the order of slugs, and its first page.
type allowWriter struct {
	block int
	rows  [][]byte
	total int
	add   addFunc

	page   [][]byte // the first rows of the list without a filter
	passed int      // rows of that list
}

// addRow adds the row of the next service.
func (w *allowWriter) addRow(a *site.Allowance, isGone bool) error {
	row, err := encode.Row(a)
	if err != nil {
		return err
	}
	if a.AdviceLevel == site.AdviceGood && !isGone {
		if w.passed++; len(w.page) < site.PageSize {
			w.page = append(w.page, row)
		}
	}
	if w.rows = append(w.rows, row); len(w.rows) == site.RowsPerBlock {
		return w.writeBlock()
	}
	return nil
}

// end writes the last block, and the page that answers a request without a filter. Any other is a scan.
func (w *allowWriter) end() error {
	if len(w.rows) > 0 {
		if err := w.writeBlock(); err != nil {
			return err
		}
	}
	return addList(bare("allow", "").Key(), encode.Framing{}, w.page,
		site.NewPaginationMeta(w.passed, 1, site.PageSize), w.add)
}

func (w *allowWriter) writeBlock() error {
	err := addList(routes.AllowKey(w.block), encode.Framing{}, w.rows, site.TotalMeta{Total: int64(w.total)}, w.add)
	w.block, w.rows = w.block+1, w.rows[:0]
	return err
}
