package sample

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/mr-tron/base58"
	"golang.org/x/crypto/sha3"

	"tollbook/site/x402"
)

// rail is a way to pay: a scheme and a token on a network. Networks and tokens are real ones, from the tables of x402.
type rail struct {
	scheme  string
	word    string // the network's name in version 1
	network x402.Network
	asset   x402.Asset
}

func parseRails(texts []string) ([]rail, error) {
	var list []rail
	for _, text := range texts {
		r, err := parseRail(text)
		if err != nil {
			return nil, fmt.Errorf("rail %q: %w", text, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// parseRail parses "scheme network [token]". The default token is USDC.
func parseRail(text string) (rail, error) {
	parts := strings.Fields(text)
	if len(parts) == 2 {
		parts = append(parts, "USDC")
	}
	if len(parts) != 3 {
		return rail{}, fmt.Errorf("want scheme network [token]")
	}
	id, ok := x402.ResolveNetwork(parts[1])
	if !ok {
		return rail{}, fmt.Errorf("unknown network %q", parts[1])
	}
	n, _ := x402.NetworkByID(id)
	for _, a := range x402.Assets() {
		if a.Network == id && a.Symbol == parts[2] {
			return rail{scheme: parts[0], word: parts[1], network: n, asset: a}, nil
		}
	}
	return rail{}, fmt.Errorf("no %s on %s", parts[2], id)
}

func (r rail) evm() bool { return strings.HasPrefix(r.network.ID, "eip155:") }

// atomic converts a decimal price to atomic units, exactly. No price of the cast is finer than its token.
func (r rail) atomic(price string) string {
	whole, fraction, _ := strings.Cut(price, ".")
	fraction += strings.Repeat("0", max(0, r.asset.Decimals-len(fraction)))
	if digits := strings.TrimLeft(whole+fraction, "0"); digits != "" {
		return digits
	}
	return "0"
}

// recipient returns an address of owner on the rail's network: a hash in the right format with a valid checksum. Nobody
// has a key of it.
func (r rail) recipient(owner string, number int) string {
	return r.address(owner + "/recipient/" + strconv.Itoa(number))
}

func (r rail) address(of string) string {
	sum := sha256.Sum256([]byte(Domain + "/" + of))
	namespace, _, _ := strings.Cut(r.network.ID, ":")
	switch namespace {
	case "eip155":
		return checksummed(sum[:20])
	case "solana":
		return base58.Encode(sum[:])
	case "cosmos":
		return nobleAddress(sum[:20])
	}
	return "0x" + hex.EncodeToString(sum[:])
}

// checksummed returns an EVM address in the mixed case of EIP-55.
func checksummed(address []byte) string {
	text := []byte(hex.EncodeToString(address))
	h := sha3.NewLegacyKeccak256()
	h.Write(text)
	sum := hex.EncodeToString(h.Sum(nil))
	for i, c := range text {
		if c >= 'a' && sum[i] >= '8' {
			text[i] = c - 'a' + 'A'
		}
	}
	return "0x" + string(text)
}

func nobleAddress(address []byte) string {
	words, err := bech32.ConvertBits(address, 8, 5, true)
	if err != nil {
		panic(err) // 20 bytes always convert
	}
	text, err := bech32.Encode("noble", words)
	if err != nil {
		panic(err)
	}
	return text
}

// extra returns what the scheme's clients need in addition to the price.
func (r rail) extra(owner string) map[string]any {
	extra := map[string]any{}
	if r.evm() && r.asset.Name != "" {
		extra["name"], extra["version"] = r.asset.Name, r.asset.Version
	}
	switch {
	case r.scheme == "upto":
		extra["assetTransferMethod"] = "permit2"
		extra["facilitatorAddress"] = r.address("facilitator")
	case r.scheme == "batch-settlement":
		extra["receiverAuthorizer"] = r.address(owner + "/authorizer")
		extra["withdrawDelay"] = 86400
	case r.scheme == "exact_cosmos_authz":
		extra["facilitator"] = r.address("facilitator")
		extra["chainId"] = strings.TrimPrefix(r.network.ID, "cosmos:")
	case strings.HasPrefix(r.network.ID, "solana:"):
		extra["feePayer"] = r.address("facilitator")
	}
	return extra
}
