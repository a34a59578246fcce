package x402

import (
	"errors"
	"fmt"
	"strings"
)

// Usable reports whether a row is a way to pay.
func (r Requirement) Usable() bool { return r.Unusable() == "" }

// Unusable returns why a row is no way to pay, "" for a row that is. A usable row names a scheme, a network that
// resolves, an asset, a recipient who can receive the payment, and an amount. The amount is whole in atomic units, or
// decimal for issued currencies of the XRP Ledger, which also have an issuer.
func (r Requirement) Unusable() string {
	switch {
	case r.Scheme == "":
		return "scheme is missing"
	case r.Network == "" && r.NetworkCAIP2 == "":
		return "network is missing"
	case r.NetworkCAIP2 == "":
		return networkFault(r.Network)
	case r.Asset == "":
		return "asset is missing"
	case isTicker(r.NetworkCAIP2, r.Asset):
		return fmt.Sprintf("the asset %q is a symbol and no address of %s", clip(r.Asset, 80), r.NetworkCAIP2)
	case r.foreignFault() != "":
		return r.foreignFault()
	case r.Amount == "" && r.AmountRaw == "":
		return "no price"
	case r.Amount == "" && r.issuedCurrency():
		return fmt.Sprintf("the price %q is not a decimal number", clip(r.AmountRaw, 80))
	case r.Amount == "":
		return fmt.Sprintf("the price %q is not a whole number of atomic units", clip(r.AmountRaw, 80))
	case r.issuedCurrency() && r.issuer() == "":
		return "the currency has no issuer; extra.issuer must be an address of the XRP Ledger"
	}
	return r.PayToFault()
}

// PayToFault returns why a payment would not reach the recipient, "" if it would. A wrong EIP-55 checksum is no such
// fault: clients pay to the address without it, and most services with one wrote the right digits in the wrong case.
func (r Requirement) PayToFault() string {
	err := CheckAddress(r.NetworkCAIP2, r.PayTo)
	if errors.Is(err, errChecksum) && AddressNamespace(r.NetworkCAIP2) == "eip155" {
		err = nil
	}
	return r.payToFault(err)
}

// payToFault returns why a recipient fails payto_shape, "" if it passes. err is the result of CheckAddress.
func (r Requirement) payToFault(err error) string {
	payTo := clip(r.PayTo, 80)
	switch {
	case r.PayTo == "":
		return "no recipient"
	case errors.Is(err, ErrBurn):
		return fmt.Sprintf("the recipient %q is a burn address: nobody can spend from it", payTo)
	case errors.Is(err, errChecksum):
		return fmt.Sprintf("the checksum of the recipient %q does not match, so it may be mistyped", payTo)
	case err != nil:
		return fmt.Sprintf("the recipient %q is not an address of %s", payTo, orNetwork(r.NetworkCAIP2))
	case r.AssetNorm != "" && NormalizeAddress(r.NetworkCAIP2, r.PayTo) == r.AssetNorm:
		return fmt.Sprintf("the recipient %q is the asset itself: a payment would be lost", payTo)
	}
	return ""
}

func orNetwork(id string) string {
	if id == "" {
		return "any network"
	}
	return id
}

// TokenAddress returns the asset in normal form; of an issued currency of the XRP Ledger the code and the issuer with a
// dot between, as Asset.Token has it, "" without an issuer.
func (r Requirement) TokenAddress() string {
	if !r.issuedCurrency() {
		return r.AssetNorm
	}
	issuer := r.issuer()
	if issuer == "" {
		return ""
	}
	code := r.Asset
	if before, ok := strings.CutSuffix(code, issuer); ok && before != "" {
		code = before[:len(before)-1]
	}
	return code + "." + issuer
}

// issuer returns the account that issues an XRP Ledger currency: extra.issuer, or else what follows the code in the
// asset. It returns "" without a valid account.
func (r Requirement) issuer() string {
	account := r.extra().text("issuer")
	if i := strings.LastIndexAny(r.Asset, ".:+/"); account == "" && i >= 0 {
		account = r.Asset[i+1:]
	}
	if CheckAddress(r.NetworkCAIP2, account) != nil {
		return ""
	}
	return account
}
