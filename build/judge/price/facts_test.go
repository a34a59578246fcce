package price

import (
	"time"

	"tollbook/site/postgres/checks"
)

var now = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

func ago(d time.Duration) *time.Time {
	t := now.Add(-d)
	return &t
}

const (
	base  = "eip155:8453"
	usdc  = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	alice = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	bob   = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
)

func newPrice(amount, payTo string, since time.Time, until *time.Time) checks.Price {
	return checks.Price{Since: since, Until: until, Scheme: "exact", Network: base, NetworkCAIP2: new(base),
		Asset: usdc, PayTo: payTo, Amount: amount, X402Version: 2}
}
