package chain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain"
)

// TestShipped checks that the shipped list is complete and that every account passes the checks of an import.
func TestShipped(t *testing.T) {
	t.Parallel()
	list, err := chain.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	accounts, dated, deprecated := 0, 0, 0
	by := map[string]int{}
	websites := map[string]string{}
	for _, f := range list {
		accounts += len(f.Settlers)
		by[f.UpstreamStatus]++
		websites[f.ID] = f.WebsiteURL
		for _, s := range f.Settlers {
			if s.Since != nil {
				dated++
			}
			if s.Deprecated {
				deprecated++
			}
		}
	}
	if diff := cmp.Diff([]int{91, 286, 267, 22}, []int{len(list), accounts, dated, deprecated}); diff != "" {
		t.Errorf("facilitators, addresses, dated, deprecated (-want +got):\n%s", diff)
	}
	want := map[string]int{"merged": 30, "merged_after_snapshot": 2, "pull_request": 50, "ecosystem_page_only": 7,
		"protocol": 2}
	if diff := cmp.Diff(want, by); diff != "" {
		t.Errorf("by status (-want +got):\n%s", diff)
	}
	if got := websites["b402"]; got != "https://facilitator.b402.ai" {
		t.Errorf("website of b402, which names none: %q, want the origin of its facilitator_url", got)
	}
}

const acme = `{"id": "acme", "name": "Acme", "website_url": "https://acme.test", "upstream_status": "merged", ` +
	`"addresses": [` + account + `]}`
const account = `{"network": "eip155:8453", "address": "0x73B2B8df52fbe7c40fe78db52e3dffdd5db5ad07", "tokens": ` +
	`["0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"], "since": "2025-10-29"}`

func list(entries ...string) string {
	return `{"facilitators": [` + strings.Join(entries, ",\n") + `]}`
}

