// This file reads invoices of the Lightning Network: amount, network, expiry and payee. It checks the checksum, the
// signature and the fields that an invoice must have (BOLT 11, "Invoice Protocol for Lightning Payments").
//
// The package is pure: it uses no clock and no network. Any input may be hostile; an invoice has at most MaxInvoice
// bytes. It must never know who sends an invoice or why.

package rail

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

// MaxInvoice is the largest length of an invoice in bytes. Real ones have some hundred.
const MaxInvoice = 8 << 10

// Invoice is a valid invoice.
type Invoice struct {
	Network     string // CAIP-2: the first 32 hexadecimal digits of the chain's genesis block (BIP 122)
	Amount      string // millisatoshis in decimal digits; "" if the payer chooses the amount
	Created     time.Time
	Expiry      time.Duration
	PaymentHash string // hexadecimal
	Payee       string // public key of the payee's node, hexadecimal
}

// Expires returns the time from which the invoice cannot be paid.
func (v Invoice) Expires() time.Time { return v.Created.Add(v.Expiry) }

// networks are the prefixes of currencies with the chains that they stand for. A prefix comes after those that begin
// with it.
var networks = []struct{ prefix, network string }{
	{"bcrt", "bip122:0f9188f13cb7b2c71f2a335e3a4fc328"}, // regtest
	{"bc", InvoiceMainnet},
	{"tbs", "bip122:00000008819873e925422c1ff0f99f7c"}, // signet
	{"tb", "bip122:000000000933ea01ad0ee984209779ba"},  // testnet 3
}

// InvoiceMainnet is the network on which bitcoins have a value.
const InvoiceMainnet = "bip122:000000000019d6689c085ae165831e93"

// Number of 5-bit groups of the parts that every invoice has.
const (
	timestampGroups = 7
	signatureGroups = 104
	hashGroups      = 52
	payeeGroups     = 53
)

// ReadInvoice reads an invoice, with or without "lightning:" in front. The error says in words what is wrong.
func ReadInvoice(text string) (Invoice, error) {
	if len(text) > MaxInvoice {
		return Invoice{}, fmt.Errorf("the invoice has more than %d bytes", MaxInvoice)
	}
	if scheme, rest, ok := strings.Cut(text, ":"); ok && strings.EqualFold(scheme, "lightning") {
		text = rest
	}
	hrp, data, version, err := bech32.DecodeNoLimitWithVersion(text)
	if err != nil || version != bech32.Version0 {
		return Invoice{}, errors.New("the invoice is not bech32 with a matching checksum")
	}
	if len(data) < timestampGroups+signatureGroups {
		return Invoice{}, errors.New("the invoice is too short")
	}
	var v Invoice
	if err := v.readPrefix(hrp); err != nil {
		return Invoice{}, err
	}
	signed, signature := data[:len(data)-signatureGroups], data[len(data)-signatureGroups:]
	v.Created = time.Unix(int64(number(signed[:timestampGroups])), 0).UTC()
	v.Expiry = time.Hour
	payee, err := v.readFields(signed[timestampGroups:])
	if err != nil {
		return Invoice{}, err
	}
	if v.Payee, err = verify(hrp, signed, signature, payee); err != nil {
		return Invoice{}, err
	}
	return v, nil
}

// readPrefix reads the network and the amount from the part of an invoice before its separator.
func (v *Invoice) readPrefix(hrp string) error {
	rest, ok := strings.CutPrefix(hrp, "ln")
	if !ok {
		return errors.New("the invoice does not begin with ln")
	}
	for _, n := range networks {
		amount, ok := strings.CutPrefix(rest, n.prefix)
		if !ok {
			continue
		}
		v.Network = n.network
		return v.readAmount(amount)
	}
	return fmt.Errorf("the invoice is for an unknown network, %.20q", rest)
}

// multipliers are the number of zeros that turn an amount with a multiplier into tenths of a millisatoshi.
var multipliers = map[byte]int{'m': 9, 'u': 6, 'n': 3, 'p': 0}

// maxDigits is the number of digits of 21 million bitcoins in tenths of a millisatoshi.
const maxDigits = 20

