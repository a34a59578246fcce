package x402

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Rule is one of the 14 compliance checks. Its reasons describe one service; Expected and Mend are the same for all.
type Rule struct {
	ID       string
	Label    string
	Expected string // the requirement of the rule
	Mend     string // how an operator can correct a failure

	test func([]exhibit) string // the first failure, "" when all pass
}

// Rules returns the 14 checks in the order in which they are reported.
func Rules() []Rule { return slices.Clone(rules) }

var rules = []Rule{
	{"payload_captured", "Payment terms found",
		"The endpoint answers 402 or 412 with accepts or x402Version in the PAYMENT-REQUIRED header or the JSON body.",
		"Answer requests without a payment with 402 and the terms in the PAYMENT-REQUIRED header, even to browsers.",
		everyEndpoint(payloadCaptured)},
	{"accepts_present", "Payment options listed",
		"accepts is a list of at least one object.",
		"Send accepts as a list, even for a single payment option.",
		everyEndpoint(acceptsPresent)},
	{"payto_recoverable", "Recipient found",
		"Every row names a recipient, in any known field.",
		"Set payTo in every row of accepts.",
		everyRow(payToRecoverable)},
	{"payto_conformant", "Recipient in payTo",
		"Every row has payTo as a string.",
		"Put the recipient into the field payTo of every row, as a string.",
		everyRow(payToConformant)},
	{"payto_shape", "Recipient is a valid address",
		"The recipient is an address of the row's network with a matching checksum, not a burn address and not the " +
			"asset.",
		"Copy the address from the wallet that is to receive the money, for this exact network.",
		everyRow(payToShape)},
	{"price_present", "Price in the right field",
		"Version 2 uses amount, version 1 uses maxAmountRequired.",
		"Use the price field of the version in x402Version.",
		everyRow(pricePresent)},
	{"price_sane", "Price is plausible",
		"The price is a string of digits in atomic units, above zero, from $" + MinSaneUSD + " to $" + MaxSaneUSD +
			" for assets pegged to the dollar.",
		"Write the price in the token's smallest unit as a string: $0.01 of USDC is \"10000\".",
		everyRow(priceSane)},
	{"asset_declared", "Asset is an address",
		"Every row names an asset in the format of its network, and no token of another network.",
		"Use the token's contract or mint address, not its symbol.",
		everyRow(assetDeclared)},
	{"network_caip2", "Network is a CAIP-2 ID",
		"The network is recognised; in version 2 it is a CAIP-2 ID such as eip155:8453.",
		"Replace short names with CAIP-2 IDs: base is eip155:8453, solana is solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp.",
		everyRow(networkCAIP2)},
	{"scheme_declared", "Scheme named",
		"Every row names its scheme.",
		"Set scheme, usually to exact.",
		everyRow(schemeDeclared)},
	{"transport_https", "Encrypted transport",
		"The endpoint and every redirect use https with a valid certificate.",
		"Serve the endpoint over https, renew the certificate, and never redirect to http.",
		everyEndpoint(transportHTTPS)},
	{"x402_version_current", "Current protocol version",
		"x402Version is the number 2.",
		"Move to a version 2 SDK; the body can still serve version 1 clients.",
		everyEndpoint(versionCurrent)},
	{"eip712_domain_extra", "Signing domain given",
		"EVM rows paid through EIP-3009 have extra.name and extra.version as strings that match the token's own.",
		"Set extra to the token's EIP-712 domain; for USDC on Base that is {\"name\":\"USD Coin\",\"version\":\"2\"}.",
		everyRowIfAny(domainExtra)},
	{"version_channel_coherent", "Version and channel agree",
		"Version 2 is in a PAYMENT-REQUIRED header in standard base64, version 1 is in the body, and nothing " +
			"contradicts it.",
		"Send the terms once, in the header, as base64 with padding; if the body repeats them, generate both from " +
			"one source.",
		everyEndpoint(channelCoherent)},
}

// nothingCaptured is the reason of a rule without an envelope to judge.
const nothingCaptured = "nothing was captured"

// everyEndpoint returns a rule that fails if any endpoint fails a test, or if there are no endpoints.
func everyEndpoint(test func(*exhibit) string) func([]exhibit) string {
	return func(list []exhibit) string {
		if len(list) == 0 {
			return nothingCaptured
		}
		for i := range list {
			if reason := test(&list[i]); reason != "" {
				return list[i].Endpoint + ": " + reason
			}
		}
		return ""
	}
}

// everyRow returns a rule that fails if any row fails a test, or if there are no rows.
func everyRow(test func(*exhibitRow) string) func([]exhibit) string {
	return func(list []exhibit) string {
		if !slices.ContainsFunc(list, func(e exhibit) bool { return len(e.rows) > 0 }) {
			return "no payment requirements were captured"
		}
		return everyRowIfAny(test)(list)
	}
}

