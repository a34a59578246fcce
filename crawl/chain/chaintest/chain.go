// Package chaintest is an EVM chain in memory that answers JSON-RPC. A test adds as many blocks as it wants, the same
// ones each time, and reorganises the chain when it wants. The chain is fast enough to measure readers with. It
// contains blocks, transactions and logs, and must never know what a settlement is.
package chaintest

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"golang.org/x/crypto/sha3"
)

type (
	Hash    [32]byte
	Address [20]byte
)

// Log is an event of a contract.
type Log struct {
	Contract Address
	Topics   []Hash
	Data     []byte
}

// Tx is a transaction. Its hash follows from its sender and nonce.
type Tx struct {
	From, To Address
	Nonce    uint64
	Input    []byte
	Logs     []Log
	Hash     Hash // filled in by Add
}

// Block is a block of the chain.
type Block struct {
	Number int64
	Hash   Hash
	Parent Hash
	Time   time.Time
	Txs    []Tx
	Bloom  [256]byte
	Logs   int // of all transactions

	json *encoded // nil if the block is encoded for each answer
}

// Chain is a chain. Several goroutines may use it.
type Chain struct {
	ID       int64
	Finality int64 // blocks behind the newest that are finalized; negative if the chain has no such tag
	// Keep stores the JSON of blocks that are added from now on, so that measuring a reader does not measure the node.
	Keep      bool
	mu        sync.RWMutex
	blocks    []*Block
	forks     byte // number of cuts, so that later blocks differ
	blooms    map[string][3]uint16
	positions map[Hash]position
}

type position struct {
	block int64
	index int
}

// New returns a chain with one empty block.
func New(id int64, genesis time.Time) *Chain {
	c := &Chain{ID: id, blooms: map[string][3]uint16{}, positions: map[Hash]position{}}
	c.Add(genesis)
	return c
}

// Add mines a block.
func (c *Chain) Add(at time.Time, txs ...Tx) *Block {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := &Block{Number: int64(len(c.blocks)), Time: at.UTC().Truncate(time.Second), Txs: txs}
	if b.Number > 0 {
		b.Parent = c.blocks[b.Number-1].Hash
	}
	h := sha256.New()
	h.Write(b.Parent[:])
	h.Write([]byte{c.forks})
	for _, n := range []int64{c.ID, b.Number, b.Time.Unix()} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
	}
	for i := range b.Txs {
		t := &b.Txs[i]
		t.Hash = sha256.Sum256(binary.BigEndian.AppendUint64(t.From[:], t.Nonce))
		h.Write(t.Hash[:])
		c.positions[t.Hash] = position{b.Number, i}
		b.Logs += len(t.Logs)
		for _, l := range t.Logs {
			h.Write(l.Contract[:])
			h.Write(l.Data)
			c.mark(&b.Bloom, l.Contract[:])
			for _, topic := range l.Topics {
				h.Write(topic[:])
				c.mark(&b.Bloom, topic[:])
			}
		}
	}
	h.Sum(b.Hash[:0])
	if c.Keep {
		b.json = encode(b)
	}
	c.blocks = append(c.blocks, b)
	return b
}

// mark adds an item to a Bloom filter, by the Ethereum yellow paper.
func (c *Chain) mark(bloom *[256]byte, item []byte) {
	bits, ok := c.blooms[string(item)]
	if !ok {
		k := sha3.NewLegacyKeccak256()
		k.Write(item)
		sum := k.Sum(nil)
		for i := range bits {
			bits[i] = binary.BigEndian.Uint16(sum[2*i:]) & 2047
		}
		if len(c.blooms) < 1<<16 {
			c.blooms[string(item)] = bits
		}
	}
	for _, bit := range bits {
		bloom[255-bit/8] |= 1 << (bit % 8)
	}
}

// Cut removes all blocks above a number. Blocks added later differ from the removed ones, even with equal content.
func (c *Chain) Cut(number int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.blocks[number+1:] {
		for _, t := range b.Txs {
			delete(c.positions, t.Hash)
		}
	}
	c.blocks = c.blocks[:number+1]
	c.forks++
}

// Head returns the newest block.
func (c *Chain) Head() *Block {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.blocks[len(c.blocks)-1]
}

// Block returns the block with a number, nil for none.
func (c *Chain) Block(number int64) *Block {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.at(number)
}

func (c *Chain) at(number int64) *Block {
	if number < 0 || number >= int64(len(c.blocks)) {
		return nil
	}
	return c.blocks[number]
}

// Blocks are those from first to last, as far as there are any.
func (c *Chain) Blocks(first, last int64) []*Block {
	c.mu.RLock()
	defer c.mu.RUnlock()
	first, last = max(first, 0), min(last, int64(len(c.blocks))-1)
	if first > last {
		return nil
	}
	return append([]*Block(nil), c.blocks[first:last+1]...)
}
