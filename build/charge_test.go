package build_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/load"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// metered is a service of TestWhatCallsCost, whose name is its slug.
type metered struct {
	slug   string
	prices []checks.Price // without their endpoint's id; each endpoint is /0, /1, …
	place  []int          // of the endpoint of each price
	want   site.SettledPrice
	also   *time.Time // until when its first endpoint offers the account of the first price over MPP; nil for never
}

// TestWhatCallsCost stores settlements to the recipients of services that ask for a maximum, builds, and reads what
// their calls cost: from settlements to a recipient that one price alone names.
func TestWhatCallsCost(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	created, moved := moment.AddDate(0, 0, -120), moment.AddDate(0, 0, -10)
	upto := func(payTo, amount string, since time.Time, until *time.Time) checks.Price {
		return checks.Price{Since: since, Until: until, Scheme: "upto", Network: chainBase,
			NetworkCAIP2: new(chainBase), Asset: chainUSDC, PayTo: payTo, Amount: amount, X402Version: 2}
	}
	batch, fixed := upto(payee(7), "100000", created, nil), upto(payee(8), "100000", created, nil)
	batch.Scheme, fixed.Scheme = "batch-settlement", "exact"
	polygon := upto(payee(9), "100000", created, nil)
	polygon.Network, polygon.NetworkCAIP2 = "eip155:137", new("eip155:137")
	unknown := func(reason string) site.SettledPrice { return site.SettledPrice{WindowDays: 30, Reason: &reason} }
	window := moment.AddDate(0, 0, -29).Format(time.DateOnly)
	now := moment
	few := func(since time.Time) site.SettledPrice {
		return site.SettledPrice{Calls: new(int64(0)), WindowDays: 30, Reason: new("fewer than 20 settlements"),
			Since: new(since.Format(time.DateOnly))}
	}
	services := []metered{
		{"alone", []checks.Price{upto(payee(0), "100000", created, nil)}, []int{0},
			site.SettledPrice{MedianUSD: new("0.02"), P95USD: new("0.06"), Calls: new(int64(40)), WindowDays: 30,
				Since: &window}, nil},
		{"batch", []checks.Price{batch}, []int{0}, unknown("one settlement pays for several calls"), nil},
		{"elsewhere", []checks.Price{polygon}, []int{0},
			unknown("settlements to this recipient are not measured"), nil},
		{"few", []checks.Price{upto(payee(1), "100000", created, nil)}, []int{0},
			site.SettledPrice{Calls: new(int64(19)), WindowDays: 30, Since: &window,
				Reason: new("fewer than 20 settlements")}, nil},
		{"fixed", []checks.Price{fixed}, []int{0}, site.SettledPrice{}, nil},
		// "early" named the recipient of "heir" until ten days ago, and has the rows
		{"early", []checks.Price{upto(payee(6), "100000", created, &moved), upto(payee(10), "100000", moved, nil)},
			[]int{0, 0}, few(moment.AddDate(0, 0, -9)), nil},
		{"heir", []checks.Price{upto(payee(6), "100000", created, nil)}, []int{0},
			unknown("another service names the same recipient, or did"), nil},
		{"lowered", []checks.Price{upto(payee(2), "900000", created, &moved), upto(payee(2), "100000", moved, nil)},
			[]int{0, 0}, site.SettledPrice{MedianUSD: new("0.01"), P95USD: new("0.01"), Calls: new(int64(20)),
				WindowDays: 30, Since: new(moment.AddDate(0, 0, -8).Format(time.DateOnly))}, nil},
		{"offered", []checks.Price{upto(payee(11), "100000", created, nil)}, []int{0},
			unknown("another price names the same recipient"), &now},
		{"once-offered", []checks.Price{upto(payee(12), "100000", created, nil)}, []int{0},
			few(moment.AddDate(0, 0, -8)), &moved},
		{"over", []checks.Price{upto(payee(3), "100000", created, nil)}, []int{0},
			unknown("the recipient receives more than the maximum, so other things are paid there"), nil},
		{"pair", []checks.Price{upto(payee(4), "100000", created, nil), upto(payee(4), "100000", created, nil)},
			[]int{0, 1}, unknown("another price names the same recipient"), nil},
		{"shared-a", []checks.Price{upto(payee(5), "100000", created, nil)}, []int{0},
			unknown("another service names the same recipient, or did"), nil},
		{"shared-b", []checks.Price{upto(payee(5), "100000", created, nil)}, []int{0},
			unknown("another service names the same recipient, or did"), nil},
	}
	dsn := emptyTemplate.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	listMetered(t, db, services, created)
	offerCurrent(t, dsn)
	commitSettlements(t, db, meteredSettlements())
	dir := tempDir(t)
	o := options(moment)
	o.Expand = output.ExpandAll
	run(t, db, dir, o)
	for _, s := range services {
		var file struct{ Data site.ServiceDetail }
		data, err := os.ReadFile(filepath.Join(dir, "current", "v1/services", s.slug+".json"))
		if err == nil {
			err = json.Unmarshal(data, &file)
		}
		if err != nil {
			t.Fatal(err)
		}
		var got site.SettledPrice
		if p := file.Data.Endpoints[0].Pricing[0].Settled; p != nil {
			got = *p
		}
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.slug, diff)
		}
	}
}

