package conformance

import (
	"cmp"
	"math/big"
	"net/url"
	"slices"
	"strings"

	"tollbook/.ci/recompute/snapshot"
)

// warning is an observation that no check counts.
type warning struct {
	code, endpoint string // the endpoint is "" if it concerns the whole service
	row            int    // index in accepts, -1 if it concerns the whole response
}

// maxWarnings is the largest number of warnings that are published of a service.
const maxWarnings = 200

// Warn returns the warnings of the graded endpoints, by code, endpoint and row.
func Warn(judged []*Probed) []warning {
	var list []warning
	rows, test := 0, 0
	for _, p := range judged {
		for _, code := range p.warnings() {
			list = append(list, warning{code, p.name, -1})
		}
		if p.Terms.Envelope == nil {
			continue
		}
		for at, n := range brokenRules(p.Terms.Envelope) {
			for range n {
				list = append(list, warning{"schema_invalid", p.name, at})
			}
		}
		for i := range p.Terms.Envelope.Rows {
			r := &p.Terms.Envelope.Rows[i]
			for _, code := range r.warnings(p.declared) {
				list = append(list, warning{code, p.name, i})
			}
			rows++
			if n, ok := LookupNetwork(r.Network); ok && !n.Mainnet {
				test++
			}
		}
	}
	if rows > 0 && test == rows {
		list = append(list, warning{"testnet_only", "", -1})
	}
	slices.SortStableFunc(list, func(a, b warning) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.endpoint, b.endpoint), cmp.Compare(a.row, b.row))
	})
	return list
}

// warnings returns the warnings about a response as a whole.
func (p *Probed) warnings() (codes []string) {
	if p.headFree {
		codes = append(codes, "head_free")
	}
	e := p.Terms.Envelope
	if e == nil {
		return codes
	}
	addresses := p.where()
	if named := resourceURL(e); named != "" && !isSameResource(named, addresses[len(addresses)-1]) {
		codes = append(codes, "resource_url_mismatch")
	}
	if !bazaarIsValid(e) {
		codes = append(codes, "bazaar_invalid")
	}
	return codes
}

// resourceURL returns the URL of the resource, from the envelope or from the first row that has it.
func resourceURL(e *envelope) string {
	places := []object{e.object}
	for _, r := range e.Rows {
		places = append(places, r.members)
	}
	for _, place := range places {
		switch value := place["resource"].(type) {
		case string:
			return strings.TrimSpace(value)
		case object:
			text, _ := value["url"].(string)
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// isSameResource compares scheme, host and path. A URL without scheme and host is compared by its path.
func isSameResource(a, b string) bool {
	x, err1 := url.Parse(a)
	y, err2 := url.Parse(b)
	if err1 != nil || err2 != nil {
		return false
	}
	if y.Fragment != "" && x.Scheme == "mcp" {
		return x.Host+x.Path == "tool/"+y.Fragment
	}
	samePath := strings.TrimSuffix(x.EscapedPath(), "/") == strings.TrimSuffix(y.EscapedPath(), "/")
	sameOrigin := strings.EqualFold(x.Scheme, y.Scheme) && strings.EqualFold(x.Host, y.Host)
	return samePath && (sameOrigin || x.Scheme == "" && x.Host == "")
}

// bazaarIsValid reports whether the bazaar extension, if there is one, has info.input and no bad template of a path.
func bazaarIsValid(e *envelope) bool {
	places := []object{e.object}
	for _, r := range e.Rows {
		places = append(places, r.members)
	}
	for _, place := range places {
		extensions, _ := place["extensions"].(object)
		if extensions["bazaar"] == nil {
			continue
		}
		bazaar, _ := extensions["bazaar"].(object)
		info, _ := bazaar["info"].(object)
		_, hasInput := info["input"].(object)
		template, _ := bazaar["routeTemplate"].(string)
		return hasInput && (template == "" || isTemplate(template))
	}
	return true
}

func isTemplate(text string) bool {
	plain, err := url.PathUnescape(text)
	return err == nil && len(text) <= 512 && matchesWhole(`/[a-zA-Z0-9_/:.\-~%]+`, text) &&
		!strings.Contains(plain, "..") && !strings.Contains(plain, "://")
}

// warnings returns the warnings about a row. The declared price may be nil.
func (r *Row) warnings(declared *big.Rat) (codes []string) {
	namespace := NamespaceOf(r.Network)
	if r.Scheme == "exact" && namespace == "solana" && r.text("feePayer") == "" {
		codes = append(codes, "svm_feepayer_missing")
	}
	if r.Scheme == "upto" && namespace == "eip155" && r.text("facilitatorAddress") == "" {
		codes = append(codes, "upto_facilitator_missing")
	}
	if r.isIssued() && CheckAccount(r.Network, r.issuer()) != "" {
		codes = append(codes, "xrpl_issuer_missing")
	}
	if r.Timeout != nil && (*r.Timeout < 5 || *r.Timeout > 3600) && r.Scheme != "batch-settlement" &&
		r.text("name") != gatewayName {
		codes = append(codes, "timeout_out_of_range")
	}
	if price := r.Dollars(); declared != nil && price != nil && !r.variable() && price.Cmp(declared) > 0 {
		codes = append(codes, "price_above_openapi")
	}
	for _, fault := range []addressFault{CheckAccount(r.Network, r.PayTo), checkAsset(r.Network, r.Asset)} {
		if fault == faultChecksum {
			codes = append(codes, "checksum_bad")
		}
	}
	return codes
}

// CompareWarnings compares the warnings with their meanings in the methodology.
func CompareWarnings(r *snapshot.Report, e snapshot.Node, methodology string, list []warning) {
	const rule = "methodology, Warnings outside the grade"
	r.Figure(rule, e.Get("warning_count"), len(list))
	items := e.Get("warnings").Items()
	if len(items) != min(len(list), maxWarnings) {
		r.Compare(rule, e.Get("warnings"), snapshot.Describe(e.Get("warnings").Value),
			snapshot.Describe(make([]any, len(list))))
		return
	}
	if len(list) == 0 {
		r.Compare(rule, e.Get("warnings"), "[]", "[]")
	}
	for i, item := range items {
		w := list[i]
		r.Figure(rule, item.Get("code"), w.code)
		meaning := item.Get("meaning").Text()
		cell := TableCell(methodology, w.code)
		r.Figure(rule, item.Get("meaning"), cell[:min(len(meaning), len(cell))])
		r.Figure(rule, item.Get("endpoint"), snapshot.TextOrNull(w.endpoint))
		if w.row < 0 {
			r.Figure(rule, item.Get("row"), nil)
		} else {
			r.Figure(rule, item.Get("row"), w.row)
		}
	}
}

// TableCell returns the second cell of the table's line that begins with a code.
func TableCell(page, code string) string {
	_, line, _ := strings.Cut(page, "\n| `"+code+"` | ")
	line, _, _ = strings.Cut(line, " |\n")
	return line
}
