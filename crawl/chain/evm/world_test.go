package evm_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/crawl/chain/evm"
	"tollbook/site/postgres/ledger"
)

const network = "eip155:8453"

var (
	genesis = time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)

	usdc      = contract("833589fcd6edb6e08f4c7c32d4f71b54bda02913")
	lookAlike = contract("833589fcd6edb6e08f4c7c32d4f71b54bda02914")
	exact     = contract("402085c248eea27d92e8b30b2c58ed07f9e20001")
	upto      = contract("4020a4f3b7b90cca423b9fabcc0ce57c6c240002")
	escrow    = contract("4020074e9df2ce1dee5a9c1b5c3f541d02a10003")
	collector = contract("4020806089470a89826cb9fb1f4059150b550004")

	transferTopic      = topic("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
	authorizationTopic = topic("98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5")
	settledTopic       = topic("97088ec3606cfe8cc112180570d03fcde05f9b8e1bfef8e27784eaf5dd5691b6")
	withPermitTopic    = topic("de5b89d10fc800c459329c382fabfcad0be0ed7e5328e01fae04e507b09ef5d8")
	redeemedTopic      = topic("7337b4386b690fdb8ba66905b92b9d45d33bc6626ee2620c905fb150ec0cc47d")
	memoTopic          = topic("57bc7354aa85aed339e000bccffabbc529466af35f0772c8f8ee1145927de7f0")
	approvalTopic      = topic("8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925")
)

func contract(digits string) (a chaintest.Address) {
	if n, err := hex.Decode(a[:], []byte(digits)); err != nil || n != len(a) {
		panic(digits)
	}
	return a
}

func topic(digits string) (h chaintest.Hash) {
	if n, err := hex.Decode(h[:], []byte(digits)); err != nil || n != len(h) {
		panic(digits)
	}
	return h
}

// person returns the nth account of a kind.
func person(kind byte, n int) (a chaintest.Address) {
	a[0] = kind
	binary.BigEndian.PutUint64(a[12:], uint64(n)+1)
	return a
}

func text(a chaintest.Address) string { return "0x" + hex.EncodeToString(a[:]) }

func word(a chaintest.Address) (h chaintest.Hash) {
	copy(h[12:], a[:])
	return h
}

func data(amount *big.Int) []byte { return amount.FillBytes(make([]byte, 32)) }

func transfer(token, from, to chaintest.Address, amount int64) chaintest.Log {
	return chaintest.Log{Contract: token, Topics: []chaintest.Hash{transferTopic, word(from), word(to)},
		Data: data(big.NewInt(amount))}
}

// mppMark is the mark of MPP's client library, and mppMemo a memo that has it.
const mppMark = "memo:0xef1ed71201"

var mppMemo = topic("ef1ed712011ece072f76bd8b82350e7521d1cadbcfa91eec657c1b16802b3047")

// transferredWithMemo returns the two events of a transferWithMemo.
func transferredWithMemo(token, from, to chaintest.Address, amount int64, memo chaintest.Hash) []chaintest.Log {
	return []chaintest.Log{transfer(token, from, to, amount), {Contract: token,
		Topics: []chaintest.Hash{memoTopic, word(from), word(to), memo}, Data: data(big.NewInt(amount))}}
}

// authorized returns the two events of a transferWithAuthorization.
func authorized(token, from, to chaintest.Address, amount int64) []chaintest.Log {
	used := chaintest.Log{Contract: token,
		Topics: []chaintest.Hash{authorizationTopic, word(from), word(person('n', int(amount)))}}
	return []chaintest.Log{used, transfer(token, from, to, amount)}
}

// callOf returns the call data of the authorisation that authorized returns the events of.
func callOf(from, to chaintest.Address, amount int64) (input []byte) {
	input = []byte{0xe3, 0xee, 0x16, 0x0e}
	for _, w := range []chaintest.Hash{word(from), word(to), chaintest.Hash(data(big.NewInt(amount))), {}, {31: 0xff},
		word(person('n', int(amount))), {31: 27}, {1}, {2}} {
		input = append(input, w[:]...)
	}
	return input
}

