// Package railtest writes Lightning invoices for tests and for the sample services, signed by a node that exists
// nowhere. It serves a service that asks to be paid over L402 with them.
//
// It must never know how an invoice is read.
package railtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

// Invoice is what Text writes. Zero fields are left out of the invoice.
type Invoice struct {
	Prefix    string // of the currency with the amount, such as "bc2500u"
	Created   time.Time
	Expiry    time.Duration
	NoHash    bool // without a payment hash
	WithPayee bool // with the field of the payee's key
}

// key signs all invoices.
var key = secp256k1.PrivKeyFromBytes([]byte("a key of a node for tests alone!"))

// Payee returns the public key of the node that signs, compressed.
func Payee() []byte { return key.PubKey().SerializeCompressed() }

// PayeeText returns the same key in hexadecimal.
func PayeeText() string { return hex.EncodeToString(Payee()) }

// Text returns the invoice.
func (v Invoice) Text() string {
	hrp := "ln" + v.Prefix
	data := groups(uint64(v.Created.Unix()), 7)
	hash := sha256.Sum256([]byte("a preimage"))
	if !v.NoHash {
		data = appendField(data, 1, convert(hash[:]))
	}
	data = appendField(data, 13, convert([]byte("one call")))
	if v.Expiry > 0 {
		data = appendField(data, 6, groups(uint64(v.Expiry/time.Second), 7))
	}
	if v.WithPayee {
		data = appendField(data, 19, convert(Payee()))
	}
	padded, err := bech32.ConvertBits(data, 5, 8, true)
	if err != nil {
		panic(err) // the groups above have 5 bits
	}
	digest := sha256.Sum256(append([]byte(hrp), padded...))
	compact := ecdsa.SignCompact(key, digest[:], true)
	text, err := bech32.Encode(hrp, append(data, convert(append(compact[1:], compact[0]-31))...))
	if err != nil {
		panic(err) // as above
	}
	return text
}

// Challenge returns an L402 challenge with a macaroon, and an invoice of ten minutes with a prefix.
func Challenge(prefix, macaroon string, now time.Time) string {
	invoice := Invoice{Prefix: prefix, Created: now, Expiry: 10 * time.Minute}.Text()
	return `L402 macaroon="` + base64.StdEncoding.EncodeToString([]byte(macaroon)) + `", invoice="` + invoice + `"`
}

// Handler answers every request with 402 and a fresh L402 challenge for an invoice with this prefix.
func Handler(prefix string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Www-Authenticate", Challenge(prefix, "macaroon "+time.Now().String(), time.Now()))
		http.Error(w, "Payment Required", http.StatusPaymentRequired)
	})
}

func appendField(data []byte, tag byte, field []byte) []byte {
	return append(append(data, tag, byte(len(field)>>5), byte(len(field)&31)), field...)
}

// convert returns bytes as groups of 5 bits.
func convert(data []byte) []byte {
	out, err := bech32.ConvertBits(data, 8, 5, true)
	if err != nil {
		panic(err) // every byte has 8 bits
	}
	return out
}

// groups returns a number as n groups of 5 bits.
func groups(v uint64, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[n-1-i] = byte(v >> (5 * i) & 31)
	}
	return out
}
