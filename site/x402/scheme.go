package x402

// Variable reports whether the amount is a maximum instead of the price: upto settles the amount used, and batch
// settlement on an EVM chain accepts vouchers up to the amount. On Cloudflare's credit rail the price is fixed.
func (r Requirement) Variable() bool {
	switch r.Scheme {
	case "upto":
		return true
	case "batch-settlement":
		return namespace(r.NetworkCAIP2) == "eip155"
	}
	return false
}