// readAmount reads the digits of an amount and its multiplier.
func (v *Invoice) readAmount(text string) error {
	if text == "" {
		return nil
	}
	zeros := 12
	if n, ok := multipliers[text[len(text)-1]]; ok {
		zeros, text = n, text[:len(text)-1]
	}
	if text == "" || text[0] == '0' || strings.Trim(text, "0123456789") != "" {
		return fmt.Errorf("the amount %.20q of the invoice is not a positive whole number", text)
	}
	if len(text)+zeros > maxDigits {
		return errors.New("the amount of the invoice is more than all bitcoins")
	}
	text += strings.Repeat("0", zeros)
	whole, isWhole := strings.CutSuffix(text, "0")
	if !isWhole {
		return errors.New("the amount of the invoice is not a whole number of millisatoshis")
	}
	v.Amount = whole
	return nil
}

// readFields reads the tagged fields. Unknown fields, and known ones of the wrong length, are skipped, as the
// specification demands. It returns the public key in the invoice, nil without one.
func (v *Invoice) readFields(data []byte) (payee []byte, err error) {
	described := false
	for len(data) > 0 {
		if len(data) < 3 {
			return nil, errors.New("the invoice ends within a field")
		}
		tag, n := data[0], int(number(data[1:3]))
		if data = data[3:]; n > len(data) {
			return nil, errors.New("the invoice ends within a field")
		}
		field := data[:n]
		data = data[n:]
		switch "qpzry9x8gf2tvdw0s3jn54khce6mua7l"[tag] {
		case 'p':
			if n == hashGroups && v.PaymentHash == "" {
				v.PaymentHash = hex.EncodeToString(bytesOf(field))
			}
		case 'n':
			if n == payeeGroups {
				payee = bytesOf(field)
			}
		case 'd':
			described = true
		case 'h':
			described = described || n == hashGroups
		case 'x':
			if n > timestampGroups {
				return nil, errors.New("the expiry of the invoice is not plausible")
			}
			v.Expiry = min(time.Duration(number(field)), maxExpiry) * time.Second
		}
	}
	switch {
	case v.PaymentHash == "":
		return nil, errors.New("the invoice has no payment hash")
	case !described:
		return nil, errors.New("the invoice has no description")
	}
	return payee, nil
}

// maxExpiry bounds an expiry in seconds: a hundred years.
const maxExpiry = 100 * 365 * 24 * 60 * 60

// verify checks the signature of an invoice and returns the public key of the payee: the one in the invoice, or else
// the one that the signature proves.
func verify(hrp string, signed, signature, payee []byte) (string, error) {
	padded, err := bech32.ConvertBits(signed, 5, 8, true)
	if err != nil {
		return "", errors.New("the invoice is not bech32 with a matching checksum")
	}
	hash := sha256.Sum256(append([]byte(hrp), padded...))
	raw := bytesOf(signature) // r, s, recovery id
	if len(raw) != 65 || raw[64] > 3 {
		return "", errors.New("the signature of the invoice has a wrong form")
	}
	if payee == nil {
		key, _, err := ecdsa.RecoverCompact(append([]byte{31 + raw[64]}, raw[:64]...), hash[:])
		if err != nil {
			return "", errors.New("the signature of the invoice is not valid")
		}
		return hex.EncodeToString(key.SerializeCompressed()), nil
	}
	key, err := secp256k1.ParsePubKey(payee)
	var r, s secp256k1.ModNScalar
	if err != nil || r.SetByteSlice(raw[:32]) || s.SetByteSlice(raw[32:64]) ||
		!ecdsa.NewSignature(&r, &s).Verify(hash[:], key) {
		return "", errors.New("the signature of the invoice is not by the node that it names")
	}
	return hex.EncodeToString(payee), nil
}

// number returns at most 12 groups of 5 bits as a number.
func number(groups []byte) uint64 {
	var n uint64
	for _, g := range groups {
		n = n<<5 | uint64(g)
	}
	return n
}

// bytesOf returns groups of 5 bits as bytes, without the bits that remain.
func bytesOf(groups []byte) []byte {
	out := make([]byte, 0, len(groups)*5/8)
	var bits, n uint
	for _, g := range groups {
		bits, n = bits<<5|uint(g), n+5
		if n >= 8 {
			n -= 8
			out = append(out, byte(bits>>n))
			bits &= 1<<n - 1
		}
	}
	return out
}
