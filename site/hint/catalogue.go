package hint

import (
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/rail"
	"tollbook/site/x402"
)

// catalogue is what is documented of a public catalogue: how a resource gets into it, and which rules keep one out.
type catalogue struct {
	name  string // of the source that comes with Tollbook
	how   string
	rules []catalogueRule
}

// catalogueRule is a documented rule of a catalogue.
type catalogueRule struct {
	code     string // published: never rename one
	meaning  string
	document string // URL of its documentation, or of the maintainer's word
	test     func(*Facts) (detail string, broken bool)
}

const bazaarSpec = "https://github.com/x402-foundation/x402/blob/main/specs/extensions/bazaar.md"

// Rules that several catalogues have.
var (
	needsX402 = catalogueRule{"no_x402", "It lists what is paid over x402 alone.", bazaarSpec,
		func(f *Facts) (string, bool) {
			return "", f.Header != nil && f.Captured.Envelope == nil && len(f.Offers) > 0
		}}
	needsMPP  = needsProtocol("no_mpp", "It lists what is paid over MPP alone.", "https://mpp.dev", rail.MPP)
	needsL402 = needsProtocol("no_l402", "It lists what is paid over L402 alone.",
		"https://github.com/lightninglabs/L402", rail.L402)
	needsBazaar = catalogueRule{"bazaar_missing",
		"The terms must have extensions.bazaar, or in version 1 outputSchema in accepts: clients repeat it when they pay, " +
			"and the facilitator lists what was repeated.", bazaarSpec, testBazaarMissing}
	validBazaar = catalogueRule{"bazaar_invalid", "A facilitator must refuse an extension that breaks its specification.",
		bazaarSpec + "#schema-validation", testBazaarInvalid}
)

// facilitatorRules are those of the specification, which every facilitator's catalogue follows.
var facilitatorRules = []catalogueRule{needsX402, needsBazaar, validBazaar}

const firstPayment = "A resource is listed after the first payment that this facilitator settles, if the payment " +
	"repeats extensions.bazaar and resource of the terms."

// catalogues are the public sources that come with Tollbook, by name. SOURCES.md says where each is documented.
var catalogues = []catalogue{
	{"402index", "Endpoints are submitted at 402index.io, or taken from other catalogues.", nil},
	{"anyspend", firstPayment, facilitatorRules},
	{"aurracloud", firstPayment, facilitatorRules},
	{"awesome-x402", "Somebody adds it by a pull request.", nil},
	{"b402", "A resource is listed about 30 seconds after the first payment that B402 settles with extensions.bazaar.",
		facilitatorRules},
	{"bitrefill", firstPayment, facilitatorRules},
	{"cdp", firstPayment + " POST https://api.cdp.coinbase.com/platform/v2/x402/validate says more.",
		slices.Concat(facilitatorRules, []catalogueRule{
			{"resource_missing", "The payment must name the resource, which clients copy from resource.url of the terms.",
				"https://github.com/x402-foundation/x402/issues/2691", testResourceMissing},
			{"bare_refused", "Its crawler sends a request without input. Any answer but 402 keeps the resource out.",
				"https://docs.cdp.coinbase.com/x402/quickstart-for-sellers", testBare},
			{"example_refused", "It sends the declared example. An answer of 400 or 422 keeps the resource out.",
				"https://github.com/x402-foundation/x402/issues/2691", testExample},
			needsNetwork("https://docs.cdp.coinbase.com/x402/network-support", "eip155:8453", "eip155:84532", "eip155:137",
				"eip155:42161", "eip155:480", "eip155:4801", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
				"solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"),
		})},
	{"dexter", firstPayment, facilitatorRules},
	{"fluxa", firstPayment, facilitatorRules},
	{"gold-402", "Somebody adds it by a pull request, and a person picks it.", nil},
	{"l402-directory", "Services are submitted at l402.directory.", []catalogueRule{needsL402}},
	{"l402apps", "Services are submitted at l402apps.com.", []catalogueRule{needsL402}},
	{"mpp-dev", "Somebody adds it to the registry of mpp.dev by a pull request.", []catalogueRule{needsMPP}},
	{"mppscan", "A site is listed once a payment over MPP was seen.", []catalogueRule{needsMPP}},
	{"payai", firstPayment, facilitatorRules},
	{"questflow", firstPayment, facilitatorRules},
	{"relai", firstPayment, facilitatorRules},
	{"satring", "Services are submitted at satring.com.", nil},
	{"ultravioletadao", firstPayment, facilitatorRules},
	{"x402scan", "An origin is registered at x402scan.com/resources/register; facilitators' catalogues are read too.",
		[]catalogueRule{
			needsX402,
			{"version_1", "Its registration accepts version 2 of x402 alone.",
				"https://github.com/Merit-Systems/x402scan/blob/main/docs/DISCOVERY.md", testVersion1},
			{"not_https", "Its registration accepts https alone.",
				"https://github.com/Merit-Systems/x402scan/blob/main/docs/DISCOVERY.md", testNotHTTPS},
			{"input_schema_missing", "Its registration needs a schema of the input, in extensions.bazaar or OpenAPI.",
				"https://github.com/Merit-Systems/x402scan/issues/798", testBazaarMissing},
			{"example_refused", "It sends an example made of the declared schema. An answer of 400 or 422 is refused.",
				"https://github.com/Merit-Systems/x402scan/blob/main/docs/DISCOVERY.md", testExample},
			needsNetwork("https://github.com/Merit-Systems/x402scan/issues/1222", "eip155:8453",
				"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"),
		}},
}

