package stellar

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"tollbook/crawl/chain"
	"tollbook/site"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// issuers are the assets behind the contracts of tokens that services ask for, "<code>:<issuer>", by contract. Horizon
// names the assets of trust lines by code and issuer. TestIssuers derives the contracts from the assets.
// Source: developers.circle.com, USDC on Stellar.
var issuers = map[string]string{
	"CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75":// main network
	"USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
	"CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA":// test network
	"USDC:GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5",
}

// Version bytes of strkeys (SEP-23).
const (
	accountVersion  = 6 << 3
	contractVersion = 2 << 3
)

// NewReceivers returns receivers for a Stellar network: an account can receive a token if it exists and has a trust
// line for the token's asset that is authorised and not full. A contract needs no trust line.
func NewReceivers(n chain.Network, o chain.Options) (*chain.Receivers, error) {
	o = o.WithDefaults()
	ask := func(ctx context.Context, c *chain.Client, list []chain.Recipient) ([]chain.Reception, error) {
		return askReceptions(ctx, c, passphrases[n.ID], list)
	}
	return chain.NewReceivers(n, identity(), o, ask, func(ctx context.Context, c *chain.Client) (ledger.Head, error) {
		return (&Reader{network: n, options: o}).Head(ctx, c)
	})
}

// askReceptions asks one server about recipients.
func askReceptions(ctx context.Context, c *chain.Client, passphrase string,
	list []chain.Recipient) ([]chain.Reception, error) {
	answers := make([]chain.Reception, len(list))
	var accounts []string
	var of []int // the recipient of each account
	var calls []chain.Call
	for i, r := range list {
		switch address := accountOf(r.Address); {
		case strings.HasPrefix(r.Address, "C"):
			answers[i] = chain.CanReceive()
		case address == "":
			answers[i].Reason = chain.ReasonAssetUnknown
		default:
			accounts, of = append(accounts, address), append(of, i)
			calls = append(calls, chain.Call{Path: "/accounts/" + url.PathEscape(address)})
		}
	}
	if len(calls) == 0 {
		return answers, nil
	}
	err := c.Ask(ctx, chain.Question{Calls: calls, Read: func(from int, calls []chain.Call) error {
		for i, call := range calls {
			at := from + i
			var a *accountAnswer
			if err := json.Unmarshal(call.Result, &a); err != nil {
				return fmt.Errorf("read account %s: %w", accounts[at], err)
			}
			if a != nil && a.ID != accounts[at] {
				return fmt.Errorf("the answer is about account %.60q, not %s", a.ID, accounts[at])
			}
			var err error
			if answers[of[at]], err = a.reception(passphrase, list[of[at]].Asset); err != nil {
				return fmt.Errorf("account %s: %w", accounts[at], err)
			}
		}
		return nil
	}})
	return answers, err
}

// accountOf returns the account of a recipient: itself, or the one that a multiplexed address (M) names.
func accountOf(address string) string {
	if strings.HasPrefix(address, "G") {
		return address
	}
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(address)
	if err != nil || !strings.HasPrefix(address, "M") || len(raw) < 33 {
		return ""
	}
	return x402.Strkey(accountVersion, raw[1:33])
}

// accountAnswer is Horizon's answer about an account, nil if there is none.
type accountAnswer struct {
	ID       string    `json:"account_id"`
	Balances []balance `json:"balances"`
}

// balance is a trust line, or the balance of lumens.
type balance struct {
	Type         string `json:"asset_type"`
	Code         string `json:"asset_code"`
	Issuer       string `json:"asset_issuer"`
	Balance      string `json:"balance"`
	Limit        string `json:"limit"`
	Buying       string `json:"buying_liabilities"`
	IsAuthorized *bool  `json:"is_authorized"`
}

// reception returns what an account's balances say about a token.
func (a *accountAnswer) reception(passphrase, contract string) (chain.Reception, error) {
	if a == nil {
		return chain.CannotReceive(site.ReceptionNoAccount), nil
	}
	if a.Balances == nil {
		return chain.Reception{}, fmt.Errorf("it has no list of balances")
	}
	if contract == nativeContract(passphrase) {
		return chain.CanReceive(), nil
	}
	for _, b := range a.Balances {
		if b.Code == "" || contractOf(passphrase, b.Code, b.Issuer) != contract {
			continue
		}
		return b.reception()
	}
	asset, isKnown := issuers[contract]
	switch {
	case !isKnown: // perhaps a contract of its own, which needs no trust line
		return chain.Reception{Reason: chain.ReasonAssetUnknown}, nil
	case strings.HasSuffix(asset, ":"+a.ID): // the issuer itself
		return chain.CanReceive(), nil
	}
	return chain.CannotReceive(site.ReceptionNoTrustLine), nil
}

func (b *balance) reception() (chain.Reception, error) {
	if b.IsAuthorized != nil && !*b.IsAuthorized {
		return chain.CannotReceive(site.ReceptionNotAuthorized), nil
	}
	var numbers [3]float64
	for i, text := range []string{b.Limit, b.Balance, b.Buying} {
		if text == "" && i == 2 {
			continue // absent in old answers
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n < 0 {
			return chain.Reception{}, fmt.Errorf("%.40q is no amount", text)
		}
		numbers[i] = n
	}
	if numbers[0] <= numbers[1]+numbers[2] {
		return chain.CannotReceive(site.ReceptionLimitReached), nil
	}
	return chain.CanReceive(), nil
}

// contractOf returns the contract of an asset, "" if the code or the issuer is none. It is the hash of a preimage that
// has the network and the asset (CAP-46-6).
func contractOf(passphrase, code, issuer string) string {
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(issuer)
	if err != nil || len(raw) != 35 || code == "" || len(code) > 12 {
		return ""
	}
	kind, size := uint32(1), 4
	if len(code) > 4 {
		kind, size = 2, 12
	}
	asset := binary.BigEndian.AppendUint32(nil, kind)
	asset = append(asset, code+strings.Repeat("\x00", size-len(code))...)
	asset = append(binary.BigEndian.AppendUint32(asset, 0), raw[1:33]...) // a public key of Ed25519
	return contractID(passphrase, asset)
}

// nativeContract returns the contract of lumens.
func nativeContract(passphrase string) string { return contractID(passphrase, []byte{0, 0, 0, 0}) }

// contractID returns the contract of an encoded asset: envelope type 8, network, preimage type 1, asset.
func contractID(passphrase string, asset []byte) string {
	network := sha256.Sum256([]byte(passphrase))
	preimage := binary.BigEndian.AppendUint32(nil, 8)
	preimage = append(preimage, network[:]...)
	preimage = append(binary.BigEndian.AppendUint32(preimage, 1), asset...)
	sum := sha256.Sum256(preimage)
	return x402.Strkey(contractVersion, sum[:])
}
