package evm_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/evm"
	"tollbook/site/postgres/ledger"
)

// market is a token with its buyers, sellers and settlers on a live node. It records what each transaction settles.
type market struct {
	*liveNode
	token, other, batch, wallet [20]byte
	settlers                    []key
	buyers                      []key
	stranger                    key
	nonces                      map[[20]byte]int64
	sent                        []sentTx
	lost                        []sentTx // a reorganisation dropped them; geth may mine them again at any time
	count                       int
	mine                        func()
	r                           *rand.Rand
}

type sentTx struct {
	id    string
	fails bool
	paid  []livePayment
}

// livePayment is the expected payment of a transaction: the nth of its logs.
type livePayment struct {
	log          int
	method       string
	settler      [20]byte
	payer, payee [20]byte
	amount       int64
}

// newMarket returns a market. mine mines a block; it is nil if the node mines by itself.
func newMarket(t *testing.T, n *liveNode, mine func()) *market {
	t.Helper()
	return newMarketOf(t, n, mine, "Token")
}

// newMarketOf returns a market whose token is a contract with arguments.
func newMarketOf(t *testing.T, n *liveNode, mine func(), token string, args ...[]byte) *market {
	t.Helper()
	m := &market{liveNode: n, nonces: map[[20]byte]int64{}, mine: mine, r: rand.New(rand.NewPCG(1, 2)),
		stranger: seededKey('x', 0)}
	if mine == nil {
		m.mine = m.mined
	}
	for i := range 3 {
		m.settlers = append(m.settlers, seededKey('s', i))
	}
	for i := range 8 {
		m.buyers = append(m.buyers, seededKey('b', i))
	}
	code := contracts(t)
	create := func(name string, args ...[]byte) (at [20]byte) {
		input, err := hex.DecodeString(code[name].Creation)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range args {
			input = append(input, pad(a)...)
		}
		id := m.send(m.dev, nil, input, nil)
		m.mine()
		raw, err := hex.DecodeString(m.receipt(id).ContractAddress[2:])
		if err != nil || len(raw) != 20 {
			t.Fatalf("%s was not created: %v", name, err)
		}
		return [20]byte(raw)
	}
	m.token, m.other, m.batch = create(token, args...), create("Token"), create("Batch")
	m.wallet = create("Wallet", m.buyers[0].address[:])
	for _, k := range append(append([]key{m.stranger}, m.settlers...), m.buyers...) {
		m.send(m.dev, m.token[:], abi("transfer(address,uint256)", k.address[:], number(1e12)), nil)
		m.send(m.dev, m.other[:], abi("transfer(address,uint256)", k.address[:], number(1e12)), nil)
		m.give(k.address)
	}
	for _, to := range [][20]byte{m.batch, m.wallet, escrow} {
		m.send(m.dev, m.token[:], abi("transfer(address,uint256)", to[:], number(1e12)), nil)
	}
	m.mine()
	return m
}

// give sends ether for fees.
func (m *market) give(to [20]byte) {
	m.t.Helper()
	nonce := m.nonces[m.dev.address]
	m.nonces[m.dev.address]++
	fields := [][]byte{number(nonce), number(20_000_000_000), number(21_000), to[:], big.NewInt(1e18).Bytes(), nil}
	digest := keccak(rlpList(append(fields, number(m.chainID), nil, nil)...))
	r, s, parity := m.dev.sign(digest)
	raw := rlpList(append(fields, number(m.chainID*2+35+int64(parity)), bytes.TrimLeft(r, "\x00"),
		bytes.TrimLeft(s, "\x00"))...)
	m.call(nil, "eth_sendRawTransaction", hexOf(raw))
}

// send signs and sends a transaction.
func (m *market) send(by key, to, input []byte, paid []livePayment) (id string) {
	m.t.Helper()
	nonce := m.nonces[by.address]
	m.nonces[by.address]++
	raw, hash := by.transaction(m.chainID, nonce, 3_000_000, to, input)
	m.call(nil, "eth_sendRawTransaction", hexOf(raw))
	m.sent = append(m.sent, sentTx{id: hexOf(hash[:]), paid: paid})
	return hexOf(hash[:])
}

// receipt returns a transaction's receipt, nil until it is in a block. After a reorganisation, geth's index may wait
// for the next block, which comes only with the next transaction. The blocks are read then.
func (m *market) receipt(id string) (r *receipt) {
	m.t.Helper()
	err := m.try(&r, "eth_getTransactionReceipt", id)
	if err == nil {
		return r
	}
	if !strings.Contains(err.Error(), "indexing is in progress") {
		m.t.Fatalf("ask for a receipt: %v", err)
	}
	var head string
	m.call(&head, "eth_blockNumber")
	for n := parse(head); n > 0; n-- {
		var block []*receipt
		m.call(&block, "eth_getBlockReceipts", fmt.Sprintf("0x%x", n))
		for _, r := range block {
			if r.TransactionHash == id {
				return r
			}
		}
	}
	return nil
}

func (m *market) authorize(from, to [20]byte, amount int64) authorization {
	m.count++
	return authorization{from, to, amount,
		keccak(binary.BigEndian.AppendUint64([]byte{byte(m.r.IntN(256))}, uint64(m.count)))}
}

