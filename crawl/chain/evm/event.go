package evm

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"tollbook/crawl/chain"
)

type (
	hash    [32]byte
	address [20]byte
)

func (h hash) String() string    { return hexText(h[:]) }
func (a address) String() string { return hexText(a[:]) }

// hexText writes up to 32 bytes.
func hexText(raw []byte) string {
	var b [2 + 64]byte
	return string(hex.AppendEncode(append(b[:0], "0x"...), raw))
}

// word returns an address as a topic contains it.
func (a address) word() (h hash) {
	copy(h[12:], a[:])
	return h
}

// addressOf returns the address in a topic.
func addressOf(topic hash) (a address) {
	copy(a[:], topic[12:])
	return a
}

// parseAddress parses an address in normal form.
func parseAddress(s string) (a address, err error) {
	if len(s) != 42 || s[:2] != "0x" {
		return a, fmt.Errorf("%.60q is not an address", s)
	}
	if _, err := hex.Decode(a[:], []byte(s[2:])); err != nil {
		return a, fmt.Errorf("%.60q is not an address", s)
	}
	return a, nil
}

func mustHash(s string) (h hash) {
	if n, err := hex.Decode(h[:], []byte(s[2:])); err != nil || n != len(h) {
		panic("not a hash: " + s) // s is a constant
	}
	return h
}

func mustAddress(s string) address {
	a, err := parseAddress(s)
	if err != nil {
		panic(err) // s is a constant
	}
	return a
}