// redeemed returns the two events of a redemption of batch settlement.
func redeemed(token, to, sender chaintest.Address, amount int64) []chaintest.Log {
	settled := chaintest.Log{Contract: escrow, Data: data(big.NewInt(amount)),
		Topics: []chaintest.Hash{redeemedTopic, word(to), word(token), word(sender)}}
	return []chaintest.Log{transfer(token, escrow, to, amount), settled}
}

// world creates chains with known settlements.
type world struct {
	*chaintest.Chain
	r     *rand.Rand
	nonce uint64
	paid  map[chaintest.Hash][]payment // expected payments by transaction
}

// payment is an expected payment at an index in a transaction.
type payment struct {
	log          int
	method       string
	settler      chaintest.Address // none if the payer sends the payment, with a mark
	payer, payee chaintest.Address
	amount       int64
}

// settlerText returns the settler of a payment as lists name it.
func (p payment) settlerText() string {
	if p.method == "memo" {
		return mppMark
	}
	return text(p.settler)
}

func newWorld(seed uint64) *world {
	c := chaintest.New(8453, genesis)
	return &world{Chain: c, r: rand.New(rand.NewPCG(seed, 7)), paid: map[chaintest.Hash][]payment{}}
}

// worldSettlers returns some of the world's settlers and a mark: the first three are on the lists.
func worldSettlers(n int) (list []ledger.ScanSettler) {
	for i := range n {
		list = append(list, ledger.ScanSettler{Address: text(person('s', i)),
			Facilitator: fmt.Sprintf("facilitator-%d", i%2), Tokens: []string{text(usdc)}, Deprecated: i == 2})
	}
	return append(list, ledger.ScanSettler{Address: mppMark, Facilitator: "mpp", Tokens: []string{text(usdc)}})
}