func listMetered(t *testing.T, db *postgres.DB, services []metered, created time.Time) {
	t.Helper()
	var listings []postgres.Listing
	var histories []load.History
	for _, s := range services {
		l := postgres.Listing{Slug: s.slug, Name: s.slug, BaseURL: "https://" + s.slug + ".test", Category: "Data",
			Source: "imported:file", CreatedAt: created}
		h := load.History{Slug: s.slug}
		for i, p := range s.prices {
			path := fmt.Sprintf("/%d", s.place[i])
			p.EndpointID = postgres.EndpointID(s.slug, "GET", path)
			h.Prices = append(h.Prices, p)
			if len(l.Endpoints) == s.place[i] {
				l.Endpoints = append(l.Endpoints, postgres.ListedEndpoint{Method: "GET", Path: path})
				if s.also != nil {
					h.Offers = append(h.Offers, newOffers(p, created, s.also))
				}
				h.Endpoints = append(h.Endpoints, load.EndpointHistory{Method: "GET", Path: path, FirstSeenAt: created,
					LastPaidAt: new(moment.Add(-time.Minute))})
			}
		}
		listings, histories = append(listings, l), append(histories, h)
	}
	if err := load.Sample(t.Context(), db, "made up for a test", listings, histories); err != nil {
		t.Fatal(err)
	}
}

// newOffers returns an offer over MPP to the recipient of a price, in its token. One until moment is current.
func newOffers(p checks.Price, since time.Time, until *time.Time) checks.OfferSet {
	if until.Equal(moment) {
		until = nil
	}
	return checks.OfferSet{EndpointID: p.EndpointID, Since: since, Until: until, Offers: []checks.Offer{{
		Protocol: "mpp", Scheme: "evm/charge", Network: p.Network, NetworkCAIP2: *p.NetworkCAIP2, Asset: p.Asset,
		Amount: "500", PayTo: p.PayTo}}}
}

// offerCurrent gives the endpoints their current offers, as visits do.
func offerCurrent(t *testing.T, dsn string) {
	t.Helper()
	done, err := postgrestest.Connect(t, dsn).Exec(t.Context(), `
		UPDATE endpoints SET offers = s.offers FROM offer_sets s WHERE endpoint_id = id AND until IS NULL`)
	if err != nil || done.RowsAffected() == 0 {
		t.Fatal(done, err)
	}
}

// meteredSettlements returns settlements to the recipients of TestWhatCallsCost, in the order of blocks. Some of those
// to "alone" and "lowered" are too old to count, or in a token without a value in dollars.
func meteredSettlements() (list []ledger.Settlement) {
	add := func(to int, ago int, amount, token string) {
		n := len(list)
		list = append(list, ledger.Settlement{Network: chainBase, Block: int64(n), BlockHash: "0x1",
			Time:        moment.AddDate(0, 0, -ago).Add(time.Duration(n) * time.Second),
			Transaction: fmt.Sprintf("0x%064x", n),
			Facilitator: []string{"counts", "x402.rs"}[n%2], Settler: account("a", n%2+1), Token: token,
			Payer: account("d", n%9), Payee: payee(to), Amount: amount, Method: "eip3009"})
	}
	for range 30 {
		add(0, 40, "99000", chainUSDC)
		add(2, 9, "900000", chainUSDC)
	}
	for n := range 40 { // half at most 0.02, 38 of 40 at most 0.06
		amount := "20000"
		switch {
		case n < 10:
			amount = "5"
		case n >= 38:
			amount = "100000"
		case n >= 20:
			amount = "60000"
		}
		add(0, n%29, amount, chainUSDC)
	}
	add(0, 1, "100000", chainEURC)
	for n := range 20 {
		add(1, 1+29*(n/19), "10000", chainUSDC) // the last one is 30 days old
		add(2, 1, "10000", chainUSDC)
		for to := 3; to <= 8; to++ {
			add(to, 2, "10000", chainUSDC)
		}
	}
	add(3, 1, "100001", chainUSDC)
	return list
}
