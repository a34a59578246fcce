package rail

import (
	"net/url"
	"slices"
	"strings"

	"tollbook/site/x402"
)

// The codes of warnings, which count in no grade. They are stored and published: never rename one.
const (
	warnNoExpiry   = "mpp_no_expiry"
	warnRealm      = "mpp_realm"
	RealmElsewhere = "mpp_realm_elsewhere"
)

var warningCodes = []x402.WarningCode{
	{Code: warnNoExpiry, Meaning: "A challenge Payment has no expires, so a client cannot tell for how long it is valid."},
	{Code: warnRealm, Meaning: "The realm of a challenge Payment names another host than the one requested."},
	{Code: RealmElsewhere, Meaning: "The realm of a challenge Payment names a host on another registrable domain."},
}

// WarningCodes returns every code with its meaning, in the order of the codes.
func WarningCodes() []x402.WarningCode { return slices.Clone(warningCodes) }

// Warnings returns the warnings about offers, each code once for an endpoint, in the order of the offers.
func Warnings(offers []Listed) (list []x402.Warning) {
	for _, o := range offers {
		for _, w := range o.warnings {
			w.Endpoint = o.Endpoint
			if !slices.ContainsFunc(list, func(old x402.Warning) bool {
				return old.Code == w.Code && old.Endpoint == w.Endpoint && old.Detail == w.Detail
			}) {
				list = append(list, w)
			}
		}
	}
	return list
}

func (o *Offer) warn(code, detail string) {
	o.warnings = append(o.warnings, x402.Warning{Code: code, Detail: detail})
}

// checkRealm compares a realm that is a host, with or without a port, or a URL with the host that was asked. Any other
// realm is only a name.
func (o *Offer) checkRealm(a Answer, realm string) {
	asked, err := url.Parse(a.URL)
	if err != nil {
		return
	}
	text := realm
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	named, err := url.Parse(text)
	if err != nil || !strings.ContainsAny(named.Hostname(), ".:") || strings.ContainsAny(named.Hostname(), " ") ||
		strings.EqualFold(strings.TrimSuffix(named.Hostname(), "."), asked.Hostname()) {
		return
	}
	if x402.OnOtherDomain(named.Hostname(), asked.Hostname()) {
		o.warn(RealmElsewhere, clip(realm))
	} else {
		o.warn(warnRealm, clip(realm))
	}
}
