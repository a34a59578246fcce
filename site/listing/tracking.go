package listing

import (
	"slices"
	"strings"
)

// trackingParameters are query parameters that say who links to a page and change nothing of it. A name that ends in *
// stands for all that begin with it. They are those that browsers remove (Firefox "query-stripping" list, Brave
// "query-filter") and the ones that lists add to their own links.
var trackingParameters = []string{"utm_*", "ref", "ref_src", "ref_source", "referrer", "referer",
	"fbclid", "gclid", "gbraid", "wbraid", "dclid", "msclkid", "yclid", "twclid", "ttclid", "igshid", "igsh", "li_fat_id",
	"mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking", "oly_anon_id",
	"oly_enc_id", "vero_id", "wickedid", "_openstat", "__s", "_ga", "_gl", "s_cid", "rb_clickid", "trk"}

// WithoutTracking returns a URL without query parameters that only say who links to it. The others keep their form and
// order.
func WithoutTracking(address string) string {
	base, query, ok := strings.Cut(address, "?")
	if !ok {
		return address
	}
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(strings.ToLower(pair), "=")
		if pair != "" && !slices.ContainsFunc(trackingParameters, func(p string) bool {
			prefix, isPrefix := strings.CutSuffix(p, "*")
			return name == p || isPrefix && strings.HasPrefix(name, prefix)
		}) {
			kept = append(kept, pair)
		}
	}
	if len(kept) == 0 {
		return base
	}
	return base + "?" + strings.Join(kept, "&")
}
