package solana

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// FuzzSolana reads arbitrary transactions and pages of signatures. Reading must end. A settlement must have addresses
// of the network, an amount, a time and an index of its own.
func FuzzSolana(f *testing.F) {
	const (
		id      = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
		usdc    = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
		settler = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"
	)
	signature := "5j7s6NiJS3JAkvgkoc18WVAsiSaci2pxB2A6ueCJP4tprA2TFg9wSyTLeYouxPBJEMzJinENTkpA52YStRW5Dia7"
	transfer := func(kind, info string) string {
		return `{"programId":"` + splToken + `","parsed":{"type":"` + kind + `","info":` + info + `}}`
	}
	whole := func(instructions string) []byte {
		return []byte(
			`{"slot":7,"blockTime":1790000000,"meta":{"err":null,
			"innerInstructions":[{"index":0,"instructions":[` + instructions + `]}],
			"preTokenBalances":[{"accountIndex":1,"mint":"` + usdc + `","owner":"` + usdc + `"}],
			"postTokenBalances":[]},
			"transaction":{"signatures":["` + signature + `"],"message":{"accountKeys":[
			{"pubkey":"` + settler + `","signer":true},{"pubkey":"` + splToken + `"}],
			"instructions":[` + instructions + `]}}}`)
	}
	f.Add(whole(transfer("transferChecked", `{"source":"`+splToken+`","destination":"`+token2022+`","authority":"`+usdc+
		`","mint":"`+usdc+`","tokenAmount":{"amount":"1000"}}`)))
	f.Add(whole(transfer("transfer", `{"source":"`+splToken+`","destination":"`+token2022+`","multisigAuthority":"`+
		usdc+`","amount":"18446744073709551615"}`)))
	f.Add(whole(`{"programId":"` + splToken + `","accounts":["a","b","c"],"data":"3DbEuZHcyqBD"}`))
	f.Add(whole(`{"programId":"` + splToken + `","parsed":"memo"}`))
	f.Add([]byte(`[{"signature":"` + signature +
		`","slot":7,"err":null,"blockTime":1790000000,"confirmationStatus":"finalized"}]`))
	f.Add([]byte(`{"transaction":{"signatures":[""],"message":{"accountKeys":[{"signer":true}]}},"meta":{"err":null,` +
		`"innerInstructions":[{"index":-1}],"preTokenBalances":[{"accountIndex":-1}]}}`))
	x, err := New(chain.Network{ID: id, RPC: []string{"http://127.0.0.1:1"},
		Tokens: []chain.Token{{Address: usdc, Symbol: "USDC", Decimals: 6}}}, nil, chain.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if page, err := x.readSignatures(data, ledger.Walk{}, 100); err == nil && len(page) > 100 {
			t.Errorf("%d signatures on a page of 100", len(page))
		}
		var tx solanaTransaction
		if json.Unmarshal(data, &tx) != nil {
			return
		}
		of, s := signatureEntry{Slot: tx.Slot}, ledger.ScanSettler{Facilitator: "f"}
		if len(tx.Transaction.Signatures) > 0 {
			of.Signature = tx.Transaction.Signatures[0]
		}
		if keys := tx.Transaction.Message.AccountKeys; len(keys) > 0 {
			s.Address = keys[0].Pubkey
		}
		list, err := x.readSettlements(&tx, of, s)
		if err != nil {
			return
		}
		places := map[int]bool{}
		for _, m := range list {
			for _, a := range []string{m.Payer, m.Payee} {
				if fault := x402.CheckAddress(id, a); fault != nil && fault != x402.ErrBurn {
					t.Errorf("address %q: %v", a, fault)
				}
			}
			if n, err := strconv.ParseUint(m.Amount, 10, 64); err != nil || n == 0 || m.Token != usdc ||
				m.Payer == s.Address {
				t.Errorf("settlement %+v", m)
			}
			if m.Time.Before(time.Unix(1, 0)) || places[m.LogIndex] || m.LogIndex < 0 {
				t.Errorf("time %s, place %d", m.Time, m.LogIndex)
			}
			places[m.LogIndex] = true
		}
	})
}