// random returns a transaction of a random kind, and its payments if a settler sends it.
func (w *world) random() (chaintest.Tx, []payment) {
	settler := person('s', w.r.IntN(3))
	buyer, seller := person('b', w.r.IntN(40)), person('r', w.r.IntN(12))
	amount := 1 + w.r.Int64N(5_000_000)
	w.nonce++
	tx := chaintest.Tx{From: settler, To: usdc, Nonce: w.nonce}
	one := payment{1, "eip3009", settler, buyer, seller, amount}
	none := chaintest.Address{}
	switch w.r.IntN(22) {
	default:
		tx.Logs = authorized(usdc, buyer, seller, amount)
		return tx, []payment{one}
	case 0: // a batch with a fee leg after each payment
		var list []payment
		for i := range 1 + w.r.IntN(6) {
			from := person('b', 100+i)
			tx.Logs = append(tx.Logs, authorized(usdc, from, seller, amount)...)
			list = append(list, payment{len(tx.Logs) - 1, "eip3009", settler, from, seller, amount})
			tx.Logs = append(tx.Logs, transfer(usdc, seller, settler, 7))
		}
		return tx, list
	case 1: // a sender on no list
		tx.From = person('u', w.r.IntN(3))
		tx.Logs = authorized(usdc, buyer, seller, amount)
		return tx, nil
	case 2: // a top-up, a refund
		tx.Logs = []chaintest.Log{transfer(usdc, settler, buyer, amount)}
		return tx, nil
	case 3: // a look-alike token next to a real payment
		tx.Logs = append(authorized(lookAlike, buyer, seller, 1e9), authorized(usdc, buyer, seller, amount)...)
		one.log = 3
		return tx, []payment{one}
	case 4: // Permit2: approval, transfer, proxy event, fee leg
		approval := chaintest.Log{Contract: usdc, Topics: []chaintest.Hash{approvalTopic, word(buyer), word(exact)},
			Data: data(big.NewInt(amount))}
		proxy := chaintest.Log{Contract: exact, Topics: []chaintest.Hash{withPermitTopic}}
		tx.Logs = []chaintest.Log{approval, transfer(usdc, buyer, seller, amount), proxy,
			transfer(usdc, seller, settler, 3)}
		one.method = "permit2"
		return tx, []payment{one}
	case 5: // Permit2, of a token that is not measured
		tx.Logs = []chaintest.Log{transfer(usdc, buyer, settler, 5), transfer(lookAlike, buyer, seller, amount),
			{Contract: upto, Topics: []chaintest.Hash{settledTopic}}}
		return tx, nil
	case 6: // the settler's own money
		tx.Logs = authorized(usdc, settler, seller, amount)
		return tx, nil
	case 7: // a payment to oneself is stored
		tx.Logs = authorized(usdc, buyer, buyer, amount)
		one.payee = buyer
		return tx, []payment{one}
	case 8: // a payment of nothing
		tx.Logs = authorized(usdc, buyer, seller, 0)
		return tx, nil
	case 9: // two authorisations of one payer at once
		tx.Logs = append(authorized(usdc, buyer, seller, amount), authorized(usdc, buyer, person('r', 1), 5)...)
		return tx, []payment{one, {3, "eip3009", settler, buyer, person('r', 1), 5}}
	case 10: // an authorisation that moved nothing, before one that did
		tx.Logs = append(authorized(usdc, buyer, seller, amount)[:1], authorized(usdc, buyer, seller, amount)...)
		one.log = 2
		return tx, []payment{one}
	case 12: // redemptions: of a token that is not measured, after a refund of the same amount, of a measured one
		tx.Logs = append(redeemed(lookAlike, seller, settler, amount), transfer(usdc, escrow, buyer, amount))
		tx.Logs = append(tx.Logs, redeemed(usdc, seller, settler, amount)...)
		return tx, []payment{{3, "batch", settler, escrow, seller, amount}}
	case 13: // a deposit, which the collector passes on
		tx.Logs = append(authorized(usdc, buyer, collector, amount), transfer(usdc, collector, escrow, amount))
		return tx, nil
	case 14: // payers charge themselves, with a mark; a split has another memo
		tx.From = buyer
		tx.Logs = append(transferredWithMemo(usdc, buyer, seller, amount, mppMemo),
			transferredWithMemo(usdc, buyer, person('r', 1), 3, chaintest.Hash{1})...)
		return tx, []payment{{1, "memo", none, buyer, seller, amount}}
	case 15: // a settler sends both kinds; a payment to oneself is stored
		tx.Input = callOf(buyer, seller, amount)
		tx.Logs = append(authorized(usdc, buyer, seller, amount),
			transferredWithMemo(usdc, buyer, buyer, amount, mppMemo)...)
		return tx, []payment{one, {3, "memo", none, buyer, buyer, amount}}
	case 17: // a token that takes a fee in a transfer of its own, before and after the payment
		tx.Input = callOf(buyer, seller, amount)
		pair := authorized(usdc, buyer, seller, amount)
		tx.Logs = []chaintest.Log{pair[0], transfer(usdc, buyer, person('f', 0), 3), pair[1],
			transfer(usdc, buyer, person('f', 1), amount)}
		one.log = 2
		return tx, []payment{one}
	case 18: // the same, with call data that do not name the payment
		tx.Input = callOf(buyer, person('r', 99), amount)
		pair := authorized(usdc, buyer, seller, amount)
		tx.Logs = []chaintest.Log{pair[0], transfer(usdc, buyer, person('f', 0), 3), pair[1]}
		return tx, nil
	case 16: // marks on what is no payment: a look-alike token, a mint, a burn, nothing
		tx.From = buyer
		for _, logs := range [][]chaintest.Log{transferredWithMemo(lookAlike, buyer, seller, amount, mppMemo),
			transferredWithMemo(usdc, none, seller, amount, mppMemo)[1:],
			transferredWithMemo(usdc, buyer, none, amount, mppMemo)[1:],
			transferredWithMemo(usdc, buyer, seller, 0, mppMemo)} {
			tx.Logs = append(tx.Logs, logs...)
		}
		return tx, nil
	case 11: // strangers
		tx.From = person('x', w.r.IntN(9))
		tx.Logs = []chaintest.Log{transfer(usdc, tx.From, buyer, amount), transfer(lookAlike, buyer, seller, amount)}
		return tx, nil
	}
}

