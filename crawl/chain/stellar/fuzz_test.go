package stellar

import (
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// FuzzEnvelope reads arbitrary envelopes and pages. Reading must end. A settlement must have addresses of the network
// and an amount, and its envelope the hash.
func FuzzEnvelope(f *testing.F) {
	x, err := New(chain.Network{ID: "stellar:pubnet", RPC: []string{"http://127.0.0.1:1"}}, nil, chain.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("AAAAAgAAAABodnYKpT7fhJLA5kiZAafNzBT4T7fIg2MAAA9n+tEzIA=="))
	f.Add([]byte{0, 0, 0, 2, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 5, 0, 0, 1, 0})
	f.Add([]byte(`{"_embedded":{"records":[{"hash":"","paging_token":"1"}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if list, err := x.readTransactions(data, ""); err == nil && len(list) > transactionPage {
			t.Errorf("%d transactions on a page", len(list))
		}
		e, err := readEnvelope(base64.StdEncoding.EncodeToString(data))
		if err != nil {
			return
		}
		for _, account := range []string{e.feeAccount, e.source} {
			if err := x402.CheckAddress("stellar:pubnet", account); err != nil && !errors.Is(err, x402.ErrBurn) {
				t.Errorf("account %q: %v", account, err)
			}
		}
		s, err := x.readSettlement(transaction{FeeAccount: e.feeAccount, CreatedAt: time.Unix(1, 0),
			Envelope: base64.StdEncoding.EncodeToString(data)}, ledger.ScanSettler{Address: e.feeAccount})
		if err == nil && s != nil {
			t.Errorf("a settlement in an envelope without a hash: %+v", s)
		}
	})
}
