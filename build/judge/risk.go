package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/invisible"
	"tollbook/site/rail"
	"tollbook/site/x402"
)

// riskTitles has a few words for each code of a risk flag. The methodology defines the same codes in the same words.
var riskTitles = map[string]string{
	"concentrated_volume":   "Few buyers pay nearly everything",
	"free_host":             "Free hosting or tunnel",
	"pay_to_changed":        "Recipient changed",
	"pay_to_divergence":     "Endpoints name different recipients",
	"pay_to_unstable":       "Recipient keeps changing",
	"plain_http":            "Not encrypted",
	"price_outlier":         "Unusually high price",
	"probe_failing":         "Offline",
	"recipient_claimed":     "Others name its account",
	"recipient_foreign":     "Names another's account",
	"terms_conflict":        "Two terms for one request",
	"terms_differ_by_place": "Other terms from another place",
	"terms_elsewhere":       "Terms name another site",
	"testnet_only":          "Test networks only",
	"unpayable_recipient":   "Payments may be lost",
	"young_domain":          "New domain",
}

// levelOrder lists the risk levels, the most serious first.
var levelOrder = []string{site.RiskDanger, site.RiskWarning, site.RiskClean}

// newRisk collects the risk flags of a service, the most serious first. Its level is that of the first flag. A flag of
// level clean is a hint and does not change it.
func newRisk(b *serviceInput, d *site.ServiceDetail, result *complianceResult, pay payability, now time.Time) site.Risk {
	r := site.Risk{Level: site.RiskClean, Flags: []site.RiskFlag{}}
	for _, flag := range []*site.RiskFlag{
		flagUnpayable(pay), flagConflict(result.conflicts), flagUnstable(pay),
		flagPayToChanged(d.PayToChanges, now), flagDivergence(d.Endpoints),
		flagOutlier(b.Rank, b.Offer.prices.Lowest, b.Facts.Category),
		flagFailing(d), flagPlainHTTP(b.Facts.BaseURL), flagTestnet(b.Offer.figures()), flagConcentrated(&b.Traction),
		flagYoung(b.Facts, d.Assessment.Domain), flagFreeHost(b.Facts, d.Assessment.Domain),
		flagElsewhere(result.Warnings), flagPlaces(b.Facts), flagForeign(b.Foreign), flagClaimed(b.Claimed),
	} {
		if flag != nil {
			r.Flags = append(r.Flags, *flag)
		}
	}
	slices.SortStableFunc(r.Flags, func(a, b site.RiskFlag) int {
		return cmp.Compare(slices.Index(levelOrder, a.Level), slices.Index(levelOrder, b.Level))
	})
	if len(r.Flags) > 0 {
		r.Level = r.Flags[0].Level
	}
	return r
}

// newFlag returns a flag with evidence in words.
func newFlag(level, code, evidence string, args ...any) *site.RiskFlag {
	return &site.RiskFlag{Level: level, Code: code, Evidence: fmt.Sprintf(evidence, args...), Title: riskTitles[code]}
}

// flagUnpayable flags rows whose recipients are unpayable. The evidence names the first.
func flagUnpayable(pay payability) *site.RiskFlag {
	if len(pay.unpayable) == 0 {
		return nil
	}
	more := ""
	if n := len(pay.unpayable) - 1; n > 0 {
		more = "; and " + display.PlainPlural(int64(n), "more row", "more rows")
	}
	return newFlag(site.RiskDanger, "unpayable_recipient", "%s%s", pay.unpayable[0], more)
}

// flagUnstable flags a recipient that keeps changing.
func flagUnstable(pay payability) *site.RiskFlag {
	if pay.unstable == "" {
		return nil
	}
	return newFlag(site.RiskDanger, "pay_to_unstable", "%s", pay.unstable)
}

// A changed recipient is a danger for changedDangerDays, then a warning until changedWarningDays.
const (
	changedDangerDays  = 7
	changedWarningDays = 30
)

// flagPayToChanged flags a recent replacement of a recipient on a network. The evidence names the newest one. A
// recipient beside others is no replacement.
func flagPayToChanged(changes []site.PayToChange, now time.Time) *site.RiskFlag {
	i := slices.IndexFunc(changes, site.PayToChange.IsReplacement)
	if i < 0 {
		return nil
	}
	level, c := site.RiskDanger, changes[i]
	switch {
	case !now.Before(c.ObservedAt.Add(changedWarningDays * 24 * time.Hour)):
		return nil
	case !now.Before(c.ObservedAt.Add(changedDangerDays * 24 * time.Hour)):
		level = site.RiskWarning
	}
	return newFlag(level, "pay_to_changed", "the recipient of %s on %s changed to %s on %s; it was %s", c.Endpoint,
		networkName(c.NetworkCAIP2), *c.NewPayTo, minuteOf(c.ObservedAt), *c.OldPayTo)
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
	return newFlag(site.RiskWarning, "probe_failing", "%d visits in a row failed", d.ConsecutiveFailures)
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

// flagElsewhere flags terms that are those of another site: the URL of their resource, or the realm of a challenge, is
// on another registrable domain.
func flagElsewhere(warnings []x402.Warning) *site.RiskFlag {
	for _, w := range warnings {
		switch w.Code {
		case x402.ResourceElsewhere:
			return newFlag(site.RiskWarning, "terms_elsewhere", "%s names the resource %s", w.Endpoint,
				invisible.Replace(w.Detail))
		case rail.RealmElsewhere:
			return newFlag(site.RiskWarning, "terms_elsewhere", "%s names the realm %s", w.Endpoint,
				invisible.Replace(w.Detail))
		}
	}
	return nil
}

// naming says that services of two operators name an account.
type naming struct {
	network, payTo string
	by             string    // slug of the other service
	since          time.Time // the UTC day on which the other operator named the account first
	isShared       bool      // what is paid there today is divided between them
}

// flagForeign flags a service that names an account after another operator did. The evidence names the first account.
func flagForeign(n *naming) *site.RiskFlag {
	if n == nil {
		return nil
	}
	counted := "nothing is counted"
	if n.isShared {
		counted = "what is paid there is divided"
	}
	return newFlag(site.RiskWarning, "recipient_foreign", "it names an account that %s named before, since %s: %s on %s; %s",
		n.by, n.since.Format(time.DateOnly), n.payTo, networkName(n.network), counted)
}

// flagClaimed tells readers of a service that another operator named its account later.
func flagClaimed(n *naming) *site.RiskFlag {
	if n == nil {
		return nil
	}
	counted := ""
	if n.isShared {
		counted = "; what is paid there is divided"
	}
	return newFlag(site.RiskClean, "recipient_claimed", "%s names its account %s on %s, too, since %s%s", n.by, n.payTo,
		networkName(n.network), n.since.Format(time.DateOnly), counted)
}
