package site

// Reasons why a recipient cannot receive an asset: each payment would fail.
const (
	ReceptionNoAccount       = "no_account"       // the account does not exist
	ReceptionNoTokenAccount  = "no_token_account" // Solana: it has no associated token account for the mint
	ReceptionFrozen          = "frozen"           // the issuer froze its account for the asset
	ReceptionNoTrustLine     = "no_trust_line"    // Stellar and the XRP Ledger: it does not accept the asset
	ReceptionNotAuthorized   = "not_authorized"   // Stellar: the issuer has not authorised it
	ReceptionLimitReached    = "limit_reached"    // it accepts no more of the asset than it has
	ReceptionDepositsRefused = "deposits_refused" // XRP Ledger: it accepts payments of authorised senders only
)

// ReceptionReasons are the values of PricingEntry.RecipientReason.
var ReceptionReasons = []string{ReceptionNoAccount, ReceptionNoTokenAccount, ReceptionFrozen, ReceptionNoTrustLine,
	ReceptionNotAuthorized, ReceptionLimitReached, ReceptionDepositsRefused}

// ReceptionText returns a reason in words.
func ReceptionText(reason string) string {
	switch reason {
	case ReceptionNoAccount:
		return "the recipient's account does not exist"
	case ReceptionNoTokenAccount:
		return "the recipient has no token account for the asset, and payments do not create one"
	case ReceptionFrozen:
		return "the recipient's account for the asset is frozen"
	case ReceptionNoTrustLine:
		return "the recipient has no trust line for the asset"
	case ReceptionNotAuthorized:
		return "the issuer has not authorised the recipient"
	case ReceptionLimitReached:
		return "the recipient's limit for the asset is reached"
	case ReceptionDepositsRefused:
		return "the recipient refuses payments of senders that it has not authorised"
	}
	return "the recipient cannot receive the asset"
}