// grow adds blocks of up to most transactions each, two seconds apart.
func (w *world) grow(blocks, most int) {
	for range blocks {
		var txs []chaintest.Tx
		var all [][]payment
		for range w.r.IntN(most + 1) {
			tx, list := w.random()
			txs = append(txs, tx)
			all = append(all, list)
		}
		b := w.Add(w.Head().Time.Add(2*time.Second), txs...)
		for i, list := range all {
			w.paid[b.Txs[i].Hash] = list
		}
	}
}

// settled returns the expected settlements up to a block.
func (w *world) settled(last int64, settlers []ledger.ScanSettler) (list []ledger.Settlement) {
	for _, b := range w.Blocks(0, last) {
		place := 0
		for _, t := range b.Txs {
			for _, p := range w.paid[t.Hash] {
				i := slices.IndexFunc(settlers,
					func(s ledger.ScanSettler) bool { return s.Address == p.settlerText() })
				if i < 0 || settlers[i].Since != nil && b.Time.Before(*settlers[i].Since) {
					continue
				}
				list = append(list, ledger.Settlement{
					Network: network, Block: b.Number, BlockHash: "0x" + hex.EncodeToString(b.Hash[:]), Time: b.Time,
					Transaction: "0x" + hex.EncodeToString(t.Hash[:]), LogIndex: place + p.log, Method: p.method,
					Facilitator: settlers[i].Facilitator, Settler: settlers[i].Address, Token: text(usdc),
					Payer: text(p.payer), Payee: text(p.payee), Amount: big.NewInt(p.amount).String(),
				})
			}
			place += len(t.Logs)
		}
	}
	slices.SortFunc(list, byPlace)
	return list
}

// wantCounts returns the expected counts of a counting scan up to a block.
func (w *world) wantCounts(last int64, settlers []ledger.ScanSettler, recipients []string) (list []string) {
	seen := map[string]int64{}
	payments, amounts := map[string]int64{}, map[string]int64{}
	for _, b := range w.Blocks(0, last) {
		day := b.Time.Format(time.DateOnly)
		for _, t := range b.Txs {
			listed := slices.ContainsFunc(settlers,
				func(s ledger.ScanSettler) bool { return s.Address == text(t.From) })
			for _, l := range t.Logs {
				if l.Contract != usdc {
					continue
				}
				switch l.Topics[0] {
				case authorizationTopic:
					seen[day+" "+text(usdc)]++
				case transferTopic:
					from, to := text(chaintest.Address(l.Topics[1][12:])), text(chaintest.Address(l.Topics[2][12:]))
					amount := new(big.Int).SetBytes(l.Data).Int64()
					if !listed && slices.Contains(recipients, to) && from != text(t.From) && amount > 0 {
						key := day + " " + text(t.From) + " " + text(usdc)
						payments[key]++
						amounts[key] += amount
					}
				}
			}
		}
	}
	for key, n := range seen {
		list = append(list, fmt.Sprintf("%s: %d seen", key, n))
	}
	for key, n := range payments {
		list = append(list, fmt.Sprintf("%s: %d paid, %d", key, n, amounts[key]))
	}
	slices.SortFunc(list, strings.Compare)
	return list
}

// serve serves a handler on loopback and returns its URL.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// indexer returns a reader of the world's network with short pauses between tries.
func indexer(t testing.TB, s evm.Store, o chain.Options, rpc ...string) *evm.Reader {
	t.Helper()
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	x, err := evm.New(chain.Network{ID: network, RPC: rpc, Confirmations: 2,
		Tokens: []chain.Token{{Address: text(usdc), Symbol: "USDC", Decimals: 6}}, Poll: 20 * time.Millisecond}, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
