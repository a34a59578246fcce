package judge

import (
	"fmt"
	"strings"
	"time"

	"tollbook/build/judge/price"
	"tollbook/site"
)

// newRisk collects the risk flags of a service. Its level is the worst level of a flag. A flag of level clean is a hint
// and does not count.
func newRisk(b *serviceInput, d *site.ServiceDetail, a site.Assessment, now time.Time) site.Risk {
	r := site.Risk{Level: site.RiskClean, Flags: []site.RiskFlag{}}
	for _, flag := range []*site.RiskFlag{
		flagPayToChanged(d.PayToChanges, now), flagDivergence(d.Endpoints),
		flagOutlier(b.Rank, b.Offer.prices.Lowest, b.Facts.Category),
		flagFailing(d), flagPlainHTTP(b.Facts.BaseURL), flagTestnet(&b.Offer.prices), flagConcentrated(&a.Traction),
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

// newFlag returns a flag with evidence in words.
func newFlag(level, code, evidence string, args ...any) *site.RiskFlag {
	return &site.RiskFlag{Level: level, Code: code, Evidence: fmt.Sprintf(evidence, args...)}
}

// A changed recipient is a danger for changedDangerDays, then a warning until changedWarningDays.
const (
	changedDangerDays  = 7
	changedWarningDays = 30
)

// flagPayToChanged flags a recent change of a recipient on a network. The evidence names the newest change, which is
// the first.
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
	return newFlag(level, "pay_to_changed", "the recipient of %s changed to %s at %s; it was %s",
		c.Endpoint, c.NewPayTo, c.ObservedAt, c.OldPayTo)
}

// flagDivergence flags the first endpoint that pays another recipient than most endpoints of its service (see
// findDivergence).
func flagDivergence(endpoints []site.Endpoint) *site.RiskFlag {
	for _, e := range endpoints {
		if v := e.PayToDivergence; v != nil {
			return newFlag(site.RiskWarning, "pay_to_divergence",
				"%s %s names recipient %s, most other endpoints name %s", e.Method,
				e.Path, strings.Join(v.Observed, ", "), v.Expected[0])
		}
	}
	return nil
}

// flagOutlier flags a lowest price that is an outlier in its category.
func flagOutlier(r price.Rank, lowest *site.Decimal, category string) *site.RiskFlag {
	if r.Outlier == nil {
		return nil
	}
	return newFlag(site.RiskWarning, "price_outlier", "the lowest price is $%s, the median of %s is $%s", *lowest,
		category, *r.Outlier)
}

// flagFailing flags an offline service (see serviceStatus).
func flagFailing(d *site.ServiceDetail) *site.RiskFlag {
	if d.Status != site.StatusOffline {
		return nil
	}
	return newFlag(site.RiskWarning, "probe_failing", "%d visits in a row failed",
		d.ConsecutiveFailures)
}

// flagPlainHTTP flags a base URL without encryption.
func flagPlainHTTP(base string) *site.RiskFlag {
	if !strings.HasPrefix(base, "http://") {
		return nil
	}
	return newFlag(site.RiskWarning, "plain_http", "requests and payments to %s travel unencrypted", base)
}

// flagTestnet flags a service all of whose prices are on test networks.
func flagTestnet(o *price.Offer) *site.RiskFlag {
	if !o.IsTestnet() {
		return nil
	}
	return newFlag(site.RiskWarning, "testnet_only", "every price is on a test network")
}
