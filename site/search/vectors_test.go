package search

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/encode"
)

var update = flag.Bool("update", false, "write testdata/vectors.json")

// vectorsFile contains requests with their responses, for programs in other languages that repeat the formula.
const vectorsFile = "testdata/vectors.json"

// vector is a request, the services that match it, and the bytes of the response.
type vector struct {
	Name     string    `json:"name"`
	Now      site.Time `json:"now"`
	Wanted   wanted    `json:"wanted"`
	Services []service `json:"services"`
	Response string    `json:"response"`
}

// TestVectors compares vectorsFile with the responses to every case and to random services.
func TestVectors(t *testing.T) {
	var vectors []vector
	for _, c := range rankingCases {
		vectors = append(vectors, vector{Name: c.name, Wanted: c.complete(),
			Services: append([]service{}, c.services...)})
	}
	random := rand.New(rand.NewPCG(21, 2))
	for i := range 16 {
		vectors = append(vectors, randomVector("random "+strconv.Itoa(i+1), random))
	}
	var rows [][]byte
	for i := range vectors {
		v := &vectors[i]
		v.Now = site.NewTime(now)
		list, meta := rank(t, v.Wanted, v.Services)
		response, err := encode.AppendFramed(nil, encode.Framing{}, list, meta)
		if err != nil {
			t.Fatal(err)
		}
		v.Response = string(response)
		row, err := encode.Row(v)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	got := encode.AppendList(nil, rows)
	if *update {
		if err := os.WriteFile(vectorsFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run go test ./site/best -update after a change of the formula (-want +got):\n%.4000s", diff)
	}
	if !json.Valid(got) {
		t.Error("the vectors are not valid JSON")
	}
}

// randomVector returns a request for random services, with values at and beyond the limits of every rule.
func randomVector(name string, r *rand.Rand) vector {
	v := vector{Name: name, Services: []service{}, Wanted: wanted{Prefer: pick(r, site.Preferences...),
		Limit: 1 + r.IntN(20), FullRelevance: pick(r, 0, 1, 777, 12345), RequireVerified: r.IntN(8) == 0,
		Network: pick(r, "", "", "BSE", "SOL"), Method: pick(r, "", "", "POST")}}
	if r.IntN(2) == 0 {
		v.Wanted.MaxPriceUSD = dollars(pick[site.Decimal](r, "0.01", "0", "12.5"))
	}
	for i := range r.IntN(24) {
		v.Services = append(v.Services, randomService("service-"+strconv.Itoa(i), r, v.Wanted.Network))
	}
	return v
}

// randomService returns a random service whose prices are its lowest and its dearest on the network.
func randomService(slug string, r *rand.Rand, network string) service {
	s := newService(slug, up(float64(r.IntN(10_001))/100, pick[int64](r, 0, 1, 19, 2880, 5_000_000)),
		p95(pick(r, 0, 1, 7, 250, 939, 5000, 3_000_000)), grade(pick(r, "A", "A", "A", "B", "C", "D", "F", "unknown")),
		risk(pick(r, site.RiskClean, site.RiskClean, site.RiskClean, site.RiskWarning, site.RiskWarning,
			site.RiskDanger)),
		status(pick(r, site.StatusOnline, site.StatusOnline, site.StatusDegraded, site.StatusDegraded,
			site.StatusOffline)),
		matching(pick(r, 1, 300, 777, 6172, 12345, 99_999)),
		paidBy(pick[int64](r, 0, 1, 7, 20, 1_000_000),
			pick[site.Decimal](r, "0", "0.99", "7", "33.333", "99999999999999999999")),
		answered(pick(r, -time.Hour, 0, 59_999*time.Millisecond, 119*time.Minute, 47*time.Hour, 8*24*time.Hour)))
	s.Verified = r.IntN(2) == 0
	if r.IntN(8) == 0 {
		s.Uptime30d, s.ResponseP95MS, s.Buyers30d, s.VolumeUSD30d = nil, nil, nil, nil
	}
	s.Operator = pick(r, "", "", "service-0", "service-1")
	s.Endpoints, s.Price, s.DearestUSD = []rankingEndpoint{}, nil, nil
	for i := range 1 + r.IntN(3) {
		prices := map[string]site.Decimal{}
		for range r.IntN(3) {
			prices[pick(r, "BSE", "SOL")] = pick[site.Decimal](r, "0", "0.000000001", "0.0000000019", "0.003", "0.01",
				"0.010000000000000001", "1", "999.999999999", "1000", "123456789012345678901234567890")
		}
		e := newEndpoint("/"+strconv.Itoa(i), prices, r.IntN(3))
		e.Method, e.Payable, e.Testnet = pick(r, "GET", "POST"), r.IntN(6) > 0, r.IntN(8) == 0
		if s.Endpoints = append(s.Endpoints, e); network == "" || prices[network] != "" {
			if p, _ := e.lowest(network); comparePrices(p, s.Price) < 0 {
				s.Price = p
			}
			if p, _ := e.lowest(network); e.Payable && p != nil &&
				(s.DearestUSD == nil || p.Compare(*s.DearestUSD) > 0) {
				s.DearestUSD = p
			}
		}
	}
	return s
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }
