package sample_test

import (
	"maps"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/crawl/sample"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/load"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
	"tollbook/site/x402"
)

func openTest(t *testing.T) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// settledFacts are the facts that a build reads about a network's settlements, without those that depend on when and in
// which ranges they were read.
type settledFacts struct {
	Facilitators []ledger.FacilitatorFacts
	Chains       []ledger.ChainFacts
	Revenue      *ledger.Revenue
}

// exported ignores unexported fields of revenue, the intermediate results.
var exported = cmpopts.IgnoreUnexported(ledger.Revenue{}, ledger.PayeeFacts{})

func readSettled(t *testing.T, db *postgres.DB, network string, now time.Time) (f settledFacts) {
	t.Helper()
	err := db.Read(t.Context(), func(r *postgres.Reader) error {
		facts, err := r.Facts(t.Context(), now, 0)
		if err != nil {
			return err
		}
		var counted []ledger.CountedToken
		for _, one := range facts.Facilitators {
			all := one.Tokens
			one.Tokens = nil
			for _, flow := range all {
				if flow.Network == network {
					one.Tokens = append(one.Tokens, flow)
					counted = append(counted, ledger.CountedToken{Facilitator: one.ID, Network: network,
						Token: flow.Token,
						Unit:  "0.000001"})
				}
			}
			maps.DeleteFunc(one.LastAt, func(account [2]string, _ time.Time) bool { return account[0] != network })
			if len(one.LastAt) == 0 {
				one.LastAt = nil
			}
			f.Facilitators = append(f.Facilitators, one)
		}
		for _, c := range facts.Chains {
			if c.Network == network {
				c.PolledAt = nil
				for i := range c.Candidates {
					c.Candidates[i].Recipients = 0 // the maximum over ranges depends on their cut
				}
				f.Chains = append(f.Chains, c)
			}
		}
		f.Revenue, err = r.ReadRevenue(t.Context(), now, recipientsOn(facts.Services, network), counted)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// recipientsOn returns all addresses on a network that services ever asked to pay to.
func recipientsOn(services []postgres.ServiceFacts, network string) []ledger.Recipient {
	var list []ledger.Recipient
	seen := map[ledger.Recipient]bool{}
	for _, s := range services {
		for _, e := range s.Endpoints {
			for _, p := range e.Prices {
				if p.NetworkCAIP2 == nil || *p.NetworkCAIP2 != network {
					continue
				}
				r := ledger.Recipient{ServiceID: s.ID, Network: network,
					Address: x402.NormalizeAddress(network, p.PayTo)}
				if !seen[r] {
					seen[r] = true
					list = append(list, r)
				}
			}
		}
	}
	return list
}

// TestSampleChainIsIndexed writes the sample past and lets the real indexer continue from it, through a reorganisation.
// The result must equal a fresh index of the whole chain.
func TestSampleChainIsIndexed(t *testing.T) {
	testgate.All(t)
	began := time.Date(2026, 11, 21, 14, 30, 0, 0, time.UTC)
	var clock atomic.Int64
	clock.Store(began.UnixNano())
	now := func() time.Time { return time.Unix(0, clock.Load()).UTC() }
	world, err := sample.Start(t.Context(), sample.Options{Now: now, Start: began})
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	index := func(db *postgres.DB) chain.Report {
		t.Helper()
		x, err := crawl.NewIndexer(db,
			[]chain.Network{{ID: sample.Network, RPC: []string{world.RPC()}, Confirmations: 2,
				Start: world.Ledger().Genesis()}},
			chain.Options{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		reports, err := x.Once(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return reports[0]
	}

	db := openTest(t)
	if err := crawl.ImportShippedFacilitators(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := sample.Write(t.Context(), db, world, began, true, time.Minute); err != nil {
		t.Fatal(err)
	}
	before := readSettled(t, db, sample.Network, now())
	if err := sample.Write(t.Context(), db, world, began, false, time.Minute); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(before, readSettled(t, db, sample.Network, now()), exported); diff != "" {
		t.Errorf("written twice (-once +twice):\n%s", diff)
	}
	if r := index(db); r.RolledBack != 0 || r.Blocks == 0 || r.Blocks > 60 {
		t.Errorf("the indexer continues after the past with %+v, want only the blocks since then", r)
	}
	clock.Store(began.Add(7 * time.Minute).UnixNano())
	if r := index(db); r.RolledBack != 0 || r.Settlements < 5 {
		t.Errorf("seven minutes add %+v, want settlements", r)
	}
	clock.Store(began.Add(7*time.Minute + 12*time.Second).UnixNano())
	if r := index(db); r.RolledBack == 0 {
		t.Errorf("after a reorganisation: %+v, want some settlements rolled back", r)
	}

	fresh := openTest(t)
	if err := load.Sample(t.Context(), fresh, sample.Notice, sample.Listings(began, time.Minute),
		sample.Histories(began)); err != nil {
		t.Fatal(err)
	}
	if err := crawl.ImportShippedFacilitators(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.ImportFacilitators(t.Context(), sample.Facilitators(began)); err != nil {
		t.Fatal(err)
	}
	index(fresh)
	got, want := readSettled(t, db, sample.Network, now()), readSettled(t, fresh, sample.Network, now())
	if len(got.Revenue.Services) < 40 {
		t.Errorf("%d services have revenue, want most", len(got.Revenue.Services))
	}
	if len(got.Chains) != 1 || len(got.Chains[0].Candidates) != 1 ||
		got.Chains[0].Authorizations[0].Authorizations <= got.Chains[0].Authorizations[0].Attributed {
		t.Errorf("chains %+v, want Base alone, with a candidate and authorisations that nobody listed sent", got.Chains)
	}
	if diff := gocmp.Diff(want, got, exported); diff != "" {
		t.Errorf("fresh and continued index (-fresh +continued):\n%s", diff)
	}
}
