package solana

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mr-tron/base58"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// The two programs of token accounts. Both have the same instructions with the same numbers.
const (
	splToken  = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	token2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
)

// solanaTransaction is the answer of getTransaction with encoding jsonParsed, with the members that settlements need.
type solanaTransaction struct {
	Slot        int64       `json:"slot"`
	BlockTime   *int64      `json:"blockTime"` // seconds since 1970
	Meta        *solanaMeta `json:"meta"`
	Transaction struct {
		Signatures []string `json:"signatures"`
		Message    struct {
			AccountKeys  []accountKey        `json:"accountKeys"` // keys of lookup tables follow
			Instructions []solanaInstruction `json:"instructions"`
		} `json:"message"`
	} `json:"transaction"`
}

type accountKey struct {
	Pubkey string `json:"pubkey"`
	Signer bool   `json:"signer"`
}

type solanaMeta struct {
	Err               json.RawMessage     `json:"err"`
	InnerInstructions []innerInstructions `json:"innerInstructions"` // nil if the node has not stored them
	PreTokenBalances  []tokenBalance      `json:"preTokenBalances"`
	PostTokenBalances []tokenBalance      `json:"postTokenBalances"`
}

// innerInstructions are the instructions that the program of an outer instruction called, in order of execution.
type innerInstructions struct {
	Index        int                 `json:"index"` // of the outer instruction
	Instructions []solanaInstruction `json:"instructions"`
}

// solanaInstruction is parsed if the node knows its program, else it has accounts and data.
type solanaInstruction struct {
	ProgramID string          `json:"programId"`
	Parsed    json.RawMessage `json:"parsed"` // an object; a string for memos
	Accounts  []string        `json:"accounts"`
	Data      string          `json:"data"` // base58
}

type tokenBalance struct {
	AccountIndex int    `json:"accountIndex"`
	Mint         string `json:"mint"`
	Owner        string `json:"owner"` // "" from nodes before 2021
}

// tokenAccount is the mint and owner of a token account.
type tokenAccount struct{ mint, owner string }

// tokenTransfer is one instruction that transfers tokens.
type tokenTransfer struct {
	index                                int
	source, destination, authority, mint string // mint is "" for the unchecked Transfer
	amount                               uint64
}

