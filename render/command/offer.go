package command

import (
	"regexp"
	"strings"

	"tollbook/site"
)

// Offer is a way to pay that the official SDKs can sign: the scheme exact on an EVM network or on Solana.
type Offer struct {
	Network string // CAIP-2
	Name    string // the network as the service writes it: a short name in version 1 of the protocol, else Network
	Asset   string // address of the token
	Amount  string // atomic units
}

// The forms of what a program contains. Each can be written into a string of any of the languages.
var (
	chainForm  = regexp.MustCompile(`^(eip155:[0-9]{1,18}|solana:[1-9A-HJ-NP-Za-km-z]{32})$`)
	nameForm   = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
	assetForm  = regexp.MustCompile(`^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$`)
	amountForm = regexp.MustCompile(`^[0-9]{1,40}$`)
)

// FindOffer returns the first offer of an endpoint that the SDKs can sign, and false if there is none.
func FindOffer(e *site.Endpoint) (Offer, bool) {
	for _, p := range e.X402Pricing() {
		if p.Scheme != "exact" || p.NetworkCAIP2 == nil {
			continue
		}
		o := Offer{Network: *p.NetworkCAIP2, Name: p.Network, Asset: p.AssetAddress, Amount: p.Price}
		isName := o.Name == o.Network || nameForm.MatchString(o.Name)
		if isName && chainForm.MatchString(o.Network) && assetForm.MatchString(o.Asset) &&
			amountForm.MatchString(o.Amount) && strings.HasPrefix(o.Asset, "0x") == o.isEVM() {
			return o, true
		}
	}
	return Offer{}, false
}

func (o Offer) isEVM() bool { return strings.HasPrefix(o.Network, "eip155:") }

// isFirstVersion reports whether the service offers it in version 1 of the protocol, which names networks by short
// names.
func (o Offer) isFirstVersion() bool { return o.Name != o.Network }
