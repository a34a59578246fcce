package judge

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"tollbook/site"
)

// newRisk collects reasons for care; the level is the worst among them. A flag of level clean is a hint that weighs
// nothing.
func newRisk(b *serviceInput, d *site.ServiceDetail, a site.Assessment, now time.Time) site.Risk {
	r := site.Risk{Level: site.RiskClean, Flags: []site.RiskFlag{}}
	for _, flag := range []*site.RiskFlag{
		flagPayToChanged(d.PayToChanges, now), flagDivergence(d.Endpoints), b.Rank.Outlier,
		flagFailing(d), flagPlainHTTP(b.Facts.BaseURL), flagTestnet(b.Offer), flagConcentrated(&a.Traction),
	} {
		if flag != nil {
			r.Flags = append(r.Flags, *flag)
		}
	}
	r.Flags = append(r.Flags, domainFlags(b.Facts, a.Domain)...)
	for _, g := range r.Flags {
		if g.Level == site.RiskDanger || r.Level == site.RiskClean {
			r.Level = g.Level
		}
	}
	return r
}

func newFlag(level, code, evidence string, args ...any) *site.RiskFlag {
	return &site.RiskFlag{Level: level, Code: code, Evidence: fmt.Sprintf(evidence, args...)}
}

// A moved recipient is a danger for so many days, then a warning until so many.
const (
	changedDangerDays  = 7
	changedWarningDays = 30
)

// flagPayToChanged: a recipient of an endpoint on a network became another one, of late. The newest move, which is the
// first, is told.
func flagPayToChanged(changes []site.PayToChange, now time.Time) *site.RiskFlag {
	if len(changes) == 0 {
		return nil
	}
	level, c := site.RiskDanger, changes[0]
	switch {
	case !now.Before(c.ObservedAt.Add(changedWarningDays * 24 * time.Hour)):
		return nil
	case !now.Before(c.ObservedAt.Add(changedDangerDays * 24 * time.Hour)):
		level = site.RiskWarning
	}
	return newFlag(level, "pay_to_changed", "%s is paid at %s since %s, before at %s", c.Endpoint, c.NewPayTo,
		c.ObservedAt, c.OldPayTo)
}

// flagDivergence: an endpoint is paid elsewhere than most of its siblings (see divergence). The first is told.
func flagDivergence(endpoints []site.Endpoint) *site.RiskFlag {
	for _, e := range endpoints {
		if v := e.PayToDivergence; v != nil {
			return newFlag(site.RiskWarning, "pay_to_divergence", "%s %s is paid at %s, its siblings at %s", e.Method,
				e.Path, strings.Join(v.Observed, ", "), v.Expected[0])
		}
	}
	return nil
}

// outlierFactor is how many times the median of its category a lowest price must be to stand out, outlierServices how
// many priced services a category must have to have a median worth the name.
const (
	outlierFactor   = 50
	outlierServices = 5
)

// flagOutlier: the lowest price is outlierFactor times the median of the category's lowest prices or more. Nothing is
// so many times nothing.
func flagOutlier(of *priceList, lowest *site.Decimal, category string) *site.RiskFlag {
	if lowest == nil || of.services < outlierServices || of.median == "0" || lowest.Compare(of.outlier) < 0 {
		return nil
	}
	return newFlag(site.RiskWarning, "price_outlier", "the lowest price is $%s, the median of %s is $%s", *lowest,
		category, of.median)
}

// multiply is n times d, exactly; "" where d is no number.
func multiply(d site.Decimal, n int64) site.Decimal {
	r, ok := new(big.Rat).SetString(string(d))
	if !ok {
		return ""
	}
	_, frac, _ := strings.Cut(string(d), ".")
	product, err := site.ParseDecimal(r.Mul(r, new(big.Rat).SetInt64(n)).FloatString(len(frac)))
	if err != nil {
		return "" // never of what is not negative
	}
	return product
}

// flagFailing: the service is offline (see status).
func flagFailing(d *site.ServiceDetail) *site.RiskFlag {
	if d.Status != site.StatusOffline {
		return nil
	}
	return newFlag(site.RiskWarning, "probe_failing", "%d visits in a row found nothing that answers",
		d.ConsecutiveFailures)
}

// flagPlainHTTP: the base address is http.
func flagPlainHTTP(base string) *site.RiskFlag {
	if !strings.HasPrefix(base, "http://") {
		return nil
	}
	return newFlag(site.RiskWarning, "plain_http", "requests and payments to %s travel unencrypted", base)
}

// flagTestnet: there are prices, and all of them are on test networks.
func flagTestnet(o *offer) *site.RiskFlag {
	if !o.testnet {
		return nil
	}
	return newFlag(site.RiskWarning, "testnet_only", "every price is on a test network")
}
