package stellar

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// readSettlement returns the settlement in a successful transaction of the settler's history, nil if there is none. A
// settlement is a transaction whose fee the settler pays and whose only operation calls transfer of a measured token.
// The payer must be another account than the settler and the operation's source, so that the payer signed the transfer
// and not the transaction: this is what the scheme exact asks for on Stellar.
//
// An impossible answer is an error, so that another server is asked.
func (x *Reader) readSettlement(t transaction, s ledger.ScanSettler) (*ledger.Settlement, error) {
	e, err := readEnvelope(t.Envelope)
	switch {
	case err != nil:
		return nil, err
	case e.feeAccount != t.FeeAccount:
		return nil, fmt.Errorf("has the fee account %.60q, and %s in its envelope", t.FeeAccount, e.feeAccount)
	case e.feeAccount != s.Address || e.call == nil || !x.measured[e.call.contract]:
		return nil, nil
	case e.call.from == s.Address || e.call.from == e.source || e.call.amount.Sign() == 0:
		return nil, nil
	case t.CreatedAt.Before(chain.FirstTime(x.network, s)):
		return nil, nil
	}
	if err := e.checkHash(passphrases[x.network.ID], t.Hash); err != nil {
		return nil, err
	}
	for _, account := range []string{e.call.from, e.call.to} {
		if err := x402.CheckAddress(x.network.ID, account); err != nil && !errors.Is(err, x402.ErrBurn) {
			return nil, fmt.Errorf("has a transfer from %.80q to %.80q: %w", e.call.from, e.call.to, err)
		}
	}
	return &ledger.Settlement{
		Network: x.network.ID, Block: t.Ledger, Time: t.CreatedAt.UTC(), Transaction: t.Hash,
		Facilitator: s.Facilitator, Settler: s.Address,
		Token: e.call.contract, Payer: e.call.from, Payee: e.call.to, Amount: e.call.amount.String(), Method: "sep41",
	}, nil
}

// checkHash checks that a transaction has the hash, so that a server can't invent a payment within another transaction.
// The hash is of the network, the envelope's type and the transaction, without the signatures, which come last.
func (e *envelope) checkHash(passphrase, hash string) error {
	network := sha256.Sum256([]byte(passphrase))
	for n := range maxSignatures + 1 {
		end := len(e.raw) - 4 - n*signatureSize
		if end < 0 {
			break
		}
		if binary.BigEndian.Uint32(e.raw[end:]) != uint32(n) {
			continue
		}
		sum := sha256.New()
		sum.Write(network[:])
		sum.Write(e.raw[:end])
		if hex.EncodeToString(sum.Sum(nil)) == hash {
			return nil
		}
	}
	return errHash
}