// Events of settlements, by their first topic.
var (
	// Transfer(address indexed from, address indexed to, uint256 value)
	topicTransfer = mustHash("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
	// AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)
	topicAuthorizationUsed = mustHash("0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5")
	topicSettled           = mustHash("0x97088ec3606cfe8cc112180570d03fcde05f9b8e1bfef8e27784eaf5dd5691b6") // Settled()
	// SettledWithPermit()
	topicSettledWithPermit = mustHash("0xde5b89d10fc800c459329c382fabfcad0be0ed7e5328e01fae04e507b09ef5d8")
	// Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount)
	topicRedeemed = mustHash("0x7337b4386b690fdb8ba66905b92b9d45d33bc6626ee2620c905fb150ec0cc47d")
)

// Contracts of x402, at the same addresses on every network.
var (
	exactProxy      = mustAddress("0x402085c248eea27d92e8b30b2c58ed07f9e20001") // x402ExactPermit2Proxy
	uptoProxy       = mustAddress("0x4020a4f3b7b90cca423b9fabcc0ce57c6c240002") // x402UptoPermit2Proxy
	batchSettlement = mustAddress("0x4020074e9df2ce1dee5a9c1b5c3f541d02a10003") // x402BatchSettlement
	// The collectors take deposits from payers and pass them on to batchSettlement.
	depositCollectors = []address{
		mustAddress("0x4020806089470a89826cb9fb1f4059150b550004"), // by EIP-3009
		mustAddress("0x4020425faf3b746c082c2f942b4e5159887b0005"), // by Permit2
	}
)

// contractEvents matches the events of the contracts of x402 that settle.
var contractEvents = filter{contracts: []address{exactProxy, uptoProxy, batchSettlement},
	topics: []hash{topicSettled, topicSettledWithPermit, topicRedeemed}}

// event is a log of a contract.
type event struct {
	block, index int64
	blockHash    hash
	transaction  hash
	contract     address
	topics       [4]hash
	topicCount   int
	amount       hash // the data, if it is one word
	oneWord      bool
}

// isTransfer reports whether an event is a Transfer of ERC-20.
func (e *event) isTransfer() bool {
	return e.topicCount == 3 && e.topics[0] == topicTransfer && e.oneWord
}

func (e *event) isAuthorization() bool {
	return e.topicCount == 3 && e.topics[0] == topicAuthorizationUsed
}

func (e *event) isSettled() bool {
	return e.topicCount == 1 && (e.topics[0] == topicSettled || e.topics[0] == topicSettledWithPermit) &&
		(e.contract == exactProxy || e.contract == uptoProxy)
}

// isRedemption reports whether the batch-settlement contract sent a recipient what payers owed to it.
func (e *event) isRedemption() bool {
	return e.topicCount == 4 && e.topics[0] == topicRedeemed && e.oneWord && e.contract == batchSettlement
}

// formatDecimal formats a 256-bit number.
func formatDecimal(word hash) string {
	for _, b := range word[:24] {
		if b != 0 {
			return new(big.Int).SetBytes(word[:]).String()
		}
	}
	var n uint64
	for _, b := range word[24:] {
		n = n<<8 | uint64(b)
	}
	return strconv.FormatUint(n, 10)
}

// readEvents reads an array of logs and adds them to list.
func readEvents(s *chain.Scanner, list []event) []event {
	for range s.Elements {
		list = append(list, event{})
		readEvent(s, &list[len(list)-1])
	}
	return list
}

// Members that a log must have, one bit each.
const (
	hasAddress = 1 << iota
	hasTopics
	hasData
	hasBlock
	hasBlockHash
	hasTransaction
	hasIndex
	hasAll = 1<<iota - 1
)

func readEvent(s *chain.Scanner, e *event) {
	seen := 0
	for key := range s.Members {
		switch string(key) {
		case "address":
			s.Bytes(e.contract[:])
			seen |= hasAddress
		case "topics":
			for i := range s.Elements {
				if i == len(e.topics) {
					s.Fail(errors.New("a log has more than four topics"))
					return
				}
				s.Bytes(e.topics[i][:])
				e.topicCount = i + 1
			}
			seen |= hasTopics
		case "data":
			if data := s.Text(); len(data) == 2+64 {
				if e.oneWord = chain.DecodeHex(e.amount[:], data); !e.oneWord {
					s.Fail(fmt.Errorf("%.80q is not hex", data))
				}
			}
			seen |= hasData
		case "blockNumber":
			e.block = s.Quantity()
			seen |= hasBlock
		case "blockHash":
			s.Bytes(e.blockHash[:])
			seen |= hasBlockHash
		case "transactionHash":
			s.Bytes(e.transaction[:])
			seen |= hasTransaction
		case "logIndex":
			e.index = s.Quantity()
			seen |= hasIndex
		case "removed":
			if !s.Null() && s.Bool() {
				s.Fail(errors.New("a log has removed: true"))
			}
		default:
			s.Value()
		}
	}
	if s.Err == nil && seen != hasAll {
		s.Fail(errors.New("a log lacks a member"))
	}
}

// header is a block without its transactions.
type header struct {
	number int64
	hash   hash
	parent hash
	time   time.Time
	bloom  [256]byte // all ones if the node sends none: any log may be in the block
}

// sent is a transaction of a block with its sender.
type sent struct {
	transaction hash
	from        address
}

// errNull is returned for a null instead of a block or a transaction: the node is behind, or no longer has it.
var errNull = &chain.NodeFault{Kind: chain.KindBehind, Text: "the node does not have the block or transaction"}

// readHeader reads a block. It calls each with every transaction, if they are whole.
func readHeader(result []byte, each func(sent)) (h header, bytes int, err error) {
	s := chain.NewScanner(result)
	if s.Null() {
		return h, 0, errNull
	}
	for i := range h.bloom {
		h.bloom[i] = 0xff
	}
	var hasNumber, hasHash, hasParent, hasTime bool
	for key := range s.Members {
		switch string(key) {
		case "number":
			h.number = s.Quantity()
			hasNumber = true
		case "hash":
			s.Bytes(h.hash[:])
			hasHash = true
		case "parentHash":
			s.Bytes(h.parent[:])
			hasParent = true
		case "timestamp":
			h.time = time.Unix(s.Quantity(), 0).UTC()
			hasTime = true
		case "logsBloom":
			if !s.Null() {
				s.Bytes(h.bloom[:])
			}
		case "transactions":
			if each == nil {
				s.Value()
				continue
			}
			for range s.Elements {
				t, _ := readSent(s)
				each(t)
			}
		default:
			s.Value()
		}
	}
	if err := s.End(); err != nil {
		return h, 0, fmt.Errorf("read a block: %w", err)
	}
	if !hasNumber || !hasHash || !hasParent || !hasTime {
		return h, 0, errors.New("a block lacks a member")
	}
	return h, len(result), nil
}

// readSent reads a transaction and the hash of its block.
func readSent(s *chain.Scanner) (t sent, block hash) {
	var hasHash, hasFrom bool
	for key := range s.Members {
		switch string(key) {
		case "hash":
			s.Bytes(t.transaction[:])
			hasHash = true
		case "from":
			s.Bytes(t.from[:])
			hasFrom = true
		case "blockHash":
			if !s.Null() {
				s.Bytes(block[:])
			}
		default:
			s.Value()
		}
	}
	if s.Err == nil && (!hasHash || !hasFrom) {
		s.Fail(errors.New("a transaction lacks a member"))
	}
	return t, block
}

// readInput reads the call data of a transaction that is in a block.
func readInput(result []byte, transaction, block hash) ([]byte, error) {
	var t *struct {
		Hash, BlockHash, Input string
	}
	if err := json.Unmarshal(result, &t); err != nil {
		return nil, fmt.Errorf("read a transaction: %w", err)
	}
	if t == nil {
		return nil, errNull
	}
	if t.Hash != transaction.String() || t.BlockHash != block.String() {
		return nil, fmt.Errorf("got another transaction than %v, or from another block", transaction)
	}
	digits, ok := strings.CutPrefix(t.Input, "0x")
	input, err := hex.DecodeString(digits)
	if !ok || err != nil {
		return nil, fmt.Errorf("the call data of %v are not hex", transaction)
	}
	return input, nil
}

// readReceipt reads the events of a transaction that is in a block, in order.
func readReceipt(result []byte, transaction, block hash) ([]event, error) {
	s := chain.NewScanner(result)
	if s.Null() {
		return nil, errNull
	}
	var gotTransaction, gotBlock hash
	var list []event
	for key := range s.Members {
		switch string(key) {
		case "transactionHash":
			s.Bytes(gotTransaction[:])
		case "blockHash":
			s.Bytes(gotBlock[:])
		case "logs":
			list = readEvents(s, nil)
		default:
			s.Value()
		}
	}
	if err := s.End(); err != nil {
		return nil, fmt.Errorf("read a receipt: %w", err)
	}
	if gotTransaction != transaction || gotBlock != block {
		return nil, fmt.Errorf("got another receipt than that of %v, or of another block", transaction)
	}
	for i, e := range list {
		if e.transaction != transaction || e.blockHash != block || e.index > math.MaxInt32 || i > 0 &&
			e.index <= list[i-1].index {
			return nil, fmt.Errorf("the receipt of %v contains another transaction's logs", transaction)
		}
	}
	return list, nil
}

// bloomBits are the bits that an item sets in a header's Bloom filter.
type bloomBits [3]uint16

func (b bloomBits) in(bloom *[256]byte) bool {
	for _, bit := range b {
		if bloom[255-bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}