func needsProtocol(code, meaning, document, protocol string) catalogueRule {
	return catalogueRule{code, meaning, document, func(f *Facts) (string, bool) {
		has := func(o rail.Offer) bool { return o.Protocol == protocol }
		return "", f.hasTerms() && !slices.ContainsFunc(f.Offers, has)
	}}
}

// needsNetwork returns the rule of a catalogue that lists resources on some networks alone.
func needsNetwork(document string, networks ...string) catalogueRule {
	return catalogueRule{"network_unsupported", "It supports none of the networks of the terms.", document,
		func(f *Facts) (string, bool) {
			e := f.Captured.Envelope
			if e == nil || len(e.Accepts) == 0 {
				return "", false
			}
			var names []string
			for _, r := range e.Accepts {
				if slices.Contains(networks, r.NetworkCAIP2) {
					return "", false
				}
				if !slices.Contains(names, r.Network) && len(names) < 4 {
					names = append(names, r.Network)
				}
			}
			return strings.Join(names, ", "), true
		}}
}

func testBazaarMissing(f *Facts) (string, bool) {
	e := f.Captured.Envelope
	switch {
	case e == nil, e.Version == 1 && e.HasOutputSchema(), e.Version != 1 && e.HasBazaar():
		return "", false
	case e.Version == 1 && e.HasBazaar():
		return "the terms are of version 1, in which extensions.bazaar is not read", true
	}
	return "", true
}

func testBazaarInvalid(f *Facts) (string, bool) { return bazaarFault(f, false) }

// testBazaarSoft is the test of a hint: the resource is listed, without the field.
func testBazaarSoft(f *Facts) (string, bool) { return bazaarFault(f, true) }

// bazaarFault returns the faults of one kind in the bazaar extension, at most three.
func bazaarFault(f *Facts, soft bool) (string, bool) {
	if e := f.Captured.Envelope; e == nil || e.Version == 1 {
		return "", false
	}
	var list []string
	for _, fault := range x402.CheckBazaar(f.Captured.Envelope) {
		if fault.Soft == soft && len(list) < 3 {
			list = append(list, fault.Detail)
		}
	}
	return strings.Join(list, "; "), len(list) > 0
}

func testResourceMissing(f *Facts) (string, bool) {
	e := f.Captured.Envelope
	return "", e != nil && e.Resource.URL == ""
}

func testVersion1(f *Facts) (string, bool) {
	e := f.Captured.Envelope
	return "", e != nil && e.Version == 1
}

func testNotHTTPS(f *Facts) (string, bool) {
	return "", f.hasTerms() && !strings.HasPrefix(f.URL, "https://")
}

// Catalogues returns the names of the catalogues whose rules are known.
func Catalogues() (list []string) {
	for _, c := range catalogues {
		list = append(list, c.name)
	}
	return list
}

// OwnRules returns the names of the catalogues that document rules of their own, beside those of a protocol.
func OwnRules() []string { return []string{"cdp", "x402scan"} }

// HowListed returns how a resource gets into a catalogue, "" if that is not known.
func HowListed(name string) string { return catalogueOf(name).how }

func catalogueOf(name string) catalogue {
	for _, c := range catalogues {
		if c.name == name {
			return c
		}
	}
	return catalogue{}
}

// BrokenRules returns the documented rules of a catalogue that an endpoint breaks, as far as its answers show.
func BrokenRules(name string, f *Facts) []site.CatalogueRule {
	list := []site.CatalogueRule{}
	for _, r := range catalogueOf(name).rules {
		if detail, broken := r.test(f); broken {
			list = append(list, site.CatalogueRule{Code: r.code, Meaning: r.meaning, Document: r.document,
				Detail: invisible.ReplaceOrNull(invisible.Clip(detail, maxDetail))})
		}
	}
	return list
}
