package search

import (
	"fmt"
	"time"

	"tollbook/site"
)

// staleAfter is the age of the last usable payment terms from which a service is stale.
const staleAfter = 7 * 24 * time.Hour

// exclude returns the first reason, as a code and in words, why the facts of a service exclude it; "" for none.
func exclude(f *rankingFacts, w *wanted, now time.Time) (code, reason string) {
	switch {
	case f.RiskLevel == site.RiskDanger:
		return site.ExcludedDanger, "its risk level is danger"
	case f.Status == site.StatusOffline:
		return site.ExcludedOffline, "it is offline"
	case f.Status == site.StatusUnknown:
		return site.ExcludedStale, "its status is unknown: no recent check was conclusive"
	case f.LastSuccessAt == nil:
		return site.ExcludedStale, "it never answered with usable payment terms"
	case now.Sub(f.LastSuccessAt.Time) >= staleAfter:
		return site.ExcludedStale, "its last usable payment terms are 7 days old or older"
	case !f.PaymentReady:
		return site.ExcludedUnpayable, "it is not payment ready: a payment might be lost"
	case w.RequireVerified && !f.Verified:
		return site.ExcludedUnverified, "it is not verified now, which the request requires"
	}
	return excludePrice(f.Price, w, "it", "costs at least")
}

// excludePrice returns why a price excludes a service or its endpoint, the subject that costs this much.
func excludePrice(price *site.Decimal, w *wanted, subject, costs string) (code, reason string) {
	switch {
	case w.MaxPriceUSD == nil:
		return "", ""
	case price == nil:
		return site.ExcludedUnpriced, fmt.Sprintf("%s has no known price in dollars%s", subject, on(w.Network))
	case price.Compare(*w.MaxPriceUSD) > 0:
		return site.ExcludedPrice, fmt.Sprintf("%s %s $%s%s, above $%s", subject, costs, *price, on(w.Network),
			*w.MaxPriceUSD)
	}
	return "", ""
}

// on returns " on " and the network, "" for any network.
func on(network string) string {
	if network == "" {
		return ""
	}
	return " on " + network
}
