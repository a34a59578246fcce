package crowd

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/mr-tron/base58"

	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// rail is a way to be paid: USDC on a network.
type rail struct {
	weight float64
	id     string // CAIP-2
	word   string // the name of the network in x402 version 1
	asset  x402.Asset
}

// shares are the frequencies of networks, in percent.
var shares = []struct {
	network string
	share   float64
}{
	{"eip155:8453", 60}, {"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", 15}, {"eip155:84532", 7}, {"eip155:137", 4},
	{"eip155:42161", 2.5},
	{"solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", 2}, {"eip155:56", 1.5}, {"eip155:43114", 1.5}, {"eip155:10", 1},
	{"eip155:42220", 1},
	{"eip155:1329", 0.8}, {"eip155:480", 0.7}, {"eip155:1", 0.5}, {"eip155:80002", 0.5}, {"eip155:999", 0.4},
	{"eip155:143", 0.3}, {"eip155:130", 0.3}, {"eip155:59144", 0.2}, {"sui:mainnet", 0.2}, {"near:mainnet", 0.1},
}

func rails() []rail {
	var list []rail
	assets := x402.Assets()
	for _, s := range shares {
		r := rail{weight: s.share, id: s.network}
		n, _ := x402.NetworkByID(s.network)
		for _, word := range n.Aliases {
			if id, ok := x402.ResolveNetwork(word); ok && id == s.network {
				r.word = word
				break
			}
		}
		i := slices.IndexFunc(assets, func(a x402.Asset) bool { return a.Network == s.network && a.Symbol == "USDC" })
		r.asset = assets[i] // rail_test.go checks the table
		list = append(list, r)
	}
	return list
}

func (r rail) evm() bool    { return strings.HasPrefix(r.id, "eip155:") }
func (r rail) solana() bool { return strings.HasPrefix(r.id, "solana:") }

// choose returns n different rails, common ones more often.
func (c *crowd) choose(r *rand.Rand, n int) []rail {
	weights := make([]float64, len(c.rails))
	for i := range c.rails {
		weights[i] = c.rails[i].weight
	}
	list := make([]rail, n)
	for i := range list {
		at := chosen(r, weights)
		list[i], weights[at] = c.rails[at], 0
	}
	return list
}

// atomic returns a price in micro-dollars in the smallest units of the token.
func (r rail) atomic(micros uint64) string {
	return strconv.FormatUint(micros, 10) + strings.Repeat("0", r.asset.Decimals-6)
}

// address returns an account in the form of the network. Nobody has its key.
func (r rail) address(seed uint64, number int) string {
	sum := digest(seed, "account", number)
	switch {
	case r.evm():
		return "0x" + hex.EncodeToString(sum[:20])
	case r.solana():
		return base58.Encode(sum[:])
	case strings.HasPrefix(r.id, "near:"):
		return hex.EncodeToString(sum[:])
	}
	return "0x" + hex.EncodeToString(sum[:])
}

func digest(seed uint64, use string, number int) [32]byte {
	b := append(binary.BigEndian.AppendUint64(nil, seed), use...)
	return sha256.Sum256(binary.BigEndian.AppendUint64(b, uint64(number)))
}

// facilitatorToken is the settlements of a facilitator on a network, and its accounts there.
type facilitatorToken struct {
	ledger.FacilitatorToken
	settlers []string
}

// facilitatorTokens returns the facilitators that settle USDC on a network, the largest of each network first.
func facilitatorTokens(facilitators []ledger.Facilitator, rails []rail) []facilitatorToken {
	var list []facilitatorToken
	for _, r := range rails {
		token := x402.NormalizeAddress(r.id, r.asset.Address)
		var of []facilitatorToken
		for _, f := range facilitators {
			at := facilitatorToken{FacilitatorToken: ledger.FacilitatorToken{Facilitator: f.ID, Network: r.id,
				Token: token}}
			for _, s := range f.Settlers {
				if s.Network == r.id && slices.Contains(s.Tokens, token) {
					at.settlers = append(at.settlers, s.Address)
				}
			}
			if len(at.settlers) > 0 {
				of = append(of, at)
			}
		}
		slices.SortFunc(of, func(a, b facilitatorToken) int {
			return cmp.Or(cmp.Compare(len(b.settlers), len(a.settlers)), cmp.Compare(a.Facilitator, b.Facilitator))
		})
		list = append(list, of...)
	}
	return list
}

// settlers returns the accounts of all tokens, each once, in order. The number of an account is its position, from 1.
func settlers(list []facilitatorToken) []string {
	var all []string
	for _, f := range list {
		all = append(all, f.settlers...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
