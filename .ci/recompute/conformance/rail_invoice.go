package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strings"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

// invoice is a valid invoice of the Lightning Network (BOLT 11).
type invoice struct {
	network, amount, payee string // the amount is in millisatoshis, "" if the payer chooses it
	created                int64
	expiry                 int // in seconds
}

// invoiceNetworks are the prefixes of invoices after ln. A prefix comes after those that begin with it.
var invoiceNetworks = [][2]string{
	{"bcrt", "bip122:0f9188f13cb7b2c71f2a335e3a4fc328"}, {"bc", bitcoin},
	{"tbs", "bip122:00000008819873e925422c1ff0f99f7c"}, {"tb", "bip122:000000000933ea01ad0ee984209779ba"},
}

// invoiceAmount returns the millisatoshis of an amount with its multiplier.
func invoiceAmount(text string) (amount string, ok bool) {
	if text == "" {
		return "", true
	}
	scale := map[byte]int64{'m': 1e8, 'u': 1e5, 'n': 1e2}[text[len(text)-1]]
	digits := strings.TrimRight(text, "munp")
	value, isNumber := new(big.Rat).SetString(digits)
	if !isNumber || !matchesWhole(`[1-9][0-9]*[munp]?`, text) {
		return "", false
	}
	switch {
	case strings.HasSuffix(text, "p"):
		value.Quo(value, big.NewRat(10, 1))
	case scale == 0:
		scale = 1e11
		fallthrough
	default:
		value.Mul(value, big.NewRat(scale, 1))
	}
	if !value.IsInt() || len(value.Num().String()) > 19 {
		return "", false
	}
	return value.Num().String(), true
}

// groups returns 5-bit groups as a number.
func groups(list []byte) (n int64) {
	for _, g := range list {
		n = n<<5 | int64(g)
	}
	return n
}

// maxExpiry is the longest expiry in seconds, a hundred years.
const maxExpiry = 100 * 365 * 24 * 60 * 60

// Numbers of 5-bit groups of an invoice: its time and signature, a hash or secret, and the key of a node.
const timeGroups, signatureGroups, hashGroups, keyGroups, maxInvoice = 7, 104, 52, 53, 8 << 10

// readInvoice reads an invoice, nil if it is not valid.
func readInvoice(text string) *invoice {
	if len(text) > maxInvoice {
		return nil
	}
	if scheme, rest, ok := strings.Cut(text, ":"); ok && strings.EqualFold(scheme, "lightning") {
		text = rest
	}
	prefix, data, sum, ok := bech32(text)
	if !ok || sum != 1 || len(data) < timeGroups+signatureGroups || !strings.HasPrefix(prefix, "ln") {
		return nil
	}
	v := &invoice{created: groups(data[:timeGroups]), expiry: 3600}
	for _, n := range invoiceNetworks {
		if amount, isIts := strings.CutPrefix(prefix[2:], n[0]); isIts {
			if v.amount, ok = invoiceAmount(amount); !ok {
				return nil
			}
			v.network = n[1]
			break
		}
	}
	signed, signature := data[:len(data)-signatureGroups], data[len(data)-signatureGroups:]
	key, ok := v.readFields(signed[timeGroups:])
	if !ok || v.network == "" {
		return nil
	}
	hash := sha256.Sum256(append([]byte(prefix), joinGroups(signed, true)...))
	if v.payee = payeeOf(hash[:], joinGroups(signature, false), key); v.payee == "" {
		return nil
	}
	return v
}

// readFields reads the tagged fields. It returns the key of the payee, nil if none is stated, and false without a
// payment hash or a description.
func (v *invoice) readFields(data []byte) (key []byte, ok bool) {
	hasHash, hasText := false, false
	for len(data) > 0 {
		if len(data) < 3 || int(groups(data[1:3])) > len(data)-3 {
			return nil, false
		}
		tag, field := bech32Alphabet[data[0]], data[3:3+groups(data[1:3])]
		data = data[3+len(field):]
		switch {
		case tag == 'p' && len(field) == hashGroups:
			hasHash = true
		case tag == 'n' && len(field) == keyGroups:
			key = joinGroups(field, false)
		case tag == 'd' || tag == 'h' && len(field) == hashGroups:
			hasText = true
		case tag == 'x' && len(field) > timeGroups:
			return nil, false
		case tag == 'x':
			v.expiry = int(min(groups(field), maxExpiry))
		}
	}
	return key, hasHash && hasText
}

// payeeOf returns the key of the node that signed an invoice, which must be the stated one; "" if the signature is not
// valid.
func payeeOf(hash, signature, stated []byte) string {
	if len(signature) != 65 || signature[64] > 3 {
		return ""
	}
	if stated == nil {
		key, _, err := ecdsa.RecoverCompact(append([]byte{31 + signature[64]}, signature[:64]...), hash)
		if err != nil {
			return ""
		}
		return hex.EncodeToString(key.SerializeCompressed())
	}
	key, err := secp256k1.ParsePubKey(stated)
	var r, s secp256k1.ModNScalar
	if err != nil || r.SetByteSlice(signature[:32]) || s.SetByteSlice(signature[32:64]) ||
		!ecdsa.NewSignature(&r, &s).Verify(hash, key) {
		return ""
	}
	return hex.EncodeToString(stated)
}

// joinGroups returns 5-bit groups as bytes. The bits that remain are dropped, or padded with zeros.
func joinGroups(list []byte, pad bool) (out []byte) {
	var bits, n uint
	for _, g := range list {
		bits, n = bits<<5|uint(g), n+5
		if n >= 8 {
			n -= 8
			out = append(out, byte(bits>>n))
			bits &= 1<<n - 1
		}
	}
	if pad && n > 0 {
		out = append(out, byte(bits<<(8-n)))
	}
	return out
}