// trade sends one transaction of each kind.
func (m *market) trade() {
	m.t.Helper()
	settler, buyer, seller := m.settlers[m.r.IntN(2)], m.buyers[1+m.r.IntN(7)], seededKey('r', m.r.IntN(5)).address
	amount := func() int64 { return 1 + m.r.Int64N(900_000) }

	a := m.authorize(buyer.address, seller, amount())
	single, pays := a.input(m.chainID, m.token, buyer),
		[]livePayment{{1, "eip3009", settler.address, a.from, a.to, a.value}}
	m.send(settler, m.token[:], single, pays)

	// The token refuses a repeated authorisation: the transaction fails and settles nothing.
	m.send(settler, m.token[:], single, pays)
	m.sent[len(m.sent)-1].fails = true

	// A batch with a fee leg at its end.
	var inputs [][]byte
	var paid []livePayment
	for i := range 5 {
		a := m.authorize(m.buyers[1+i].address, seller, amount())
		inputs = append(inputs, a.input(m.chainID, m.token, m.buyers[1+i]))
		paid = append(paid, livePayment{2*i + 1, "eip3009", settler.address, a.from, a.to, a.value})
	}
	inputs = append(inputs, abi("transfer(address,uint256)", settler.address[:], number(11)))
	m.send(settler, m.batch[:], aggregate(m.token, inputs...), paid)

	// A smart-contract wallet: its owner signs, the contract verifies.
	a = m.authorize(m.wallet, seller, amount())
	m.send(settler, m.token[:], a.bytesInput(m.chainID, m.token, m.buyers[0]),
		[]livePayment{{1, "eip3009", settler.address, m.wallet, a.to, a.value}})

	a = m.authorize(buyer.address, buyer.address, amount()) // a payment to oneself
	m.send(settler, m.token[:], a.input(m.chainID, m.token, buyer),
		[]livePayment{{1, "eip3009", settler.address, a.from, a.to, a.value}})

	a = m.authorize(settler.address, seller, amount()) // the settler's own money
	m.send(settler, m.token[:], a.input(m.chainID, m.token, settler), nil)

	// Payers charge themselves with a mark, and without one. A look-alike token has marks, too.
	value := amount()
	charge := func(memo []byte) []byte {
		return abi("transferWithMemo(address,uint256,bytes32)", seller[:], number(value), memo)
	}
	m.send(buyer, m.token[:], charge(mppMemo[:]), []livePayment{{1, "memo", [20]byte{}, buyer.address, seller, value}})
	m.send(buyer, m.token[:], charge([]byte("order 7")), nil)
	m.send(buyer, m.other[:], charge(mppMemo[:]), nil)

	a = m.authorize(buyer.address, seller, amount()) // a look-alike token
	m.send(settler, m.other[:], a.input(m.chainID, m.other, buyer), nil)

	m.send(settler, m.token[:], abi("transfer(address,uint256)", seller[:], number(amount())), nil) // a refund

	a = m.authorize(buyer.address, seller, amount()) // sent by an account that is no settler
	m.send(m.stranger, m.token[:], a.input(m.chainID, m.token, buyer), nil)
}

// tradeContracts settles through the contracts of x402, which only anvil has at their addresses.
func (m *market) tradeContracts() {
	m.t.Helper()
	settler, buyer, seller := m.settlers[0], m.buyers[2], seededKey('r', 1).address
	value := 1 + m.r.Int64N(1000)
	m.send(buyer, m.token[:], abi("approve(address,uint256)", exact[:], number(value)), nil)
	m.mine()
	m.send(settler, exact[:], abi("settle(address,address,address,uint256)", m.token[:], buyer.address[:], seller[:],
		number(value)),
		[]livePayment{{0, "permit2", settler.address, buyer.address, seller, value}})

	deposit := m.authorize(buyer.address, collector, value) // a deposit for batch settlement
	m.send(settler, m.token[:], deposit.input(m.chainID, m.token, buyer), nil)

	// A refund beside two redemptions, of which one is of a token that is not measured.
	redeem := func(token [20]byte) []byte {
		return abi("settle(address,address,uint128)", seller[:], token[:], number(value))
	}
	m.send(settler, escrow[:], redeem(m.token), []livePayment{{0, "batch", settler.address, escrow, seller, value}})
	m.send(m.dev, m.other[:], abi("transfer(address,uint256)", escrow[:], number(value)), nil)
	m.mine()
	refund := abi("refund(address,address,uint128)", seller[:], m.token[:], number(value))
	m.send(settler, m.batch[:], aggregate(escrow, refund, redeem(m.token), redeem(m.other)),
		[]livePayment{{2, "batch", settler.address, escrow, seller, value}})
	m.send(m.stranger, escrow[:], redeem(m.token), nil)
}

func (m *market) listed() (list []ledger.ScanSettler) {
	for i, s := range m.settlers {
		list = append(list, ledger.ScanSettler{Address: hexOf(s.address[:]),
			Facilitator: fmt.Sprintf("facilitator-%d", i)})
	}
	return append(list, ledger.ScanSettler{Address: mppMark, Facilitator: "mpp"})
}

