package probe

import "tollbook/site/x402"

// To be replaced by x402.Capture and Requirement.Usable when they are there.
func capture(a x402.Answer) x402.Captured { return x402.Captured{} }

func usableRow(r x402.Requirement) bool { return r.Amount != "" && r.PayTo != "" && r.Asset != "" }
