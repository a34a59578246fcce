package x402

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Rule is one of the 14 compliance checks. Reasons say what was found; Expected and Mend are the same for everybody.
type Rule struct {
	ID       string
	Label    string
	Expected string // what the rule asks for
	Mend     string // what an operator can do about a failure

	test func([]exhibit) string // the first failure, "" when all pass
}

// Rules returns the 14 checks in the order in which they are reported.
func Rules() []Rule { return slices.Clone(rules) }

var rules = []Rule{
	{"payload_captured", "Payment terms captured",
		"A 402 or 412 whose PAYMENT-REQUIRED header or JSON body holds accepts or x402Version.",
		"Answer requests that carry no payment with 402 and the terms in the PAYMENT-REQUIRED header, for " +
			"browsers too.",
		everyEndpoint(payloadCaptured)},
	{"accepts_present", "Ways to pay listed",
		"accepts is a list with at least one object.",
		"Send accepts as a list, even for a single way to pay.",
		everyEndpoint(acceptsPresent)},
	{"payto_recoverable", "Recipient can be found",
		"Every row names a recipient, under any known name.",
		"Set payTo in every row of accepts.",
		everyRow(payToRecoverable)},
	{"payto_conformant", "Recipient under its own name",
		"Every row has a text payTo.",
		"Call the recipient payTo and put it into each row as text.",
		everyRow(payToConformant)},
	{"payto_shape", "Recipient is a valid address",
		"The recipient is an address of the row's network with a matching checksum, not a burn address and not " +
			"the asset.",
		"Copy the address from the wallet that shall receive the money, for that very network.",
		everyRow(payToShape)},
	{"price_present", "Price under its own name",
		"Version 2 has amount, version 1 has maxAmountRequired.",
		"Name the price as the version in x402Version does.",
		everyRow(pricePresent)},
	{"price_sane", "Price makes sense",
		"A text of digits in atomic units, above zero, at most $" + maxSaneUSD + " for assets pegged to the dollar.",
		"Write the price in the token's smallest unit as text: $0.01 of USDC is \"10000\".",
		everyRow(priceSane)},
	{"asset_declared", "Asset is an address",
		"Every row names an asset in the form of its network.",
		"Write the token's contract or mint address, not its symbol.",
		everyRow(assetDeclared)},
	{"network_caip2", "Network is a CAIP-2 id",
		"The network resolves; version 2 writes it as a CAIP-2 id such as eip155:8453.",
		"Replace short names by CAIP-2 ids: base is eip155:8453, solana is solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp.",
		everyRow(networkCAIP2)},
	{"scheme_declared", "Scheme named",
		"Every row names its scheme.",
		"Set scheme, in most cases to exact.",
		everyRow(schemeDeclared)},
	{"transport_https", "Encrypted transport",
		"The endpoint and every redirect are https with a certificate that verifies.",
		"Serve the endpoint under https, renew the certificate, redirect nobody to http.",
		everyEndpoint(transportHTTPS)},
	{"x402_version_current", "Current protocol version",
		"x402Version is the number 2.",
		"Move to a version 2 SDK; version 1 clients can be served from the body at the same time.",
		everyEndpoint(versionCurrent)},
	{"eip712_domain_extra", "Signing domain given",
		"EVM rows paid by EIP-3009 carry extra.name and extra.version as text, equal to the token's own.",
		"Set extra to the token's EIP-712 domain; USDC on Base is {\"name\":\"USD Coin\",\"version\":\"2\"}.",
		everyRowIfAny(domainExtra)},
	{"version_channel_coherent", "Version and channel agree",
		"Version 2 comes in a PAYMENT-REQUIRED header of standard base64, version 1 in the body, and nothing " +
			"contradicts it.",
		"Send the terms once in the header, base64 with padding; if the body repeats them, from the same source.",
		everyEndpoint(channelCoherent)},
}

// nothingCaptured is the reason of rules that found no envelope to judge.
const nothingCaptured = "nothing was captured"

// everyEndpoint makes a rule of a test that each endpoint must pass; without endpoints it fails.
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

// everyRow makes a rule of a test that each row must pass; without rows it fails.
func everyRow(test func(*exhibitRow) string) func([]exhibit) string {
	return func(list []exhibit) string {
		if !slices.ContainsFunc(list, func(e exhibit) bool { return len(e.rows) > 0 }) {
			return "no row of requirements was captured"
		}
		return everyRowIfAny(test)(list)
	}
}

// everyRowIfAny is everyRow for rules that pass where there is nothing to judge.
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
		return "the terms stand only in a paywall page"
	case e.top.get("accepts") == nil && e.top.get("x402Version") == nil:
		return "the requirements stand without accepts or x402Version around them"
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
		return "accepts holds no object"
	}
	return "accepts is no list: " + show(accepts)
}