// everyRowIfAny is like everyRow, but the rule passes if there are no rows.
func everyRowIfAny(test func(*exhibitRow) string) func([]exhibit) string {
	return func(list []exhibit) string {
		for i := range list {
			rows := list[i].rows
			for k := range rows {
				if reason := test(&rows[k]); reason != "" {
					return rows[k].where + ": " + reason
				}
			}
		}
		return ""
	}
}

func payloadCaptured(e *exhibit) string {
	broken := slices.ContainsFunc(e.Captured.Defects, func(d Defect) bool { return d.Code == headerUndecodable })
	switch {
	case !e.captured() && broken:
		return meaning(headerUndecodable)
	case !e.captured() && len(e.Captured.Protocols) > 0:
		return "no x402 terms, only " + strings.Join(e.Captured.Protocols, ", ")
	case !e.captured():
		return "no payment terms in header or body"
	case e.Captured.Envelope.Channel == ChannelHTML:
		return "the payment terms are only in an HTML paywall page"
	case e.top.get("accepts") == nil && e.top.get("x402Version") == nil:
		return "the requirements are not inside an object with accepts or x402Version"
	}
	return ""
}

func acceptsPresent(e *exhibit) string {
	if !e.captured() {
		return nothingCaptured
	}
	accepts := e.top.get("accepts")
	switch kind(accepts) {
	case 0:
		return "accepts is missing"
	case '[':
		if len(e.rows) > 0 {
			return ""
		}
		return "accepts contains no object"
	}
	return mustBe("accepts", "a list", accepts)
}

func payToRecoverable(r *exhibitRow) string {
	if r.PayTo == "" {
		return "no recipient in any known field"
	}
	return ""
}

func payToConformant(r *exhibitRow) string {
	raw := r.members.get("payTo")
	switch text, isText := stringValue(raw); {
	case absent(raw) && r.PayTo != "":
		return "payTo is missing; the recipient is in " + r.PayToSource + " (" + r.PayToLocation + ")"
	case absent(raw):
		return "payTo is missing"
	case !isText:
		return mustBe("payTo", "a string", raw)
	case strings.TrimSpace(text) == "":
		return "payTo is empty"
	}
	return ""
}

func payToShape(r *exhibitRow) string { return r.Requirement.payToFault(r.payToErr) }

// creditRail reports whether a row is batch settlement on Cloudflare's credit rail, which may omit the price for agents
// that it does not recognise.
func (r *exhibitRow) creditRail() bool {
	return r.Scheme == "batch-settlement" && r.NetworkCAIP2 == "cloudflare:402"
}

func pricePresent(r *exhibitRow) string {
	key := amountKeyOf(r.version)
	raw := r.members.get(key)
	switch text, isText := stringValue(raw); {
	case isText && strings.TrimSpace(text) != "", kind(raw) == '0':
		return ""
	case !absent(raw):
		return key + " is not a price: " + show(raw)
	case r.creditRail():
		return ""
	}
	if other, _ := firstOf(r.members, amountKeys); other != "" {
		return key + " is missing; the price is in " + other
	}
	return key + " is missing"
}

// MaxSaneUSD and MinSaneUSD are the highest and the least plausible price of one request. A price beyond them is
// probably a mistake in scale.
const (
	MaxSaneUSD = "1000"
	MinSaneUSD = "0.000001" // one atomic unit of a token with six decimals
)

var saneAmount = regexp.MustCompile(`^[1-9][0-9]{0,38}$`)

func priceSane(r *exhibitRow) string {
	key, raw := firstOf(r.members, amountKeys)
	if raw == nil && r.creditRail() {
		return ""
	}
	text, isText := stringValue(raw)
	switch {
	case raw == nil:
		return "no price"
	case !isText:
		return mustBe(key, "a string", raw)
	case r.issuedCurrency():
		if value := decimalAmount(text); value == "" || value == "0" {
			return mustBe(key, "a decimal number above zero", raw)
		}
	case !saneAmount.MatchString(text):
		return mustBe(key, "a whole number of atomic units above zero", raw)
	}
	if fault := r.scaleFault(); fault != "" {
		return fmt.Sprintf("%s %s: %s", key, show(raw), fault)
	}
	return ""
}

func assetDeclared(r *exhibitRow) string {
	raw := r.members.get("asset")
	text, isText := stringValue(raw)
	switch {
	case absent(raw) || isText && strings.TrimSpace(text) == "":
		return "asset is missing"
	case !isText:
		return mustBe("asset", "a string", raw)
	}
	fault := r.assetErr
	if text != r.Asset { // with spaces around it
		fault = CheckAsset(r.NetworkCAIP2, text)
	}
	if fault != nil && !isChecksum(fault) {
		return fmt.Sprintf("asset %s is not an asset of %s", show(raw), orNetwork(r.NetworkCAIP2))
	}
	return r.foreignFault()
}

