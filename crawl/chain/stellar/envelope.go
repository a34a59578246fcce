package stellar

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"

	"tollbook/site/x402"
)

// envelope is what a transaction envelope (XDR, RFC 4506) says about a payment.
type envelope struct {
	raw        []byte
	feeAccount string    // pays the fee
	source     string    // of the operation, else of the transaction
	call       *transfer // nil unless the only operation calls transfer(from, to, amount)
}

// transfer is a call of the function of that name of a token contract (SEP-41).
type transfer struct {
	contract, from, to string
	amount             *big.Int
}

// Discriminants of XDR unions, by the protocol's .x files.
const (
	envelopeV0        = 0 // before Protocol 13; can't call contracts
	envelopeV1        = 2
	envelopeFeeBump   = 5
	opInvokeHost      = 24 // INVOKE_HOST_FUNCTION
	hostInvoke        = 0  // HOST_FUNCTION_TYPE_INVOKE_CONTRACT
	valueI128         = 10 // SCV_I128
	valueAddress      = 18 // SCV_ADDRESS
	keyEd25519        = 0
	keyMuxed          = 0x100
	addressAccount    = 0
	addressContract   = 1
	addressMuxed      = 2
	addressBalance    = 3 // a claimable balance
	addressPool       = 4 // a liquidity pool
	maxSignatures     = 20
	signatureSize     = 4 + 4 + 64 // hint, length, Ed25519 signature
	maxContractName   = 32
	maxMemo           = 28
	maxSignedPayload  = 64
	maxEnvelopeLength = 1 << 20 // characters of base64
)

// readEnvelope decodes an envelope as far as its first operation. The rest of it is authorisations and signatures,
// which the network has checked.
func readEnvelope(text string) (*envelope, error) {
	if len(text) > maxEnvelopeLength {
		return nil, fmt.Errorf("envelope has %d characters", len(text))
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("read envelope: %w", err)
	}
	x, e := &xdr{rest: raw}, &envelope{raw: raw}
	kind := x.uint32()
	if kind == envelopeFeeBump {
		e.feeAccount = x.account()
		x.skip(8) // the fee
		if kind = x.uint32(); kind != envelopeV1 {
			x.fail("envelope within a fee bump has type %d", kind)
		}
	}
	switch {
	case kind == envelopeV0 && e.feeAccount == "":
		e.feeAccount = x402.Strkey(versionAccount, x.bytes(32))
		e.source = e.feeAccount
		return e, x.err
	case kind != envelopeV1:
		x.fail("envelope has type %d", kind)
	}
	e.source = x.account()
	if e.feeAccount == "" {
		e.feeAccount = e.source
	}
	x.skip(4 + 8) // fee and sequence number
	x.skipPreconditions()
	x.skipMemo()
	if x.uint32() != 1 { // more than one operation, so none calls a contract
		return e, x.err
	}
	if x.optional() {
		e.source = x.account()
	}
	if x.uint32() == opInvokeHost && x.uint32() == hostInvoke {
		e.call = x.transfer()
	}
	return e, x.err
}

// transfer reads a call of a contract. It returns nil unless the call is a transfer.
func (x *xdr) transfer() *transfer {
	t := &transfer{contract: x.address()}
	if name := x.opaque(maxContractName); string(name) != "transfer" || x.uint32() != 3 {
		return nil
	}
	if x.uint32() != valueAddress {
		return nil
	}
	t.from = x.address()
	if x.uint32() != valueAddress {
		return nil
	}
	t.to = x.address()
	if x.uint32() != valueI128 {
		return nil
	}
	b := x.bytes(16)
	if x.err != nil || b[0]&0x80 != 0 { // negative
		return nil
	}
	t.amount = new(big.Int).SetBytes(b)
	return t
}

// xdr reads XDR. After an error all values are zero.
type xdr struct {
	rest []byte
	err  error
}

func (x *xdr) fail(format string, args ...any) {
	if x.err == nil {
		x.err = fmt.Errorf(format, args...)
	}
	x.rest = nil
}

// bytes returns the next n bytes.
func (x *xdr) bytes(n int) []byte {
	if x.err != nil || len(x.rest) < n {
		x.fail("envelope ends early")
		return make([]byte, n)
	}
	b := x.rest[:n]
	x.rest = x.rest[n:]
	return b
}

func (x *xdr) skip(n int) { x.bytes(n) }

func (x *xdr) uint32() uint32 { return binary.BigEndian.Uint32(x.bytes(4)) }

// opaque returns a value of variable length, which is padded to a multiple of 4.
func (x *xdr) opaque(limit int) []byte {
	n := x.uint32()
	if n > uint32(limit) {
		x.fail("envelope has %d bytes in place of at most %d", n, limit)
		return nil
	}
	return x.bytes(int(n+3) &^ 3)[:n]
}

// optional reports whether a value follows.
func (x *xdr) optional() bool { return x.uint32() != 0 }

// account returns the account (G) of a MuxedAccount, without the number within it.
func (x *xdr) account() string {
	switch kind := x.uint32(); kind {
	case keyEd25519:
	case keyMuxed:
		x.skip(8)
	default:
		x.fail("account has type %d", kind)
	}
	return x402.Strkey(versionAccount, x.bytes(32))
}

// address returns an SCAddress: an account (G), a contract (C) or a multiplexed account (M); "" for a balance or pool.
func (x *xdr) address() string {
	switch kind := x.uint32(); kind {
	case addressAccount:
		if key := x.uint32(); key != keyEd25519 {
			x.fail("public key has type %d", key)
		}
		return x402.Strkey(versionAccount, x.bytes(32))
	case addressContract:
		return x402.Strkey(versionContract, x.bytes(32))
	case addressMuxed:
		id := x.bytes(8)
		return x402.Strkey(versionMuxed, append(append([]byte(nil), x.bytes(32)...), id...))
	case addressBalance:
		x.skip(4 + 32)
	case addressPool:
		x.skip(32)
	default:
		x.fail("address has type %d", kind)
	}
	return ""
}

func (x *xdr) skipPreconditions() {
	switch kind := x.uint32(); kind {
	case 0:
	case 1: // from and to, in seconds
		x.skip(16)
	case 2:
		for _, size := range []int{16, 8, 8} { // times, ledgers, sequence number
			if x.optional() {
				x.skip(size)
			}
		}
		x.skip(8 + 4) // age and gap of the sequence number
		signers := x.uint32()
		if signers > 2 {
			x.fail("envelope has %d further signers", signers)
		}
		for range signers {
			if kind := x.uint32(); kind > 3 {
				x.fail("signer has type %d", kind)
			} else if x.skip(32); kind == 3 {
				x.opaque(maxSignedPayload)
			}
		}
	default:
		x.fail("preconditions have type %d", kind)
	}
}

func (x *xdr) skipMemo() {
	switch kind := x.uint32(); kind {
	case 0:
	case 1:
		x.opaque(maxMemo)
	case 2:
		x.skip(8)
	case 3, 4:
		x.skip(32)
	default:
		x.fail("memo has type %d", kind)
	}
}

// errHash says that an envelope is another transaction's.
var errHash = errors.New("has an envelope that does not belong to its hash")

// Version bytes of addresses as text (SEP-23).
const (
	versionAccount  = 6 << 3  // G
	versionContract = 2 << 3  // C
	versionMuxed    = 12 << 3 // M
)
