package main

import (
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"tollbook/.ci/recompute/advice"
	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/snapshot"
)

func init() {
	recomputations = append(recomputations, recomputeRisk)
	addInputs("v1/services/{slug}.json", "what a site or a registry answered, or a sentence about other figures",
		`data.assessment.risk.flags[].evidence data.assessment.site.checked_at data.assessment.domain.registrar
		data.assessment.domain.created_date data.assessment.domain.checked_at`)
}

const riskRule = "methodology, Risk"

// riskLevels are the levels, the worst first.
var riskLevels = []string{"danger", "warning", "clean"}

// riskFlag is a risk of a service.
type riskFlag struct{ code, level string }

// recomputeRisk recomputes the flags of each service, its level, and what its endpoints and its domain contribute.
func recomputeRisk(d *directory, r *snapshot.Report) {
	for _, s := range d.services {
		advice.Recompute(r, s.detail)
		compareDivergence(r, s)
		compareSite(r, s)
		r.Figure(riskRule, s.detail.At("assessment", "domain", "free_host"), isFreeHost(hostOf(s)))
		flags := riskFlags(d, s)
		risk := s.detail.At("assessment", "risk")
		r.Figure(riskRule, risk.Get("level"), riskLevel(flags))
		items := risk.Get("flags").Items()
		if len(items) != len(flags) {
			r.Compare(riskRule, risk.Get("flags"), snapshot.Describe(risk.Get("flags").Value),
				snapshot.Describe(make([]any, len(flags))))
			continue
		}
		for i, item := range items {
			r.Figure(riskRule, item.Get("code"), flags[i].code)
			r.Figure(riskRule, item.Get("title"), flagTitle(d, flags[i].code))
			r.Figure(riskRule, item.Get("level"), flags[i].level)
		}
		if len(items) == 0 {
			r.Compare(riskRule, risk.Get("flags"), "[]", "[]")
		}
	}
}

// flagTitle returns the title of a flag in the methodology.
func flagTitle(d *directory, code string) string {
	_, section, _ := strings.Cut(string(d.snap.Bytes["methodology.md"]), "\n## Risk\n")
	title, _, _ := strings.Cut(conformance.TableCell(section, code), " | ")
	return title
}

// riskReason returns the title of the first flag, nil if the level is clean.
func riskReason(d *directory, s *service) any {
	flags := riskFlags(d, s)
	if riskLevel(flags) == "clean" {
		return nil
	}
	return flagTitle(d, flags[0].code)
}

// canBePaid reports whether money sent to the service would arrive: some row of the judged responses is usable, or none
// names an unpayable recipient, and no recipient keeps changing.
func canBePaid(d *directory, s *service) bool {
	usable := false
	for _, p := range conformance.Graded(s.probed()) {
		usable = usable || p.Terms.Envelope != nil &&
			slices.ContainsFunc(p.Terms.Envelope.Rows, func(r conformance.Row) bool { return r.Usable() })
	}
	return (usable || !namesUnpayable(s)) && !isUnstable(d, s)
}

// riskLevel returns the worst level of the flags.
func riskLevel(flags []riskFlag) string {
	if len(flags) == 0 {
		return "clean"
	}
	return flags[0].level
}

// riskFlags returns the flags of a service, the worst first, otherwise in the order of the methodology.
func riskFlags(d *directory, s *service) []riskFlag {
	var list []riskFlag
	add := func(raised bool, code, level string) {
		if raised {
			list = append(list, riskFlag{code, level})
		}
	}
	detail, assessment := s.detail, s.detail.Get("assessment")
	add(namesUnpayable(s), "unpayable_recipient", "danger")
	add(isUnstable(d, s), "pay_to_unstable", "danger")
	replaced := func(n snapshot.Node) bool { return n.Get("old_pay_to").HasValue() && n.Get("new_pay_to").HasValue() }
	changes := detail.Get("pay_to_changes").Items()
	if i := slices.IndexFunc(changes, replaced); i >= 0 {
		age := d.now.Sub(changes[i].Get("observed_at").Time())
		add(age < 7*snapshot.Day, "pay_to_changed", "danger")
		add(age >= 7*snapshot.Day && age < 30*snapshot.Day, "pay_to_changed", "warning")
	}
	add(slices.ContainsFunc(detail.Get("endpoints").Items(), func(n snapshot.Node) bool {
		return n.Get("pay_to_divergence").HasValue()
	}), "pay_to_divergence", "warning")
	add(isOutlier(d, s), "price_outlier", "warning")
	add(detail.Get("status").Text() == "offline", "probe_failing", "warning")
	add(strings.HasPrefix(detail.Get("base_url").Text(), "http://"), "plain_http", "warning")
	add(isTestnetOnly(s), "testnet_only", "warning")
	add(assessment.At("traction", "concentrated_volume").Bool(), "concentrated_volume", "warning")
	age := assessment.At("domain", "age_days")
	add(age.HasValue() && age.Int() < 30, "young_domain", "warning")
	isFree := isFreeHost(hostOf(s))
	add(isFree, "free_host", "warning")
	add(!isFree && isPrivateSuffix(hostOf(s)), "free_host", "clean")
	slices.SortStableFunc(list, func(a, b riskFlag) int {
		return slices.Index(riskLevels, a.level) - slices.Index(riskLevels, b.level)
	})
	return list
}

// namesUnpayable reports whether a row of the judged responses names a recipient at which money would be lost.
func namesUnpayable(s *service) bool {
	for _, p := range conformance.Graded(s.probed()) {
		if p.Terms.Envelope != nil && slices.ContainsFunc(p.Terms.Envelope.Rows, func(r conformance.Row) bool {
			return r.IsUnpayable()
		}) {
			return true
		}
	}
	return false
}

