package evm

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSettle checks the rules of pairing on single transactions.
func TestSettle(t *testing.T) {
	t.Parallel()
	usdc, other := mustAddress("0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"),
		mustAddress("0x0000000000000000000000000000000000000001")
	measured := map[address]*token{usdc: {}}
	who := func(name byte) (h hash) { h[31] = name; return h }
	used := func(contract address, by byte) event {
		return event{contract: contract, topics: [4]hash{topicAuthorizationUsed, who(by), {}}, topicCount: 3}
	}
	moved := func(contract address, from, to byte) event {
		return event{contract: contract, topics: [4]hash{topicTransfer, who(from), who(to)}, topicCount: 3,
			oneWord: true, amount: who(1)}
	}
	proxy := event{contract: uptoProxy, topics: [4]hash{topicSettled}, topicCount: 1}
	contractWord := batchSettlement.word()
	redeemed := func(token address, to, amount byte) event {
		return event{contract: batchSettlement, topics: [4]hash{topicRedeemed, who(to), token.word(), who('s')},
			topicCount: 4, oneWord: true, amount: who(amount)}
	}
	paidOut := func(token address, to byte) event {
		return event{contract: token, topics: [4]hash{topicTransfer, contractWord, who(to)}, topicCount: 3,
			oneWord: true, amount: who(1)}
	}
	nft := event{contract: usdc, topics: [4]hash{topicTransfer, who('a'), who('z'), who(1)}, topicCount: 4}
	for _, tt := range []struct {
		name    string
		events  []event
		want    []string // index and method
		orphans int
	}{
		{"one payment", []event{used(usdc, 'a'), moved(usdc, 'a', 'z')}, []string{"1 eip3009"}, 0},
		{"a batch", []event{used(usdc, 'a'), moved(usdc, 'a', 'z'), used(usdc, 'b'), moved(usdc, 'b', 'z')},
			[]string{"1 eip3009", "3 eip3009"}, 0},
		{"authorisations first, then transfers",
			[]event{used(usdc, 'a'), used(usdc, 'b'), moved(usdc, 'a', 'z'), moved(usdc, 'b', 'z')},
			[]string{"2 eip3009", "3 eip3009"}, 0},
		{"a fee leg that the call data do not tell from the payment",
			[]event{used(usdc, 'a'), moved(usdc, 'a', 'z'), moved(usdc, 'a', 'f')}, nil, 0},
		{"a fee leg of another", []event{used(usdc, 'a'), moved(usdc, 'a', 'z'), moved(usdc, 'z', 'f')},
			[]string{"1 eip3009"}, 0},
		{"a transfer before", []event{moved(usdc, 'a', 'f'), used(usdc, 'a'), moved(usdc, 'a', 'z')},
			[]string{"2 eip3009"}, 0},
		{"another's transfer between", []event{used(usdc, 'a'), moved(usdc, 'b', 'f'), moved(usdc, 'a', 'z')},
			[]string{"2 eip3009"}, 0},
		{"another token's transfer between", []event{used(usdc, 'a'), moved(other, 'a', 'f'), moved(usdc, 'a', 'z')},
			[]string{"2 eip3009"}, 0},
		{"one that moved nothing, then one that did", []event{used(usdc, 'a'), used(usdc, 'a'), moved(usdc, 'a', 'z')},
			[]string{"2 eip3009"}, 1},
		{"none", []event{used(usdc, 'a')}, nil, 1},
		{"another token", []event{used(other, 'a'), moved(other, 'a', 'z')}, nil, 0},
		{"a transfer alone", []event{moved(usdc, 'a', 'z')}, nil, 0},
		{"a thing of its own that moved", []event{used(usdc, 'a'), nft}, nil, 1},
		{"Permit2", []event{moved(usdc, 'a', 'z'), proxy}, []string{"0 permit2"}, 0},
		{"Permit2 with a fee leg before and after",
			[]event{moved(usdc, 'a', 'f'), moved(usdc, 'a', 'z'), proxy, moved(usdc, 'z', 'f')}, []string{"1 permit2"},
			0},
		{"Permit2 twice", []event{moved(usdc, 'a', 'z'), proxy, moved(usdc, 'b', 'z'), proxy},
			[]string{"0 permit2", "2 permit2"}, 0},
		{"Permit2 without a second transfer", []event{moved(usdc, 'a', 'z'), proxy, proxy}, []string{"0 permit2"}, 0},
		{"Permit2 of another token", []event{moved(usdc, 'a', 'f'), moved(other, 'a', 'z'), proxy}, nil, 0},
		{"Permit2 after an authorisation", []event{used(usdc, 'a'), moved(usdc, 'a', 'z'), proxy},
			[]string{"1 eip3009"}, 0},
		{"a redemption", []event{paidOut(usdc, 'z'), redeemed(usdc, 'z', 1)}, []string{"0 batch"}, 0},
		{"a redemption after a refund", []event{paidOut(usdc, 'a'), paidOut(usdc, 'z'), redeemed(usdc, 'z', 1)},
			[]string{"1 batch"}, 0},
		{"a redemption before a refund to its recipient",
			[]event{paidOut(usdc, 'z'), redeemed(usdc, 'z', 1), paidOut(usdc, 'z')}, []string{"0 batch"}, 0},
		{"two redemptions", []event{paidOut(usdc, 'z'), redeemed(usdc, 'z', 1), paidOut(usdc, 'y'),
			redeemed(usdc, 'y', 1)}, []string{"0 batch", "2 batch"}, 0},
		{"a redemption of another amount", []event{paidOut(usdc, 'z'), redeemed(usdc, 'z', 2)}, nil, 0},
		{"a redemption of another token", []event{paidOut(other, 'z'), redeemed(other, 'z', 1)}, nil, 0},
		{"a redemption that others pay", []event{moved(usdc, 'a', 'z'), redeemed(usdc, 'z', 1)}, nil, 0},
		{"a refund alone", []event{paidOut(usdc, 'a')}, nil, 0},
	} {
		for i := range tt.events {
			tt.events[i].index = int64(i)
		}
		f := settle(tt.events, measured, nil)
		var got []string
		for _, p := range f.payments {
			got = append(got, fmt.Sprintf("%d %s", p.transfer.index, p.method))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || f.orphans != tt.orphans {
			t.Errorf("%s: %d orphans, want %d; pairs (-want +got):\n%s", tt.name, f.orphans, tt.orphans, diff)
		}
	}
}

// TestSettleByCallData checks which of several transfers of a payer is the payment, by the call data.
func TestSettleByCallData(t *testing.T) {
	t.Parallel()
	usdc := mustAddress("0x833589fcd6edb6e08f4c7c32d4f71b54bda02913")
	word := func(b byte) (h hash) { h[31] = b; return h }
	nonce := func(b byte) (h hash) { h[0], h[31] = 0xee, b; return h }
	used := func(by, n byte) event {
		return event{contract: usdc, topics: [4]hash{topicAuthorizationUsed, word(by), nonce(n)}, topicCount: 3}
	}
	moved := func(from, to, amount byte) event {
		return event{contract: usdc, topics: [4]hash{topicTransfer, word(from), word(to)}, topicCount: 3, oneWord: true,
			amount: word(amount)}
	}
	call := func(from, to, value, n byte) (input []byte) {
		input = []byte{0xe3, 0xee, 0x16, 0x0e}
		for _, w := range []hash{word(from), word(to), word(value), {}, word(0xff), nonce(n), word(27), {1}, {2}} {
			input = append(input, w[:]...)
		}
		return input
	}
	own := call('a', 'z', 9, 1)
	batch := append(append(make([]byte, 101), own...), call('b', 'y', 8, 2)...)
	for _, c := range []struct {
		name    string
		input   []byte
		events  []event
		want    []int64
		unclear int
	}{
		{"a fee before", own, []event{used('a', 1), moved('a', 'f', 1), moved('a', 'z', 9)}, []int64{2}, 0},
		{"a fee after", own, []event{used('a', 1), moved('a', 'z', 9), moved('a', 'f', 1)}, []int64{1}, 0},
		{"a fee of the same amount", own, []event{used('a', 1), moved('a', 'f', 9), moved('a', 'z', 9)}, []int64{2}, 0},
		{"a fee out of the amount", own, []event{used('a', 1), moved('a', 'f', 1), moved('a', 'z', 8)}, []int64{2}, 0},
		{"a fee to the recipient", own, []event{used('a', 1), moved('a', 'z', 1), moved('a', 'z', 9)}, []int64{2}, 0},
		{"two parts to the recipient", own, []event{used('a', 1), moved('a', 'z', 4), moved('a', 'z', 5)}, nil, 1},
		{"several payers through a contract", batch, []event{used('a', 1), moved('a', 'f', 1), moved('a', 'z', 9),
			used('b', 2), moved('b', 'f', 1), moved('b', 'y', 8)}, []int64{2, 5}, 0},
		{"one payer twice", append(batch, call('a', 'x', 7, 3)...), []event{used('a', 1), moved('a', 'f', 1),
			moved('a', 'z', 9), used('a', 3), moved('a', 'f', 1), moved('a', 'x', 7)}, []int64{2, 5}, 0},
		{"of two, one is clear", own, []event{used('a', 1), moved('a', 'f', 1), moved('a', 'z', 9), used('b', 2),
			moved('b', 'f', 1), moved('b', 'y', 8)}, []int64{2}, 1},
		{"another nonce", call('a', 'z', 9, 7), []event{used('a', 1), moved('a', 'f', 1), moved('a', 'z', 9)}, nil, 1},
		{"another payer", call('b', 'z', 9, 1), []event{used('a', 1), moved('a', 'f', 1), moved('a', 'z', 9)}, nil, 1},
		{"nobody is paid", own, []event{used('a', 1), moved('a', 'f', 1), moved('a', 'g', 9)}, nil, 1},
		{"cut", own[4+wordSize:], []event{used('a', 1), moved('a', 'f', 1), moved('a', 'z', 9)}, nil, 1},
		{"no call data", nil, []event{used('a', 1), moved('a', 'f', 1), moved('a', 'z', 9)}, nil, 1},
	} {
		for i := range c.events {
			c.events[i].index = int64(i)
		}
		f := settle(c.events, map[address]*token{usdc: {}}, c.input)
		var got []int64
		for _, p := range f.payments {
			got = append(got, p.transfer.index)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || f.unclear != c.unclear {
			t.Errorf("%s: %d are unclear, want %d; payments (-want +got):\n%s", c.name, f.unclear, c.unclear, diff)
		}
	}
}
