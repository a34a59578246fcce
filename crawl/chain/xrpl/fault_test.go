package xrpl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain/chaintest"
)

// TestFaults checks that an answer that can't be right is refused whole: with another node the index is as if the
// answer had never come, and without one nothing is stored that did not happen.
func TestFaults(t *testing.T) {
	t.Parallel()
	const other = "rPT1Sjq2YGrBMTttX4GZHjKu9dyfzbpAYe"
	// edit changes a member of the second payment, at a path with points.
	edit := func(path string, to any) func(string, map[string]any, map[string]any) int {
		return func(method string, _, result map[string]any) int {
			rows, _ := result["transactions"].([]any)
			if method != "account_tx" || len(rows) < 2 {
				return 0
			}
			at := rows[1].(map[string]any)
			names := strings.Split(path, ".")
			for _, name := range names[:len(names)-1] {
				at = at[name].(map[string]any)
			}
			if to == nil {
				delete(at, names[len(names)-1])
			} else {
				at[names[len(names)-1]] = to
			}
			return 0
		}
	}
	set := func(method, member string, to any) func(string, map[string]any, map[string]any) int {
		return func(got string, _, result map[string]any) int {
			if got == method {
				result[member] = to
			}
			return 0
		}
	}
	status := func(n int) func(string, map[string]any, map[string]any) int {
		return func(string, map[string]any, map[string]any) int { return n }
	}
	money := func(value any) map[string]any {
		currency, issuer, _ := strings.Cut(chaintest.XRPLRLUSD, ".")
		return map[string]any{"currency": currency, "issuer": issuer, "value": value}
	}
	for name, spoil := range map[string]func(string, map[string]any, map[string]any) int{
		"a transaction that is not validated": edit("validated", false),
		"no word of validation":               edit("validated", nil),
		"a ledger before the range":           edit("ledger_index", 5),
		"a ledger after the range":            edit("ledger_index", int64(1)<<40),
		"no ledger":                           edit("ledger_index", nil),
		"a ledger of text":                    edit("ledger_index", "7"),
		"no hash":                             edit("hash", nil),
		"half a hash":                         edit("hash", "ABCD"),
		"no time":                             edit("close_time_iso", nil),
		"a time of text":                      edit("close_time_iso", "yesterday"),
		"a time before the ledger":            edit("close_time_iso", "2012-12-31T00:00:00Z"),
		"a negative time":                     edit("close_time_iso", "1901-01-01T00:00:00Z"),
		"a time in the future":                edit("close_time_iso", "9999-12-31T23:59:59Z"),
		"a time of five digits":               edit("close_time_iso", "10000-01-01T00:00:00Z"),
		"a head in the future":                set("ledger", "ledger", map[string]any{"close_time": 1 << 31}),
		"a head of 2000":                      set("ledger", "ledger", map[string]any{"close_time": 1}),
		"no result":                           edit("meta.TransactionResult", nil),
		"no index":                            edit("meta.TransactionIndex", nil),
		"a negative index":                    edit("meta.TransactionIndex", -1),
		"no delivered amount":                 edit("meta.delivered_amount", nil),
		"a list delivered":                    edit("meta.delivered_amount", []any{1}),
		"a fraction of a drop":                edit("meta.delivered_amount", "0.5"),
		"a negative value":                    edit("meta.delivered_amount", money("-1")),
		"a value of text":                     edit("meta.delivered_amount", money("much")),
		"a number as value":                   edit("meta.delivered_amount", money(5)),
		"more than any supply":                edit("meta.delivered_amount", money("1e99")),
		"an exponent without end":             edit("meta.delivered_amount", money("1e999999999")),
		"no payer":                            edit("tx_json.Account", nil),
		"a payer that is no address":          edit("tx_json.Account", "<script>"),
		"a tag of text":                       edit("tx_json.SourceTag", "804681468"),
		"another account":                     set("account_tx", "account", other+"x"),
		"a page that is not validated":        set("account_tx", "validated", false),
		"no transactions":                     set("account_tx", "transactions", nil),
		"a part of the range":                 set("account_tx", "ledger_index_min", int64(100_000_050)),
		"a range that ends early":             set("account_tx", "ledger_index_max", int64(100_000_010)),
		"an error":                            set("account_tx", "error", "lgrIdxsInvalid"),
		"no status":                           set("account_tx", "status", nil),
		"a marker without end":                set("account_tx", "marker", strings.Repeat("x", 2000)),
		"another network":                     set("server_info", "info", map[string]any{"network_id": 1}),
		"no network":                          set("server_info", "info", map[string]any{}),
		"a head that is not validated":        set("ledger", "validated", false),
		"a head without time":                 set("ledger", "ledger", map[string]any{}),
		"a head of no number":                 set("ledger", "ledger_index", 0),
		"too busy":                            set("account_tx", "error", "slowDown"),
		"status 503":                          status(503),
		"status 429":                          status(429),
		"a marker that leads nowhere": func(method string, params, result map[string]any) int {
			if rows, _ := result["transactions"].([]any); method == "account_tx" && len(rows) > 0 {
				result["marker"] = map[string]any{"ledger": 1, "seq": -1} // the first page again
			}
			return 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hostile := chaintest.NewXRPL(chaintest.XRPLHistory(101)) // rows of its own, because spoil changes them
			hostile.Spoil = spoil
			alone := newStore(chaintest.XRPLRecipients...)
			if _, err := newReader(t, alone, hostile).Once(t.Context()); err == nil {
				t.Errorf("accepted; stored %v", alone.numbers())
			}
			for _, n := range alone.numbers() {
				if n < 1 || n > 101 || n%5 == 0 {
					t.Errorf("stored payment %d, which did not happen", n)
				}
			}
			hostile = chaintest.NewXRPL(chaintest.XRPLHistory(101))
			hostile.Spoil = spoil
			s := newStore(chaintest.XRPLRecipients...)
			if _, err := newReader(t, s, hostile, chaintest.NewXRPL(chaintest.XRPLHistory(101))).
				Once(t.Context()); err != nil {
				t.Fatalf("with an honest node: %v", err)
			}
			if diff := cmp.Diff(successes(0, 101), s.numbers()); diff != "" {
				t.Errorf("with an honest node (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnknownAccount checks that an account without transactions is an empty one, and not a fault.
func TestUnknownAccount(t *testing.T) {
	t.Parallel()
	s := newStore("rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De")
	report, err := newReader(t, s, chaintest.NewXRPL(chaintest.XRPLHistory(10))).Once(t.Context())
	if err != nil || report.Settlements != 0 || report.Errors != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if got := fmt.Sprint(s.walks[mark.Address].Until); got != "100000006" {
		t.Errorf("read up to ledger %s", got)
	}
}
