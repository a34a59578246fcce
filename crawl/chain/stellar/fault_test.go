package stellar_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/crawl/chain/stellar"
	"tollbook/site/postgres/ledger"
)

// faults are the ways in which a server may answer badly. Each changes an answer that has rows of transactions, or
// none of them (root).
func faults() map[string]func(rows []any, answer map[string]any) (status int) {
	edit := func(member string, to any) func([]any, map[string]any) int {
		return func(rows []any, _ map[string]any) int {
			if len(rows) > 0 {
				rows[1].(map[string]any)[member] = to
			}
			return 0
		}
	}
	root := func(member string, to any) func([]any, map[string]any) int {
		return func(_ []any, answer map[string]any) int {
			if _, ok := answer[member]; ok {
				answer[member] = to
			}
			return 0
		}
	}
	inPages := func(f func(rows []any, answer map[string]any) int) func([]any, map[string]any) int {
		return func(rows []any, answer map[string]any) int {
			if len(rows) == 0 {
				return 0
			}
			return f(rows, answer)
		}
	}
	return map[string]func([]any, map[string]any) int{
		"a failed transaction":   edit("successful", false),
		"no word of success":     edit("successful", nil),
		"another ledger":         edit("ledger", 7),
		"a paging token of text": edit("paging_token", "now"),
		"a negative token":       edit("paging_token", "-5"),
		"no hash":                edit("hash", "0x12"),
		"another hash":           edit("hash", strings.Repeat("ab", 32)),
		"no time":                edit("created_at", "1970-01-01T00:00:00Z"),
		"a time of text":         edit("created_at", "yesterday"),
		"a time before Stellar":  edit("created_at", "2015-01-01T00:00:00Z"),
		"a negative time":        edit("created_at", "1901-01-01T00:00:00Z"),
		"a time in the future":   edit("created_at", "9999-12-31T23:59:59Z"),
		"a time of five digits":  edit("created_at", "10000-01-01T00:00:00Z"),
		"a head in the future":   root("history_latest_ledger_closed_at", "9999-12-31T23:59:59Z"),
		"a head of 1970":         root("history_latest_ledger_closed_at", "1970-01-01T00:00:01Z"),
		"another payer of the fee": edit("fee_account",
			"GAUUL3VUYFI2YWE7KI2ACU7SKULFAIKEHM6UBL7BMNOU2FBP2O3E3JHH"),
		"no envelope":            edit("envelope_xdr", ""),
		"half an envelope":       edit("envelope_xdr", "AAAAAgAAAABodnYKpT7fhJLA"),
		"an envelope of no kind": edit("envelope_xdr", "AAAACQAAAAA="),
		"an envelope of text":    edit("envelope_xdr", "?"),
		"a larger amount": inPages(func(rows []any, _ map[string]any) int {
			row := rows[1].(map[string]any)
			raw, _ := base64.StdEncoding.DecodeString(row["envelope_xdr"].(string))
			raw[len(raw)-88] = 9 // of the amount's second word
			row["envelope_xdr"] = base64.StdEncoding.EncodeToString(raw)
			return 0
		}),
		"a page out of order": inPages(func(rows []any, _ map[string]any) int { slices.Reverse(rows); return 0 }),
		"a page twice over": inPages(func(rows []any, answer map[string]any) int {
			answer["_embedded"] = map[string]any{"records": slices.Concat(rows, rows)}
			return 0
		}),
		"no rows": inPages(func(_ []any, answer map[string]any) int { delete(answer, "_embedded"); return 0 }),
		"rows that are one": inPages(func(_ []any, answer map[string]any) int {
			answer["_embedded"] = map[string]any{"records": 1}
			return 0
		}),
		"another network":   root("network_passphrase", "Test SDF Network ; September 2015"),
		"no ledgers":        root("history_latest_ledger", 0),
		"no first ledger":   root("history_elder_ledger", -1),
		"too many requests": inPages(func([]any, map[string]any) int { return http.StatusTooManyRequests }),
		"a broken gateway":  inPages(func([]any, map[string]any) int { return http.StatusBadGateway }),
	}
}

// TestFaults tests each fault two ways: at one of two servers, and at the only one. In the last case nothing may be
// lost or invented, and everything must be read once the server works again.
func TestFaults(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.StellarHistory(130)
	acme := ledger.ScanSettler{Address: settler, Facilitator: "acme"}
	spoil := func(fault func([]any, map[string]any) int) func(string, url.Values, map[string]any) int {
		return func(_ string, _ url.Values, answer map[string]any) int {
			embedded, _ := answer["_embedded"].(map[string]any)
			rows, _ := embedded["records"].([]any)
			for i := range rows { // the server keeps its own
				copied := map[string]any{}
				for member, value := range rows[i].(map[string]any) {
					copied[member] = value
				}
				rows[i] = copied
			}
			return fault(rows, answer)
		}
	}
	for name, fault := range faults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, good := newServer(t, all), newServer(t, all)
			bad.Spoil = spoil(fault)
			s := newStore(acme)
			report, err := newReader(t, s, nil, bad, good).Once(t.Context())
			if diff := cmp.Diff(successes(0, 130), s.amounts()); diff != "" || err != nil || report.Errors == 0 {
				t.Errorf("beside a good server: %v, %d errors (-want +got):\n%s", err, report.Errors, diff)
			}

			s = newStore(acme)
			if _, err := newReader(t, s, nil, bad).Once(t.Context()); err == nil || s.commits > 0 ||
				strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "http://127.0.0.1:") {
				t.Errorf("alone: %v, %d commits", err, s.commits)
			}
			bad.Set(func(n *chaintest.Stellar) { n.Spoil = nil })
			if _, err := newReader(t, s, nil, bad).Once(t.Context()); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(successes(0, 130), s.amounts()); diff != "" {
				t.Errorf("after the fault (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLag checks that a server that is a little behind is used, and one that is far behind is not.
func TestLag(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.StellarHistory(400)
	for _, c := range []struct {
		lag  int64
		want []int
	}{{20, successes(0, 381)}, {150, successes(0, 400)}} {
		s := newStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
		node := newServer(t, all)
		requests := 0
		node.Spoil = func(path string, _ url.Values, answer map[string]any) int {
			if requests++; requests == 2 { // the network's identity, then the head
				node.Lag = c.lag
			} else if requests == 4 && c.lag > 100 {
				node.Lag = 0
			}
			return 0
		}
		if _, err := newReader(t, s, nil, node).Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, s.amounts()); diff != "" {
			t.Errorf("%d ledgers behind (-want +got):\n%s", c.lag, diff)
		}
		if w := s.walks[settler]; w.NewestSlot != s.head.Block-node.Lag {
			t.Errorf("%d ledgers behind: read up to ledger %d of %d", c.lag, w.NewestSlot, s.head.Block)
		}
	}
}

// TestNew checks the networks that can be read.
func TestNew(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"stellar:pubnet": "", "stellar:testnet": "", "stellar:futurenet": "no token to measure",
		"eip155:8453": "want a network of namespace stellar",
	} {
		_, err := stellar.New(chain.Network{ID: id, RPC: []string{"http://127.0.0.1:1"}}, newStore(), chain.Options{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
}
