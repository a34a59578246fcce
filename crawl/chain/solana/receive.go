package solana

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"filippo.io/edwards25519"
	"github.com/mr-tron/base58"

	"tollbook/crawl/chain"
	"tollbook/site"
	"tollbook/site/postgres/ledger"
)

// Programs that hold tokens, and the one whose accounts belong to an owner and a mint. A payment of the scheme exact is
// one transfer to the associated token account of the recipient; neither clients nor facilitators create that account
// (specs/schemes/exact/scheme_exact_svm.md of x402; "receiver_ata_not_found" of its SDKs).
const (
	tokenProgram      = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	token2022Program  = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
	associatedProgram = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
)

// Layout of a token account (spl-token, state.rs): mint, owner, amount, delegate, and at stateOffset its state.
const (
	tokenAccountSize = 165
	stateOffset      = 108
	stateInitialized = 1
	stateFrozen      = 2
)

// NewReceivers returns receivers for a Solana network: a recipient can receive a token if its associated token account
// exists and is not frozen.
func NewReceivers(n chain.Network, o chain.Options) (*chain.Receivers, error) {
	o = o.WithDefaults()
	return chain.NewReceivers(n, identity(), o, askReceptions,
		func(ctx context.Context, c *chain.Client) (ledger.Head, error) {
			return (&Reader{network: n, options: o}).Head(ctx, c)
		})
}

// askReceptions asks one node about recipients, in two steps: which program each mint belongs to, then the token
// accounts.
func askReceptions(ctx context.Context, c *chain.Client, list []chain.Recipient) ([]chain.Reception, error) {
	var mints []string
	seen := map[string]bool{}
	for _, r := range list {
		if !seen[r.Asset] {
			seen[r.Asset], mints = true, append(mints, r.Asset)
		}
	}
	found, err := askAccounts(ctx, c, mints)
	if err != nil {
		return nil, err
	}
	programs := map[string]string{}
	for i, a := range found {
		if a != nil && (a.Owner == tokenProgram || a.Owner == token2022Program) {
			programs[mints[i]] = a.Owner
		}
	}
	answers := make([]chain.Reception, len(list))
	var accounts []string
	var of []int // the recipient of each account
	for i, r := range list {
		address, err := deriveTokenAccount(r.Address, programs[r.Asset], r.Asset)
		if err != nil {
			answers[i].Reason = chain.ReasonAssetUnknown
			continue
		}
		accounts, of = append(accounts, address), append(of, i)
	}
	if found, err = askAccounts(ctx, c, accounts); err != nil {
		return nil, err
	}
	for i, a := range found {
		r := list[of[i]]
		if answers[of[i]], err = a.reception(programs[r.Asset], r.Asset); err != nil {
			return nil, fmt.Errorf("token account %s: %w", accounts[i], err)
		}
	}
	return answers, nil
}

// account is an answer about one account, nil if there is none.
type account struct {
	Owner string   `json:"owner"` // the program
	Data  []string `json:"data"`  // base64, "base64"
}

// maxAccounts is the most accounts of one call of getMultipleAccounts.
const maxAccounts = 100

// askAccounts returns the accounts at addresses, nil where there is none.
func askAccounts(ctx context.Context, c *chain.Client, addresses []string) ([]*account, error) {
	var all []*account
	for from := 0; from < len(addresses); from += maxAccounts {
		part := addresses[from:min(from+maxAccounts, len(addresses))]
		var list []*account
		err := c.Ask(ctx, chain.Question{
			Calls: []chain.Call{newCall("getMultipleAccounts", part, map[string]any{"commitment": "finalized",
				"encoding": "base64", "dataSlice": map[string]any{"offset": 0, "length": tokenAccountSize}})},
			Read: func(_ int, calls []chain.Call) error {
				var answer struct{ Value []*account }
				if err := json.Unmarshal(calls[0].Result, &answer); err != nil {
					return fmt.Errorf("read accounts: %w", err)
				}
				if len(answer.Value) != len(part) {
					return fmt.Errorf("%d accounts for %d addresses", len(answer.Value), len(part))
				}
				list = answer.Value
				return nil
			},
		})
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// reception returns what a token account says. An account of another program is none: anybody can send SOL to any
// address.
func (a *account) reception(program, mint string) (chain.Reception, error) {
	if a == nil || a.Owner != program {
		return chain.CannotReceive(site.ReceptionNoTokenAccount), nil
	}
	if len(a.Data) != 2 || a.Data[1] != "base64" {
		return chain.Reception{}, errors.New("its data is not in base64")
	}
	data, err := base64.StdEncoding.DecodeString(a.Data[0])
	if err != nil || len(data) < tokenAccountSize {
		return chain.Reception{}, fmt.Errorf("its data has %d bytes, want %d", len(data), tokenAccountSize)
	}
	if got := base58.Encode(data[:32]); got != mint {
		return chain.Reception{}, fmt.Errorf("it is of mint %s, not %.60s", got, mint)
	}
	switch data[stateOffset] {
	case stateInitialized:
		return chain.CanReceive(), nil
	case stateFrozen:
		return chain.CannotReceive(site.ReceptionFrozen), nil
	}
	return chain.CannotReceive(site.ReceptionNoTokenAccount), nil
}

// deriveTokenAccount returns the associated token account of an owner for a mint of a program: the first address without
// a private key that is derived from the three with a number from 255 down.
func deriveTokenAccount(owner, program, mint string) (string, error) {
	var seeds []byte
	for _, address := range []string{owner, program, mint} {
		key, err := base58.Decode(address)
		if err != nil || len(key) != 32 {
			return "", fmt.Errorf("%.60q is no address", address)
		}
		seeds = append(seeds, key...)
	}
	programKey, err := base58.Decode(associatedProgram)
	if err != nil {
		return "", err // unreachable
	}
	for bump := 255; bump >= 0; bump-- {
		h := sha256.New()
		h.Write(seeds)
		h.Write([]byte{byte(bump)})
		h.Write(programKey)
		h.Write([]byte("ProgramDerivedAddress"))
		sum := h.Sum(nil)
		if _, err := new(edwards25519.Point).SetBytes(sum); err != nil { // not on the curve: nobody has its key
			return base58.Encode(sum), nil
		}
	}
	return "", errors.New("no address can be derived")
}
