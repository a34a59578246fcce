package x402

// Variable says whether the amount is the most that may be taken instead of the price: upto settles what was used, and
// batch settlement on an EVM chain takes vouchers up to the amount. On Cloudflare's credit rail it is a fixed price.
func (r Requirement) Variable() bool {
	switch r.Scheme {
	case "upto":
		return true
	case "batch-settlement":
		return namespace(r.NetworkCAIP2) == "eip155"
	}
	return false
}