func networkCAIP2(r *exhibitRow) string {
	text, isText := stringValue(r.members.get("network"))
	switch {
	case !isText || text == "":
		return mustBe("network", "a string", r.members.get("network"))
	case r.NetworkCAIP2 == "":
		return "network is not recognised: " + show(r.members.get("network"))
	case r.version >= 2 && !properNetwork(text):
		return fmt.Sprintf("network %s should be %s", show(r.members.get("network")), r.NetworkCAIP2)
	}
	return ""
}

func schemeDeclared(r *exhibitRow) string {
	raw := r.members.get("scheme")
	text, isText := stringValue(raw)
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "unknown", "none", "null", "any":
		return "scheme is a placeholder: " + show(raw)
	case "":
		if absent(raw) || isText {
			return "scheme is missing"
		}
		return mustBe("scheme", "a string", raw)
	}
	return ""
}

func transportHTTPS(e *exhibit) string {
	for _, address := range append([]string{e.URL}, e.Hops...) {
		u, err := url.Parse(address)
		if err != nil || !strings.EqualFold(u.Scheme, "https") {
			return "not https: " + clip(cleanText(address), 200)
		}
	}
	if !e.TLSVerified {
		return "the certificate is not valid"
	}
	return ""
}

func versionCurrent(e *exhibit) string {
	if !e.captured() {
		return nothingCaptured
	}
	raw := e.top.get("x402Version")
	if kind(raw) == '0' && numberText(raw) == "2" {
		return ""
	}
	if absent(raw) {
		return "x402Version is missing"
	}
	return "x402Version is " + show(raw)
}

// domainSchemes are the schemes on EVM chains whose payments are signed under the token's EIP-712 domain.
var domainSchemes = []string{"exact", "upto", "batch-settlement", "auth-capture", "aggr_deferred"}

// gatewayName is the domain of Circle's Gateway wallet, which is not the token's.
const gatewayName = "GatewayWalletBatched"

func domainExtra(r *exhibitRow) string {
	if AddressNamespace(r.NetworkCAIP2) != "eip155" || !slices.Contains(domainSchemes, r.Scheme) {
		return ""
	}
	if raw := r.members.get("extra"); !absent(raw) && !isObject(raw) {
		return mustBe("extra", "an object", raw)
	}
	asset, isListed := r.assetOf()
	extra := r.extra
	method := extra.text("assetTransferMethod")
	if method != "" && method != "eip3009" || method == "" && isListed && asset.Permit2 {
		return "" // permit2 and erc7710 sign under other domains
	}
	name, version := extra.text("name"), extra.text("version")
	switch {
	case name == gatewayName:
		if CheckAsset(r.NetworkCAIP2, extra.text("verifyingContract")) != nil {
			return "extra.verifyingContract of the Gateway wallet is not an address: " +
				show(extra.get("verifyingContract"))
		}
	case name == "":
		return "extra.name is missing or not a string"
	case version == "":
		return "extra.version is missing or not a string"
	case isListed && asset.Name != "" && (name != asset.Name || version != asset.Version):
		return fmt.Sprintf("extra is %q / %q; the token's domain is %q / %q", clip(name, 80), clip(version, 20),
			asset.Name, asset.Version)
	}
	return ""
}

// channelFaults lists the defects that contradict the agreement of version and channel. The rule searches all defects
// for them, since a broken header beside a good body counts too. Clients join the values of a repeated header, and
// cannot decode the result.
var channelFaults = []string{headerUndecodable, headerOversize, headerRepeated, versionConflict}

func channelCoherent(e *exhibit) string {
	env := e.Captured.Envelope
	if env == nil {
		return nothingCaptured
	}
	for _, d := range e.Captured.Defects {
		if slices.Contains(channelFaults, d.Code) {
			return meaning(d.Code)
		}
	}
	switch {
	case e.Captured.Divergent:
		return meaning(channelsDiverge)
	case env.Channel == ChannelMCP:
		return "" // has one place for all versions
	case env.Version >= 2 && env.Channel != ChannelHeader:
		return fmt.Sprintf("version %d is in %s instead of the PAYMENT-REQUIRED header", env.Version, env.Channel)
	case env.Version >= 2 && env.Decode != "std":
		return "the header is not standard base64 but " + env.Decode
	case env.Version == 1 && env.Channel != ChannelBody:
		return "version 1 is in " + string(env.Channel) + " instead of the body"
	}
	return ""
}