// settled returns the settlements of the transactions that are in the chain, up to a block.
func (m *market) settled(last int64) (list []ledger.Settlement) {
	m.t.Helper()
	listed := m.listed()
	for n, s := range slices.Concat(m.sent, m.lost) {
		r := m.receipt(s.id)
		if r == nil || r.BlockNumber == "" {
			continue // a reorganisation dropped it
		}
		if want := map[bool]string{false: "0x1", true: "0x0"}[s.fails]; n < len(m.sent) && r.Status != want {
			m.t.Fatalf("transaction %s has status %s, want %s", s.id, r.Status, want)
		}
		if r.Status == "0x0" {
			continue
		}
		var block struct{ Number, Hash, Timestamp string }
		m.call(&block, "eth_getBlockByNumber", r.BlockNumber, false)
		if at := parse(block.Number); at <= last {
			for _, p := range s.paid {
				i := slices.IndexFunc(m.settlers, func(k key) bool { return k.address == p.settler })
				if i < 0 {
					i = len(m.settlers) // the mark
				}
				list = append(list, ledger.Settlement{
					Network: fmt.Sprintf("eip155:%d", m.chainID), Block: at, BlockHash: block.Hash,
					Time:        time.Unix(parse(block.Timestamp), 0).UTC(),
					Transaction: s.id, LogIndex: int(parse(r.Logs[p.log].LogIndex)), Method: p.method,
					Facilitator: listed[i].Facilitator, Settler: listed[i].Address, Token: hexOf(m.token[:]),
					Payer: hexOf(p.payer[:]), Payee: hexOf(p.payee[:]), Amount: fmt.Sprint(p.amount),
				})
			}
		}
	}
	slices.SortFunc(list, byPlace)
	return list
}

func parse(quantity string) (n int64) {
	if _, err := fmt.Sscanf(quantity, "0x%x", &n); err != nil {
		panic(quantity)
	}
	return n
}

// indexer returns a reader of the market's chain that stays one block behind its head.
func (m *market) indexer(s evm.Store, o chain.Options) *evm.Reader {
	m.t.Helper()
	x, err := evm.New(chain.Network{
		ID: fmt.Sprintf("eip155:%d", m.chainID), RPC: []string{m.url}, Confirmations: 1,
		Tokens: []chain.Token{{Address: hexOf(m.token[:]), Symbol: "USDC", Decimals: 6}},
	}, s, o)
	if err != nil {
		m.t.Fatal(err)
	}
	return x
}

// check indexes, and compares the index with what was sent and with a fresh index. A node that mines by itself may add
// a block between the two: then check repeats both.
func (m *market) check(what string, l *memory) {
	m.t.Helper()
	var fresh *memory
	for tries := 0; fresh == nil || fresh.end() != l.end(); tries++ {
		if tries > 100 {
			m.t.Fatalf("%s: indexed up to %d, a fresh index up to %d", what, l.end(), fresh.end())
		}
		once(m.t, m.indexer(l, chain.Options{}))
		fresh = newLedger(m.listed()...)
		once(m.t, m.indexer(fresh, chain.Options{}))
	}
	want := m.settled(l.end())
	if diff := cmp.Diff(want, l.settled()); diff != "" {
		m.t.Fatalf("%s: settlements (-want +got):\n%s", what, diff)
	}
	if len(want) == 0 {
		m.t.Fatalf("%s: nothing was settled", what)
	}
	if diff := cmp.Diff(fresh.settled(), l.settled()); diff != "" {
		m.t.Fatalf("%s: a fresh index (-fresh +got):\n%s", what, diff)
	}
	if diff := cmp.Diff(fresh.counts(), l.counts()); diff != "" {
		m.t.Fatalf("%s: what a fresh index saw (-fresh +got):\n%s", what, diff)
	}
}

// mined waits until everything that was sent is in a block. After a reorganisation on a busy machine, geth's developer
// mode may forget that transactions wait: the next one reminds it.
func (m *market) mined() {
	begun := time.Now()
	reminded := begun
	for _, s := range m.sent { // of every sender: a waiting transaction would block later ones after a reorganisation
		for r := m.receipt(s.id); r == nil || r.BlockNumber == ""; r = m.receipt(s.id) {
			if time.Since(begun) > patience {
				m.t.Fatalf("transaction %s is not mined", s.id)
			}
			if time.Since(reminded) > 10*time.Second {
				m.give(m.stranger.address)
				reminded = time.Now()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// forget sets aside the transactions that a reorganisation dropped, and continues with the chain's nonces.
func (m *market) forget() {
	m.t.Helper()
	remaining := m.sent[:0]
	for _, s := range m.sent {
		if m.receipt(s.id) == nil {
			m.lost = append(m.lost, s)
		} else {
			remaining = append(remaining, s)
		}
	}
	m.sent = remaining
	for who := range m.nonces {
		var count string
		m.call(&count, "eth_getTransactionCount", hexOf(who[:]), "latest")
		m.nonces[who] = parse(count)
	}
}