// isUnstable reports whether the recipient of one endpoint on one network changed at two times within 7 days.
func isUnstable(d *directory, s *service) bool {
	times := map[[2]string]time.Time{}
	for _, n := range s.detail.Get("pay_to_changes").Items() {
		at, where := n.Get("observed_at").Time(), [2]string{n.Get("network_caip2").Text(), n.Get("endpoint").Text()}
		if d.now.Sub(at) >= 7*snapshot.Day {
			continue
		}
		if before, ok := times[where]; ok && !before.Equal(at) {
			return true
		}
		times[where] = at
	}
	return false
}

// isOutlier reports whether the lowest price is at least 50 times the median of the category.
func isOutlier(d *directory, s *service) bool {
	price := func(s *service) *big.Rat { return s.detail.At("assessment", "economics", "price_usd").Number() }
	var prices []*big.Rat
	for _, other := range d.services {
		if other.detail.Get("category").Text() == s.detail.Get("category").Text() && price(other) != nil {
			prices = append(prices, price(other))
		}
	}
	if len(prices) < 5 || price(s) == nil {
		return false
	}
	slices.SortFunc(prices, (*big.Rat).Cmp)
	median := prices[len(prices)/2]
	return median.Sign() > 0 && price(s).Cmp(new(big.Rat).Mul(median, big.NewRat(50, 1))) >= 0
}

// isTestnetOnly reports whether there are payment options and all are on test networks.
func isTestnetOnly(s *service) bool {
	options := 0
	for _, endpoint := range s.detail.Get("endpoints").Items() {
		for _, p := range conformance.Counted(endpoint) {
			if n, ok := conformance.LookupNetwork(p.Get("network_caip2").Text()); !ok || n.Mainnet {
				return false
			}
			options++
		}
	}
	return options > 0
}

// compareSite compares which documents a site has with the answers about them.
func compareSite(r *snapshot.Report, s *service) {
	site := s.detail.At("assessment", "site")
	for _, document := range []string{"homepage", "openapi", "pricing", "llms_txt", "robots", "terms"} {
		r.Figure(riskRule, site.Get(document), documentExists(s, document))
	}
}

// documentExists combines the answers about one document: true if one says so, nil if it is unknown.
func documentExists(s *service, document string) (state any) {
	for _, answer := range s.evidence.Get("site_answers").Items() {
		if answer.Get("document").Text() != document {
			continue
		}
		switch exists := answer.Get("exists").Value; {
		case exists == true:
			return true
		case state == nil:
			state = exists
		case exists == nil:
			state = nil
		}
	}
	return state
}

// hostOf returns the name of a service's host.
func hostOf(s *service) string {
	u, err := url.Parse(s.detail.Get("base_url").Text())
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// isFreeHost reports whether a host is on the list of free hosts, or below one.
func isFreeHost(host string) bool {
	for host != "" {
		if conformance.Tables.FreeHosts[host] {
			return true
		}
		_, host, _ = strings.Cut(host, ".")
	}
	return false
}

// isPrivateSuffix reports whether a host is below a suffix in the private part of the public suffix list.
func isPrivateSuffix(host string) bool {
	suffix, official := publicsuffix.PublicSuffix(host)
	return !official && strings.Contains(suffix, ".") && suffix != host
}

// compareDivergence compares which endpoints pay another recipient than most endpoints on their network.
func compareDivergence(r *snapshot.Report, s *service) {
	endpoints := s.detail.Get("endpoints").Items()
	votes, total := map[conformance.Account]int{}, map[string]int{}
	for _, n := range endpoints {
		networks := map[string]bool{}
		for at := range recipientsIn(conformance.X402(n)) {
			votes[at]++
			networks[at.Network] = true
		}
		for network := range networks {
			total[network]++
		}
	}
	for _, n := range endpoints {
		r.Figure(riskRule, n.Get("pay_to_divergence"), divergence(n, votes, total))
	}
}

// divergence returns on which network an endpoint pays others than the recipient of most endpoints, nil for none.
func divergence(endpoint snapshot.Node, votes map[conformance.Account]int, total map[string]int) any {
	observed := map[string][]string{}
	for at := range recipientsIn(conformance.X402(endpoint)) {
		observed[at.Network] = append(observed[at.Network], at.Address)
	}
	var networks []string
	for network := range observed {
		networks = append(networks, network)
	}
	slices.Sort(networks)
	for _, network := range networks {
		usual := majorityRecipient(network, votes, total[network])
		if usual == "" || slices.Contains(observed[network], usual) {
			continue
		}
		slices.Sort(observed[network])
		for i, address := range observed[network] {
			observed[network][i] = conformance.PublishedAddress(network, address)
		}
		return map[string]any{"network_caip2": network,
			"expected": []string{conformance.PublishedAddress(network, usual)},
			"observed": observed[network], "first_seen_at": endpoint.At("pay_to_divergence", "first_seen_at")}
	}
	return nil
}

// majorityRecipient returns the recipient that most of three or more endpoints on a network name, "" for none.
func majorityRecipient(network string, votes map[conformance.Account]int, endpoints int) string {
	usual, most := "", 0
	for at, n := range votes {
		if at.Network == network && endpoints >= 3 && 2*n > endpoints &&
			(n > most || n == most && at.Address < usual) {
			usual, most = at.Address, n
		}
	}
	return usual
}
