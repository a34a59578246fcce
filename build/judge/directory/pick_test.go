package directory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

var pickNow = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// newRow returns the row of a service that may be picked, with a price and a number of buyers; "" and a negative number
// are unknown.
func newRow(slug, price string, buyers int64, edits ...func(*site.ServiceRow)) *site.ServiceRow {
	at := site.NewTime(pickNow.Add(-time.Hour))
	r := &site.ServiceRow{ServiceListItem: site.ServiceListItem{Slug: slug, Name: "The " + slug,
		Status: site.StatusOnline, RiskLevel: site.RiskClean, AdviceLevel: site.AdviceGood}}
	r.Assessment.PaymentReady, r.Assessment.LastSuccessAt = true, &at
	e := site.RowEndpoint{Method: "GET", Path: "/", Networks: []string{"BSE"}, Payable: true}
	if price != "" {
		e.PriceUSD = &price
	}
	if buyers >= 0 {
		r.Assessment.Traction.UniqueBuyers30d, r.Assessment.Traction.OrganicBuyers30d = &buyers, &buyers
	}
	r.Endpoints = []site.RowEndpoint{e}
	for _, edit := range edits {
		edit(r)
	}
	return r
}

// TestOf checks that what would lose a payment, and what is not good, is never picked.
func TestOf(t *testing.T) {
	for _, test := range []struct {
		name string
		edit func(*site.ServiceRow)
		want string // price and network
	}{
		{"good", func(*site.ServiceRow) {}, "0.01 BSE"},
		{"do not pay", func(r *site.ServiceRow) { r.AdviceLevel = site.AdviceDoNotPay }, ""},
		{"caution", func(r *site.ServiceRow) { r.AdviceLevel = site.AdviceCaution }, ""},
		{"unknown", func(r *site.ServiceRow) { r.AdviceLevel = site.AdviceUnknown }, ""},
		{"danger", func(r *site.ServiceRow) { r.RiskLevel = site.RiskDanger }, ""},
		{"offline", func(r *site.ServiceRow) { r.Status = site.StatusOffline }, ""},
		{"not ready", func(r *site.ServiceRow) { r.Assessment.PaymentReady = false }, ""},
		{"no terms", func(r *site.ServiceRow) { r.Assessment.LastSuccessAt = nil }, ""},
		{"old terms", func(r *site.ServiceRow) {
			at := site.NewTime(pickNow.AddDate(0, 0, -7))
			r.Assessment.LastSuccessAt = &at
		}, ""},
		{"no endpoint", func(r *site.ServiceRow) { r.Endpoints = nil }, ""},
		{"payment lost", func(r *site.ServiceRow) { r.Endpoints[0].Payable = false }, ""},
		{"test network", func(r *site.ServiceRow) { r.Endpoints[0].Testnet = true }, ""},
		{"no price", func(r *site.ServiceRow) { r.Endpoints[0].PriceUSD = nil }, "unknown BSE"},
		{"a cheaper endpoint that loses payments", func(r *site.ServiceRow) {
			low := "0.001"
			r.Endpoints = append(r.Endpoints, site.RowEndpoint{Networks: []string{"SOL"}, PriceUSD: &low})
		}, "0.01 BSE"},
		{"prices by network", func(r *site.ServiceRow) {
			r.Endpoints[0].Networks = []string{"BSE", "SOL"}
			r.Endpoints[0].PricesUSD = map[string]string{"BSE": "0.01", "SOL": "0.005"}
		}, "0.005 SOL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if p := PicksOf(newRow("one", "0.01", 3, test.edit), pickNow); p != nil {
				price := "unknown"
				if p.PriceUSD != nil {
					price = string(*p.PriceUSD)
				}
				got = price + " " + p.Network
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestPicks(t *testing.T) {
	for _, test := range []struct {
		name string
		rows []*site.ServiceRow
		want [2]string // slugs of the cheapest and the most used
	}{
		{"none", nil, [2]string{}},
		{"one without buyers", []*site.ServiceRow{newRow("a", "0.01", 0)}, [2]string{"a", ""}},
		{"unknown buyers", []*site.ServiceRow{newRow("a", "0.01", -1)}, [2]string{"a", ""}},
		{"no price", []*site.ServiceRow{newRow("a", "", 4)}, [2]string{"", "a"}},
		{"two", []*site.ServiceRow{newRow("a", "0.02", 9), newRow("b", "0.01", 3)}, [2]string{"b", "a"}},
		{"numbers are compared, not texts", []*site.ServiceRow{newRow("a", "0.009", 9), newRow("b", "0.01", 10)},
			[2]string{"a", "b"}},
		{"the same price", []*site.ServiceRow{newRow("a", "0.01", 1), newRow("b", "0.01", 2)}, [2]string{"b", "b"}},
		{"the same buyers", []*site.ServiceRow{newRow("a", "0.02", 2), newRow("b", "", 2), newRow("c", "0.01", 2)},
			[2]string{"c", "c"}},
		{"most buyers are relatives", []*site.ServiceRow{newRow("a", "0.02", 9, func(r *site.ServiceRow) {
			r.Assessment.Traction.OrganicBuyers30d = new(int64(1))
		}), newRow("b", "0.03", 2)}, [2]string{"a", "b"}},
		{"all the same", []*site.ServiceRow{newRow("b", "0.01", 2), newRow("a", "0.01", 2)}, [2]string{"a", "a"}},
		{"the cheapest is not good", []*site.ServiceRow{newRow("a", "0.02", 1),
			newRow("b", "0.001", 99, func(r *site.ServiceRow) { r.AdviceLevel = site.AdviceDoNotPay })},
			[2]string{"a", "a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Picks{}
			for _, row := range test.rows {
				p.Add("Data", PicksOf(row, pickNow))
			}
			tags := []site.Tag{{Tag: "Data"}, {Tag: "Other"}}
			p.Set(tags)
			if diff := cmp.Diff(test.want, [2]string{slug(tags[0].Cheapest), slug(tags[0].MostUsed)}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if tags[1].Cheapest != nil || tags[1].MostUsed != nil {
				t.Error("a category has picks of another")
			}
		})
	}
}

func slug(p *site.Pick) string {
	if p == nil {
		return ""
	}
	return p.Slug
}
