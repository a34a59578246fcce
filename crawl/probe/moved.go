package probe

import (
	"net/http"
	"net/url"

	"golang.org/x/net/publicsuffix"

	"tollbook/site/listing"
)

// isPermanent reports whether a redirect says that its target is the new address.
func isPermanent(status int) bool {
	return status == http.StatusMovedPermanently || status == http.StatusPermanentRedirect
}

// movedHost returns the host that a resource moved to, with its port unless that is the scheme's own. It returns "" if
// the host stayed, or if the path or query changed too. It also returns "" if the hosts may have different owners: they
// have no common registrable domain, or that domain hosts sites of others.
func movedHost(from, to *url.URL) string {
	if from.Hostname() == to.Hostname() || from.EscapedPath() != to.EscapedPath() || from.RawQuery != to.RawQuery ||
		(listing.FreeHosts{}).Has(to.Hostname()) {
		return ""
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(to.Hostname())
	if err != nil {
		return ""
	}
	if before, err := publicsuffix.EffectiveTLDPlusOne(from.Hostname()); err != nil || before != domain {
		return ""
	}
	return to.Host
}
