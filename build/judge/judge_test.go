package judge

import (
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
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

func newService(endpoints ...postgres.EndpointFacts) *postgres.ServiceFacts {
	for i := range endpoints {
		e := &endpoints[i]
		if e.FirstSeenAt.IsZero() {
			e.FirstSeenAt = *ago(time.Hour)
		}
		if e.Path == "" {
			e.Method, e.Path = "GET", "/"+string(rune('a'+i))
		}
	}
	return &postgres.ServiceFacts{Service: postgres.Service{Slug: "acme", BaseURL: "https://acme.test", Category: "AI",
		CheckInterval: 15 * time.Minute}, Endpoints: endpoints}
}

func newPricedEndpoint(prices ...checks.Price) postgres.EndpointFacts {
	return postgres.EndpointFacts{Prices: prices}
}

// judgeAll judges everything about a directory, whose facts must be complete.
func judgeAll(f *postgres.Facts, now time.Time) *site.Snapshot {
	d := New(f, Options{Now: now, Next: now.Add(time.Hour), BaseURL: "https://tollbook.example"})
	d.Survey(0, len(f.Services), nil)
	d.Prepare()
	for i := range f.Services {
		l := d.Service(i)
		d.Add(i, &l)
		d.Snapshot.Services[i] = l
	}
	d.Finish()
	return d.Snapshot
}