func payToRecoverable(r *exhibitRow) string {
	if r.PayTo == "" {
		return "no recipient under any known name"
	}
	return ""
}

func payToConformant(r *exhibitRow) string {
	raw := r.members.get("payTo")
	switch text, isText := stringValue(raw); {
	case absent(raw) && r.PayTo != "":
		return "payTo is missing; the recipient stands in " + r.PayToSource + ", " + r.PayToLocation
	case absent(raw):
		return "payTo is missing"
	case !isText:
		return "payTo is no text: " + show(raw)
	case strings.TrimSpace(text) == "":
		return "payTo is empty"
	}
	return ""
}

func payToShape(r *exhibitRow) string {
	if r.PayTo == "" {
		return "there is no recipient"
	}
	if r.payToFault != nil {
		return r.payToFault.Error()
	}
	if r.PayToNorm == r.AssetNorm && namespace(r.NetworkCAIP2) != "cloudflare" {
		return "the recipient is the asset itself"
	}
	return ""
}

// creditRail says whether a row is batch settlement on Cloudflare's credit rail, which may leave the price out for
// agents that it does not recognise.
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
		return key + " is no price: " + show(raw)
	case r.creditRail():
		return ""
	}
	if other, _ := firstOf(r.members, amountKeys); other != "" {
		return key + " is missing; the price stands in " + other
	}
	return key + " is missing"
}

// maxSaneUSD is the highest price of one request that is not taken for a mistake in scale.
const maxSaneUSD = "1000"

var saneAmount = regexp.MustCompile(`^[1-9][0-9]{0,38}$`)

func priceSane(r *exhibitRow) string {
	key, raw := firstOf(r.members, amountKeys)
	if raw == nil && r.creditRail() {
		return ""
	}
	text, isText := stringValue(raw)
	switch {
	case raw == nil:
		return "there is no price"
	case !isText:
		return key + " is no text: " + show(raw)
	case r.issuedCurrency():
		if value := decimalAmount(text); value == "" || value == "0" {
			return key + " is no decimal value: " + show(raw)
		}
	case !saneAmount.MatchString(text):
		return key + " is no whole number of atomic units above zero: " + show(raw)
	}
	if price, ok := r.PriceUSD(); ok && !lessOrEqual(price, maxSaneUSD) {
		return fmt.Sprintf("%s %s is $%s, above $%s", key, show(raw), price, maxSaneUSD)
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
		return "asset is no text: " + show(raw)
	}
	fault := r.assetFault
	if text != r.Asset { // with blanks around it
		fault = CheckAsset(r.NetworkCAIP2, text)
	}
	if fault != nil && !isChecksum(fault) {
		return fault.Error()
	}
	return ""
}

func networkCAIP2(r *exhibitRow) string {
	text, isText := stringValue(r.members.get("network"))
	switch {
	case !isText || text == "":
		return "network is missing or no text: " + show(r.members.get("network"))
	case r.NetworkCAIP2 == "":
		return "network cannot be told: " + show(r.members.get("network"))
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
		return "scheme is no text: " + show(raw)
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
		return "the certificate does not verify"
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
	if namespace(r.NetworkCAIP2) != "eip155" || !slices.Contains(domainSchemes, r.Scheme) {
		return ""
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
		if contract := extra.text("verifyingContract"); !evmForm.MatchString(contract) {
			return "extra.verifyingContract of the Gateway wallet is no address: " +
				show(extra.get("verifyingContract"))
		}
	case name == "":
		return "extra.name is missing or no text"
	case version == "":
		return "extra.version is missing or no text"
	case isListed && asset.Name != "" && (name != asset.Name || version != asset.Version):
		return fmt.Sprintf("extra is %q / %q, the token's domain is %q / %q", clip(name, 80), clip(version, 20),
			asset.Name, asset.Version)
	}
	return ""
}

// channelFaults are leniencies of reading that break the agreement of version and channel. They are looked for among
// all defects, since a broken header beside a good body is one. Clients join the values of a repeated header, and the
// result decodes to nothing.
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
	case env.Version >= 2 && env.Channel != ChannelHeader:
		return fmt.Sprintf("version %d came by %s instead of the PAYMENT-REQUIRED header", env.Version, env.Channel)
	case env.Version >= 2 && env.Decode != "std":
		return "the header is not standard base64 but " + env.Decode
	case env.Version == 1 && env.Channel != ChannelBody:
		return "version 1 came by " + string(env.Channel) + " instead of the body"
	}
	return ""
}

// meaning returns the sentence of a defect code.
func meaning(code string) string {
	for _, c := range defectCodes {
		if c.Code == code {
			return strings.TrimSuffix(c.Meaning, ".")
		}
	}
	return code
}

// show prints a value as received, short enough for a reason.
func show(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	return clip(cleanText(string(raw)), 80)
}