func TestRead(t *testing.T) {
	t.Parallel()
	bolt := `{"id": "bolt", "name": "Bolt", "facilitator_url": "https://pay.bolt.test:8443/x402?a=b", ` +
		`"upstream_status": "pull_request", "addresses": []}`
	got, err := chain.ReadFacilitators("x.json", strings.NewReader(list(acme, bolt)))
	if err != nil {
		t.Fatal(err)
	}
	since := time.Date(2025, 10, 29, 0, 0, 0, 0, time.UTC)
	want := []chain.Facilitator{
		{ID: "acme", Name: "Acme", WebsiteURL: "https://acme.test", UpstreamStatus: "merged",
			Settlers: []chain.Settler{{
				Network: "eip155:8453", Address: "0x73b2b8df52fbe7c40fe78db52e3dffdd5db5ad07",
				Tokens: []string{"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"}, Since: &since,
			}}},
		{
			ID: "bolt", Name: "Bolt", WebsiteURL: "https://pay.bolt.test:8443",
			FacilitatorURL: "https://pay.bolt.test:8443/x402?a=b",
			UpstreamStatus: "pull_request", Settlers: []chain.Settler{},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facilitators (-want +got):\n%s", diff)
	}
}

// TestFaults checks that each fault refuses the whole list and names the facilitator.
func TestFaults(t *testing.T) {
	t.Parallel()
	edit := func(old, new string) string {
		if !strings.Contains(acme, old) {
			t.Fatalf("acme has no %s", old)
		}
		return list(strings.Replace(acme, old, new, 1))
	}
	solana := `{"network": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "address": ` +
		`"L5CnrVzFtLpYfsMsQBHsHqzYpqRmGrNCW9mF1sEnPCW", "tokens": ["EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"]}`
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 1: unexpected end of JSON input"},
		{"no list", "{}", "has no facilitators"},
		{"an array", "[]", "the entry: want struct, got array"},
		{"cut off", list(acme)[:200], "unexpected end of JSON input"},
		{"on line 2", "{\n\"facilitators\": oops}", "line 2: invalid character 'o'"},
		{"two values", list(acme) + "{}", "after top-level value"},
		{"unknown member", edit(`"name":`, `"nam":`), `facilitator acme: unknown field "nam"`},
		{"unknown member of an address", edit(`"tokens":`, `"token":`), `unknown field "token"`},
		{"a number for a name", edit(`"Acme"`, "7"), "facilitator acme: name: want string, got number"},
		{"no object", list("7"), "facilitator number 1: the entry: want struct, got number"},
		{"no id", edit(`"id": "acme"`, `"id": ""`), `facilitator number 1: id ""`},
		{"id with a slash", edit(`"id": "acme"`, `"id": "a/b"`), `facilitator number 1: id "a/b"`},
		{"the id of a path", edit(`"id": "acme"`, `"id": "matrix"`), "facilitator matrix: id matrix is reserved for"},
		{"no name", edit(`"Acme"`, `" "`), "facilitator acme: name is missing"},
		{"long name", edit(`"Acme"`, `"`+strings.Repeat("é", 101)+`"`), "name has 101 characters"},
		{"control characters", edit(`"Acme"`, `"a\u0007"`), "name contains control characters"},
		{"no status", edit(`"merged"`, `""`), "facilitator acme: upstream_status"},
		{"no website", edit(`"website_url": "https://acme.test", `, ""),
			"facilitator acme: has neither website_url nor facilitator_url"},
		{"website by ftp", edit("https://acme.test", "ftp://acme.test"), "facilitator acme: website_url"},
		{"website with a password", edit("https://acme.test", "https://a:b@acme.test"), "must not contain a user name"},
		{"no CAIP-2", edit("eip155:8453", "base"), `network "base" is not a CAIP-2 id`},
		{"short address", edit("5ad07", "5ad0"), "not an address of this network"},
		{"address of another chain", edit("eip155:8453", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"), "not an address"},
		{"burn address", edit("0x73B2B8df52fbe7c40fe78db52e3dffdd5db5ad07",
			"0x0000000000000000000000000000000000000000"), "nobody can spend"},
		{"the token as settler", edit("0x73B2B8df52fbe7c40fe78db52e3dffdd5db5ad07",
			"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"), "is a token"},
		{"no tokens", edit(`["0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"]`, "[]"), "has 0 tokens"},
		{"bad token", edit(`["0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"]`, `["USDC"]`), `token "USDC"`},
		{"a token twice", edit(`02913"]`, `02913", "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"]`), "is listed twice"},
		{"no day", edit("2025-10-29", "2025-13-29"), `since "2025-13-29"`},
		{"before there were chains", edit("2025-10-29", "0001-01-01"), `since "0001-01-01"`},
		{"an id twice", list(acme, strings.Replace(acme, account, solana, 1)), "facilitator acme: is listed twice"},
		{"an address twice, cased otherwise",
			list(strings.Replace(acme, account, account+","+strings.Replace(account, "73B2B8", "73b2b8", 1), 1)),
			"is listed twice on eip155:8453"},
		{"claimed by two", list(acme, strings.NewReplacer(`"acme"`, `"bolt"`, "73B2B8", "73b2b8").Replace(acme)),
			"facilitator bolt: address \"0x73b2b8df52fbe7c40fe78db52e3dffdd5db5ad07\" on eip155:8453 is claimed by " +
				"facilitator acme too"},
		{"another's token as settler",
			list(acme, strings.NewReplacer(`"acme"`, `"bolt"`, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
				"0x73B2B8df52fbe7c40fe78db52e3dffdd5db5ad07",
				"0x73B2B8df52fbe7c40fe78db52e3dffdd5db5ad07",
				"0x209693Bc6afc0C5328bA36FaF03C514EF312287C").Replace(acme)),
			"facilitator acme: address \"0x73b2b8df52fbe7c40fe78db52e3dffdd5db5ad07\" on eip155:8453 is a " +
				"token in this list"},
	} {
		got, err := chain.ReadFacilitators("x.json", strings.NewReader(c.text))
		if err == nil {
			t.Errorf("%s: read as %v, want %s", c.name, got, c.want)
			continue
		}
		var fault *chain.Fault
		if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "x.json: ") ||
			!errors.As(err, &fault) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	both := strings.Replace(strings.Replace(acme, `"Acme"`, `""`, 1), `"merged"`, `"?"`, 1)
	if _, err := chain.ReadFacilitators("x.json", strings.NewReader(list(both))); strings.Count(err.Error(),
		"\n") != 1 {
		t.Errorf("two faults: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(list(acme))
	f.Add(`{"facilitators":[null,{},{"addresses":[{}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := chain.ReadFacilitators("x.json", strings.NewReader(text))
		if (err == nil) != (len(got) > 0) {
			t.Errorf("%d facilitators, error %v", len(got), err)
		}
	})
}
