package guide

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"tollbook/site"
)

// Offer is a way to pay that the official SDKs can sign: the scheme exact on an EVM network or on Solana, or the scheme
// upto on an EVM network.
type Offer struct {
	Network   string // CAIP-2
	Name      string // the network as the service writes it: a short name in version 1 of the protocol, else Network
	Asset     string // address of the token
	Amount    string // atomic units
	IsMaximum bool   // the scheme is upto: the service charges at most Amount
	HasPermit bool   // the payment needs a permission of Permit2, as a maximum does
}

// The forms of what a program contains. Each can be written into a string of any of the languages.
var (
	chainForm   = regexp.MustCompile(`^(eip155:[0-9]{1,18}|solana:[1-9A-HJ-NP-Za-km-z]{32})$`)
	nameForm    = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
	accountForm = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	assetForm   = regexp.MustCompile(`^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$`)
	amountForm  = regexp.MustCompile(`^[0-9]{1,40}$`)
)

// findOffer returns the first offer of an endpoint that the SDKs can sign, and false if there is none. A fixed price
// comes before a maximum, because it needs no permission for the token. terms are those of the endpoint's prices.
func findOffer(e *site.Endpoint, terms []site.PricingTerms) (Offer, bool) {
	var maximum Offer
	for i, p := range e.X402Pricing() {
		extra := ""
		if i < len(terms) {
			extra, p.Network = terms[i].Extra, cmp.Or(terms[i].Name, p.Network)
		}
		o, ok := newOffer(&p)
		if !ok {
			continue
		}
		if !o.IsMaximum {
			o.HasPermit = o.isEVM() && readExtra(extra).AssetTransferMethod == "permit2"
			return o, true
		}
		if o.HasPermit = true; maximum.Amount == "" && accountForm.MatchString(readExtra(extra).FacilitatorAddress) {
			maximum = o
		}
	}
	return maximum, maximum.Amount != ""
}

// newOffer returns a price as an offer, and false if the SDKs cannot sign it.
func newOffer(p *site.PricingEntry) (Offer, bool) {
	if p.NetworkCAIP2 == nil {
		return Offer{}, false
	}
	o := Offer{Network: *p.NetworkCAIP2, Name: p.Network, Asset: p.AssetAddress, Amount: p.Price,
		IsMaximum: p.Scheme == "upto"}
	if o.IsMaximum && (!o.isEVM() || o.isFirstVersion()) || !o.IsMaximum && p.Scheme != "exact" {
		return Offer{}, false
	}
	isName := o.Name == o.Network || nameForm.MatchString(o.Name)
	return o, isName && chainForm.MatchString(o.Network) && assetForm.MatchString(o.Asset) &&
		amountForm.MatchString(o.Amount) && strings.HasPrefix(o.Asset, "0x") == o.isEVM()
}

// extraTerms are the members of the extra object of a price that decide how it is signed.
type extraTerms struct {
	FacilitatorAddress  string // that may charge a price by the scheme upto; clients sign nothing without
	AssetTransferMethod string // of the scheme exact: "permit2", or EIP-3009 without
}

// readExtra returns no terms of an object that is not as expected.
func readExtra(extra string) extraTerms {
	var t extraTerms
	if json.Unmarshal([]byte(extra), &t) != nil {
		return extraTerms{}
	}
	return t
}

func (o Offer) isEVM() bool { return strings.HasPrefix(o.Network, "eip155:") }

// isFirstVersion reports whether the service offers it in version 1 of the protocol, which names networks by short
// names.
func (o Offer) isFirstVersion() bool { return o.Name != o.Network }