// readSettlements returns the transfers of measured tokens in a successful transaction that was requested by its
// signature. The settler is the account that pays the fee and no other: another signer agreed to the transaction but
// did not send it. A transfer from the settler's own account moves its own money and is no settlement.
//
// An impossible answer is an error, so that another node is asked.
func (x *Reader) readSettlements(t *solanaTransaction, of signatureEntry, s ledger.ScanSettler) ([]ledger.Settlement,
	error) {
	switch keys := t.Transaction.Message.AccountKeys; {
	case len(t.Transaction.Signatures) == 0 || t.Transaction.Signatures[0] != of.Signature || t.Slot != of.Slot:
		return nil, errors.New("is another transaction than the requested one")
	case t.Meta == nil || len(t.Meta.Err) == 0:
		return nil, errors.New("lacks the member err")
	case !bytes.Equal(t.Meta.Err, []byte("null")):
		return nil, nil
	case len(keys) == 0 || !keys[0].Signer:
		return nil, errors.New("has no signer to pay its fee")
	case !slices.ContainsFunc(keys, func(k accountKey) bool { return k.Pubkey == s.Address }):
		return nil, errors.New("does not contain the settler whose history lists it")
	case keys[0].Pubkey != s.Address:
		return nil, nil
	case t.Meta.InnerInstructions == nil:
		return nil, errors.New("lacks its inner instructions")
	}
	seconds := t.BlockTime
	if seconds == nil {
		seconds = of.BlockTime
	}
	if seconds == nil {
		return nil, errors.New("has no time")
	}
	at := time.Unix(*seconds, 0).UTC()
	if err := chain.CheckTime(at, genesis, x.options.Now()); err != nil {
		return nil, err
	}
	if at.Before(x.firstTime(s)) {
		return nil, nil
	}
	accounts, err := t.tokenAccounts()
	if err != nil {
		return nil, err
	}
	readTransfers, err := t.readTransfers(accounts)
	if err != nil {
		return nil, err
	}
	var list []ledger.Settlement
	for _, m := range readTransfers {
		from, to := accounts[m.source], accounts[m.destination]
		// Accounts that existed only within the transaction have no balance.
		mint := firstOf(m.mint, from.mint, to.mint)
		payer, payee := firstOf(from.owner, m.authority), firstOf(to.owner, m.destination)
		if !x.measured[mint] || m.amount == 0 || payer == s.Address {
			continue
		}
		for _, account := range []string{payer, payee} {
			if err := x402.CheckAddress(x.network.ID, account); err != nil && !errors.Is(err, x402.ErrBurn) {
				return nil, fmt.Errorf("instruction %d: %w", m.index, err)
			}
		}
		list = append(list, ledger.Settlement{
			Network: x.network.ID, Block: t.Slot, Time: at, Transaction: of.Signature, LogIndex: m.index,
			Facilitator: s.Facilitator, Settler: s.Address,
			Token: mint, Payer: payer, Payee: payee, Amount: strconv.FormatUint(m.amount, 10), Method: "spl",
		})
	}
	return list, nil
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// tokenAccounts returns the accounts with a token balance before or after the transaction.
func (t *solanaTransaction) tokenAccounts() (map[string]tokenAccount, error) {
	accounts := map[string]tokenAccount{}
	keys := t.Transaction.Message.AccountKeys
	for _, balances := range [][]tokenBalance{t.Meta.PostTokenBalances, t.Meta.PreTokenBalances} {
		for _, b := range balances {
			if b.AccountIndex < 0 || b.AccountIndex >= len(keys) || b.Mint == "" {
				return nil, fmt.Errorf("has a token balance of account %d of %d", b.AccountIndex, len(keys))
			}
			// the balance before the transaction wins: it has the owner who paid
			accounts[keys[b.AccountIndex].Pubkey] = tokenAccount{b.Mint, b.Owner}
		}
	}
	return accounts, nil
}

// readTransfers reads all instructions in order of execution, outer and inner. An outer instruction's index is 1000
// times its position; the inner ones it called follow it by one each. It adds accounts that the transaction opens to
// accounts.
func (t *solanaTransaction) readTransfers(accounts map[string]tokenAccount) ([]tokenTransfer, error) {
	outer := t.Transaction.Message.Instructions
	inner := make(map[int][]solanaInstruction, len(t.Meta.InnerInstructions))
	for _, group := range t.Meta.InnerInstructions {
		if _, twice := inner[group.Index]; twice || group.Index < 0 || group.Index >= len(outer) ||
			len(group.Instructions) > 999 {
			return nil, fmt.Errorf("has %d instructions within number %d of %d, or has them twice",
				len(group.Instructions), group.Index, len(outer))
		}
		inner[group.Index] = group.Instructions
	}
	var list []tokenTransfer
	for i := range outer {
		for j, instruction := range append(outer[i:i+1:i+1], inner[i]...) {
			index := 1000*i + j
			transfer, err := instruction.read(accounts)
			if err != nil {
				return nil, fmt.Errorf("instruction %d: %w", index, err)
			}
			if transfer != nil {
				transfer.index = index
				list = append(list, *transfer)
			}
		}
	}
	return list, nil
}

// read returns the transfer of an instruction, nil for other instructions.
func (i *solanaInstruction) read(accounts map[string]tokenAccount) (*tokenTransfer, error) {
	if i.ProgramID != splToken && i.ProgramID != token2022 {
		return nil, nil
	}
	if len(i.Parsed) == 0 {
		return i.decode()
	}
	var parsed struct {
		Type string          `json:"type"`
		Info json.RawMessage `json:"info"`
	}
	if err := json.Unmarshal(i.Parsed, &parsed); err != nil {
		return nil, fmt.Errorf("read token instruction: %w", err)
	}
	switch parsed.Type {
	case "transfer", "transferChecked", "initializeAccount", "initializeAccount2", "initializeAccount3":
	default:
		return nil, nil
	}
	var info struct {
		Source, Destination, Authority, MultisigAuthority, Mint, Amount string
		TokenAmount                                                     *struct{ Amount string }
		Account, Owner                                                  string
	}
	if err := json.Unmarshal(parsed.Info, &info); err != nil {
		return nil, fmt.Errorf("read %s: %w", parsed.Type, err)
	}
	if info.Account != "" { // opened in this transaction; if it is closed again, no balance has its owner
		if _, ok := accounts[info.Account]; !ok {
			accounts[info.Account] = tokenAccount{info.Mint, info.Owner}
		}
		return nil, nil
	}
	amount := info.Amount
	if info.TokenAmount != nil {
		amount = info.TokenAmount.Amount
	}
	n, err := strconv.ParseUint(amount, 10, 64)
	if err != nil || info.Source == "" || info.Destination == "" {
		return nil, fmt.Errorf("read %s: amount %.40q from %.60q to %.60q", parsed.Type, amount, info.Source,
			info.Destination)
	}
	return &tokenTransfer{source: info.Source, destination: info.Destination,
		authority: firstOf(info.Authority, info.MultisigAuthority), mint: info.Mint, amount: n}, nil
}

// The first byte of a token instruction's data, its operation.
const (
	opTransfer        = 3  // source, destination, authority; amount
	opTransferChecked = 12 // source, mint, destination, authority; amount, decimals
)

// decode reads an instruction that the node did not parse.
func (i *solanaInstruction) decode() (*tokenTransfer, error) {
	if len(i.Data) > 2048 { // a transaction has 1232 bytes
		return nil, fmt.Errorf("has %d characters of data", len(i.Data))
	}
	data, err := base58.Decode(i.Data)
	if err != nil {
		return nil, fmt.Errorf("read data: %w", err)
	}
	a := i.Accounts
	switch {
	case len(data) == 9 && data[0] == opTransfer && len(a) >= 3:
		return &tokenTransfer{source: a[0], destination: a[1], authority: a[2],
			amount: binary.LittleEndian.Uint64(data[1:])}, nil
	case len(data) == 10 && data[0] == opTransferChecked && len(a) >= 4:
		return &tokenTransfer{source: a[0], mint: a[1], destination: a[2], authority: a[3],
			amount: binary.LittleEndian.Uint64(data[1:])}, nil
	case len(data) == 0 || data[0] == opTransfer || data[0] == opTransferChecked:
		return nil, fmt.Errorf("a transfer of %d bytes and %d accounts", len(data), len(a))
	}
	return nil, nil
}
