package xrpl

import (
	"strings"
	"testing"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// FuzzPage reads arbitrary answers of account_tx. Reading must end. A page must make progress if it has a marker, and a
// settlement must have addresses of the network, a measured token and a whole number as amount.
func FuzzPage(f *testing.F) {
	x, err := New(chain.Network{ID: "xrpl:0", RPC: []string{"http://127.0.0.1:1"}}, nil, chain.Options{})
	if err != nil {
		f.Fatal(err)
	}
	const account = "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh"
	payment := func(delivered string) string {
		return `{"hash":"` + strings.Repeat("AB", 32) + `","ledger_index":7,"close_time_iso":"2026-07-01T00:00:04Z",` +
			`"validated":true,"tx_json":{"TransactionType":"Payment","Account":"r9cZA1mLK5R5Am25ArfXFmqgNwjZgnfk59",` +
			`"Destination":"` + account + `","SourceTag":804681468},"meta":{"TransactionResult":"tesSUCCESS",` +
			`"TransactionIndex":1,"delivered_amount":` + delivered + `}}`
	}
	page := func(rows, more string) string {
		return `{"status":"success","account":"` + account + `","ledger_index_min":1,"ledger_index_max":9,` +
			`"validated":true,"transactions":[` + rows + `]` + more + `}`
	}
	f.Add([]byte(page(payment(`"250000"`), "")))
	f.Add([]byte(page(payment(`{"currency":"524C555344000000000000000000000000000000",`+
		`"issuer":"rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De","value":"12.5e-3"}`), `,"marker":{"ledger":7,"seq":1}`)))
	f.Add([]byte(page("", `,"marker":null`)))
	f.Add([]byte(`{"status":"error","error":"actNotFound"}`))
	q := question{account: account, first: 1, last: 9, after: place{3, 0}}
	s := ledger.ScanSettler{Address: "source_tag:804681468", Facilitator: "t54"}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := x.readPage(data, q, s)
		if err != nil {
			return
		}
		if p.marker != "" && !p.last.after(q.after) {
			t.Errorf("a page with a marker and no progress: %+v", p)
		}
		for _, one := range p.settlements {
			if x402.CheckAddress("xrpl:0", one.Payee) != nil || one.Block < 1 || one.Block > 9 || one.Time.IsZero() ||
				x.measured[one.Token].Address != one.Token || strings.Trim(one.Amount, "0123456789") != "" ||
				one.Amount == "" || one.Amount[0] == '0' || len(one.Amount) > 100 {
				t.Errorf("an impossible settlement: %+v", one)
			}
		}
	})
}

// TestShiftDecimal checks that amounts become whole numbers of units exactly, or are refused.
func TestShiftDecimal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text     string
		decimals int
		want     string // "error" for an error
	}{
		{"0.01", 2, "1"}, {"0.01", 24, "10000000000000000000000"}, {"12.50", 1, "125"}, {"12.50", 0, ""},
		{"1e3", 0, "1000"}, {"1E+3", 2, "100000"}, {"1000e-3", 0, "1"}, {"1e-3", 2, ""}, {"0", 6, ""},
		{"0.000", 6, ""}, {"0e99", 6, ""}, {"00012", 0, "12"}, {"1234567890123456e-8", 8, "1234567890123456"},
		{"9999999999999999e80", 6, "error"}, {"1e79", 0, "1" + strings.Repeat("0", 79)}, {"1e80", 0, "error"},
		{"-1", 0, "error"}, {"+1", 0, "error"}, {".5", 1, "error"}, {"5.", 1, "error"}, {"0x1", 0, "error"},
		{"1e1000", 0, "error"}, {"", 0, "error"}, {" 1", 0, "error"}, {"1_000", 0, "error"}, {"NaN", 0, "error"},
	} {
		got, err := shiftDecimal(c.text, c.decimals)
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("shiftDecimal(%q, %d) = %q, want %q", c.text, c.decimals, got, c.want)
		}
	}
}
