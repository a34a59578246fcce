package evm

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzBlocks compares blocks with their transactions, and receipts, with what encoding/json reads.
func FuzzBlocks(f *testing.F) {
	a, b := "0x"+strings.Repeat("ab", 32), "0x"+strings.Repeat("cd", 32)
	f.Add([]byte(`{"number":"0x1b4","hash":"` + a + `","parentHash":"` + b +
		`","timestamp":"0x690f0000","logsBloom":"0x` + strings.Repeat("00", 256) + `","transactions":[{"hash":"` + b +
		`","from":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"}]}`))
	f.Add([]byte(`{"number":"0x0","hash":"` + a + `","parentHash":"` + b +
		`","timestamp":"0x0","logsBloom":null,"transactions":["` + b + `"]}`))
	f.Add([]byte(`{"transactionHash":"` + strings.Repeat("0", 66) + `","blockHash":null,"logs":[]}`))
	f.Add([]byte(`{"transactionHash":"` + a + `","blockHash":"` + b +
		`","logs":[{"address":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913","topics":[],"data":"0x",` +
		`"blockNumber":"0x1","transactionHash":"` + a + `","blockHash":"` + b + `","logIndex":"0x1"}]}`))
	f.Add([]byte(`null`))
	transaction, block := hash{}, hash{}
	for i := range transaction {
		transaction[i], block[i] = 0xab, 0xcd
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if list, err := readReceipt(data, transaction, block); err == nil {
			for i, e := range list {
				if e.transaction != transaction || e.blockHash != block || i > 0 && e.index <= list[i-1].index {
					t.Errorf("event %d of a receipt: %+v", i, e)
				}
			}
		}
		if h, _, err := readHeader(data, nil); err == nil && json.Valid(data) {
			var want struct {
				Hash, ParentHash string
				Number           string
			}
			if exact(data, &want) && (!strings.EqualFold(h.hash.String(), want.Hash) ||
				!strings.EqualFold(h.parent.String(), want.ParentHash) || h.number < 0) {
				t.Errorf("%q: read as %v after %v, number %d", data, h.hash, h.parent, h.number)
			}
		}
		var senders []sent
		if _, _, err := readHeader(data, func(s sent) { senders = append(senders, s) }); err == nil &&
			json.Valid(data) {
			var want map[string]json.RawMessage
			var list []json.RawMessage
			if json.Unmarshal(data, &want) == nil && json.Unmarshal(want["transactions"], &list) == nil &&
				strings.Count(string(data), `transactions"`) == 1 && len(list) != len(senders) {
				t.Errorf("%q: %d transactions are read as %d", data, len(list), len(senders))
			}
		}
	})
}

// exact decodes an object whose keys are unique and spelt exactly, which encoding/json alone does not check.
func exact(data []byte, v any) bool {
	var members map[string]json.RawMessage
	text := strings.ToLower(string(data))
	if json.Unmarshal(data, &members) != nil ||
		strings.Count(text, `hash"`) != 2+strings.Count(text, `transactionhash"`)+strings.Count(text, `blockhash"`) ||
		strings.Contains(text, `\u`) {
		return false
	}
	return members["hash"] != nil && members["parentHash"] != nil && strings.Count(text, `"hash"`) == 1 &&
		json.Unmarshal(data, v) == nil
}
