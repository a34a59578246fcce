package x402

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What the clients that buyers use sign is read off by running them on recorded responses: TestClients in site/rail,
// whose table is site/rail/testdata/clients/clients.txt. In version 1 they sign the scheme exact alone.

// clientNetworks are the network names of version 1 that these clients know. They refuse every other name, CAIP-2 ids
// among them.
var clientNetworks = []string{
	"abstract", "abstract-testnet", "avalanche", "avalanche-fuji", "base", "base-sepolia", "celo", "educhain",
	"ethereum", "flare", "iotex", "megaeth", "monad", "peaq", "polygon", "polygon-amoy", "sei", "sei-testnet", "sepolia",
	"skale-base-sepolia", "solana", "solana-devnet", "stable", "stable-testnet", "story",
}

// UnsignableRows returns for each row of a captured envelope why standard clients sign no payment for it, or one that
// is refused: "" for a row that they can pay. A reason begins with the endpoint, and with the row if others may do
// better. Without an envelope or rows the list is empty.
//
// The rows are judged one by one, because clients choose among those that they know. Stricter rules, such as the key
// order or the padding of base64, are left to the compliance checks.
func UnsignableRows(e Evidence) []string {
	exhibits := examine([]Evidence{e})
	if len(exhibits) == 0 || !exhibits[0].captured() {
		return nil
	}
	x := &exhibits[0]
	whole := unsignableEnvelope(x)
	list := make([]string, len(x.rows))
	for i := range x.rows {
		if whole != "" {
			list[i] = x.Endpoint + ": " + whole
		} else if reason := unsignableRow(&x.rows[i]); reason != "" {
			list[i] = x.rows[i].where + ": " + reason
		}
	}
	return list
}

// unsignableEnvelope returns why clients find no terms in a response, "" if they do. Clients of version 2 read the
// header alone, those of version 1 the body alone.
func unsignableEnvelope(e *exhibit) string {
	if reason := payloadCaptured(e); reason != "" {
		return reason
	}
	if reason := acceptsPresent(e); reason != "" {
		return reason
	}
	env := e.Captured.Envelope
	switch raw := e.top.get("x402Version"); {
	case absent(raw):
		return "x402Version is missing"
	case kind(raw) != '0' || env.Version > 2:
		return "x402Version is " + show(raw)
	case e.Captured.Divergent:
		return meaning(channelsDiverge)
	case env.Channel == ChannelMCP:
		return ""
	case env.Channel == ChannelBody && env.Decode != "json":
		return "the body is not JSON but " + env.Decode
	case env.Version == 1 && env.Channel != ChannelBody && env.Channel != ChannelHeader:
		return "version 1 is in " + string(env.Channel) + " instead of the body"
	case env.Version == 2 && env.Channel != ChannelHeader:
		return "version 2 is in " + string(env.Channel) + " instead of the PAYMENT-REQUIRED header"
	case env.Channel == ChannelHeader && env.Decode != "std" && env.Decode != "std-unpadded":
		return "the header is not standard base64 but " + env.Decode
	}
	if env.Channel == ChannelHeader {
		for _, d := range e.Captured.Defects {
			if d.Code == headerRepeated || d.Code == headerOversize {
				return meaning(d.Code)
			}
		}
	}
	return ""
}

// unsignableRow returns why clients cannot pay by a row, "" if they can.
func unsignableRow(r *exhibitRow) string {
	for _, rule := range []func(*exhibitRow) string{
		payToConformant, payToShapeForClients, pricePresent, assetDeclared, networkCAIP2, schemeDeclared, clientKnows,
		domainExtra, schemeExtra,
	} {
		if reason := rule(r); reason != "" {
			return reason
		}
	}
	return r.Unusable()
}

// payToShapeForClients is like the check payto_shape, but a wrong EIP-55 checksum passes, because clients do not check
// it.
func payToShapeForClients(r *exhibitRow) string { return r.PayToFault() }

// clientKnows returns why no client pays by the scheme on the network of a row, "" if one does.
func clientKnows(r *exhibitRow) string {
	switch {
	case r.version == 1 && !slices.Contains(clientNetworks, r.Network):
		return "clients of version 1 do not know the network " + show(r.members.get("network"))
	case r.version == 1 && r.Scheme != "exact", clientKinds[r.Scheme] == nil:
		return "standard clients do not know the scheme " + show(r.members.get("scheme"))
	}
	return ""
}

// schemeExtra returns which member of extra a client needs and lacks, "" if there is none.
func schemeExtra(r *exhibitRow) string {
	method := r.extra.text("assetTransferMethod")
	asset, isListed := r.assetOf()
	switch namespace := AddressNamespace(r.NetworkCAIP2); {
	case (r.Scheme == "exact" || r.Scheme == "upto") && namespace == "solana" && r.extra.text("feePayer") == "":
		return "extra.feePayer is missing, without which no client can build the payment"
	case r.Scheme == "exact" && namespace == "stellar" && string(r.extra.get("areFeesSponsored")) != "true":
		return "extra.areFeesSponsored is not true, without which clients sign nothing on Stellar"
	case r.Scheme == "upto" && namespace == "solana" && r.extra.text("receiverAuthorizer") == "":
		return "extra.receiverAuthorizer is missing, without which no client can open the channel"
	case r.Scheme == "upto" && namespace == "solana" && !isPositive(r.extra.get("withdrawDelay")):
		return mustBe("extra.withdrawDelay", "a whole number above zero", r.extra.get("withdrawDelay"))
	case r.Scheme == "exact" && namespace == "eip155" && method == "" && isListed && asset.Permit2:
		return "extra.assetTransferMethod is missing: clients sign for EIP-3009, which the token lacks"
	case r.Scheme == "upto" && namespace == "eip155" && r.extra.text("facilitatorAddress") == "":
		return "extra.facilitatorAddress is missing, without which clients sign no maximum"
	case r.Scheme == "batch-settlement" && namespace == "solana":
		return r.channelFault()
	}
	return ""
}

// isPositive reports whether a value is a whole number above zero.
func isPositive(raw json.RawMessage) bool {
	n, err := strconv.ParseUint(numberText(raw), 10, 64)
	return kind(raw) == '0' && err == nil && n > 0
}

// serverSigns reports whether the server signs the vouchers of a channel on Solana, instead of the client.
func (r Requirement) serverSigns() bool { return object(r.extra()).text("voucherSigner") == "server" }

// The time in seconds that a channel on Solana lets pass between the request of a forced close and the close.
const minWithdrawDelay, maxWithdrawDelay = 900, 2_592_000

// channelFault returns which member of extra the scheme batch-settlement needs on Solana and lacks, "" for none.
func (r Requirement) channelFault() string {
	extra := object(r.extra())
	keys := []string{"feePayer", "receiverAuthorizer", "tokenProgram"}
	switch signer, isText := stringValue(extra.get("voucherSigner")); {
	case r.serverSigns():
		keys = append(keys, "operator")
	case !absent(extra.get("voucherSigner")) && (!isText || signer != "client"):
		return mustBe("extra.voucherSigner", `"client" or "server"`, extra.get("voucherSigner"))
	}
	for _, key := range keys {
		if CheckAddress(r.NetworkCAIP2, extra.text(key)) != nil {
			return "extra." + key + " is missing or no address, without which no client can open the channel"
		}
	}
	delay, err := strconv.Atoi(numberText(extra.get("withdrawDelay")))
	if kind(extra.get("withdrawDelay")) != '0' || err != nil || delay < minWithdrawDelay || delay > maxWithdrawDelay {
		return mustBe("extra.withdrawDelay", fmt.Sprintf("a number of seconds from %d to %d", minWithdrawDelay,
			maxWithdrawDelay), extra.get("withdrawDelay"))
	}
	return ""
}

// Implausible returns why an amount is not believed to be a price, "" if it may be one: it is zero, or its value is
// beyond MinSaneUSD and MaxSaneUSD.
func (r Requirement) Implausible() string {
	if strings.Trim(r.Amount, "0.") == "" {
		return "the price is zero"
	}
	return r.scaleFault()
}

// scaleFault returns why an amount above zero is probably written for a token with other decimals, "" if its value may
// be a price or is not known.
func (r Requirement) scaleFault() string {
	price, ok := r.PriceUSD()
	switch {
	case !ok || strings.Trim(price, "0.") == "":
		return ""
	case !lessOrEqual(price, MaxSaneUSD):
		return "the price is $" + price + ", more than $" + MaxSaneUSD + r.meantPrice()
	case !lessOrEqual(MinSaneUSD, price):
		return "the price is $" + price + ", less than $" + MinSaneUSD + r.meantPrice()
	}
	return ""
}

// meantPrice returns in words what an amount would be worth with the decimals that sellers confuse with those of the
// token, "" if that is no plausible price either. Most stablecoins have 6 decimals, and many other tokens 18.
func (r Requirement) meantPrice() string {
	a, _ := r.assetOf()
	for _, decimals := range []int{6, 18} {
		price := shiftPoint(r.Amount, decimals)
		if decimals != a.Decimals && a.Issuer == "" && lessOrEqual(MinSaneUSD, price) && lessOrEqual(price, MaxSaneUSD) {
			return fmt.Sprintf(": the token has %d decimals; with %d it would be $%s", a.Decimals, decimals, price)
		}
	}
	return ""
}

// IsKnownToken reports whether the network and the token of a row are in the tables of this package. What another token
// is worth is unknown.
func (r Requirement) IsKnownToken() bool {
	_, isKnown := NetworkByID(r.NetworkCAIP2)
	return isKnown && r.Symbol() != UnknownAsset
}

// expiryKeys are the members in which sellers write until when an offer is valid: RFC 3339 text, or Unix seconds or
// milliseconds.
var expiryKeys = []string{"validUntil", "expiresAt", "expires", "valid_until", "expires_at", "expiry", "expiration"}

// Expired reports whether a row of the envelope was no longer valid at a time, such as that of its response. Its own
// members count, those of its extra, and those of the envelope and its extensions. Text that is no time is ignored.
func (e *Envelope) Expired(row int, at time.Time) bool {
	if row < 0 || row >= len(e.Accepts) {
		return false
	}
	r := &e.Accepts[row]
	top := e.top
	if top == nil {
		top, _ = members(e.Raw)
	}
	places := []object{r.members, r.extra(), top}
	for _, m := range top.child("extensions") {
		extension, _ := members(m.Value)
		places = append(places, extension, object(extension).child("info"))
	}
	for _, of := range places {
		for _, key := range expiryKeys {
			if until, ok := readInstant(of.get(key)); ok && !at.Before(until) {
				return true
			}
		}
	}
	return false
}

// readInstant reads RFC 3339 text or Unix time in seconds, or in milliseconds from 10^11 on.
func readInstant(raw []byte) (time.Time, bool) {
	text := strings.TrimSpace(scalar(raw))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < 1e9 || n >= 1e14 { // a duration, or no time of this protocol
			return time.Time{}, false
		}
		if n >= 1e11 {
			return time.UnixMilli(n), true
		}
		return time.Unix(n, 0), true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}
