package x402

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"errors"
	"math/big"
	"strings"

	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/mr-tron/base58"
)

// rippleAlphabet is base58 in the order that the XRP Ledger uses.
var rippleAlphabet = base58.NewAlphabet("rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz")

// maxBase58 is the largest length of a text to decode, since decoding takes quadratic time.
const maxBase58 = 128

// doubleSHA256 returns the checksum of Bitcoin's base58check and of the formats derived from it.
func doubleSHA256(data []byte) [32]byte {
	first := sha256.Sum256(data)
	return sha256.Sum256(first[:])
}

// base58check decodes text that ends with four bytes of checksum and returns what comes before them.
func base58check(s string, alphabet *base58.Alphabet) ([]byte, error) {
	if len(s) > maxBase58 {
		return nil, errShape
	}
	b, err := base58.DecodeAlphabet(s, alphabet)
	if err != nil || len(b) < 5 {
		return nil, errShape
	}
	payload, sum := b[:len(b)-4], doubleSHA256(b[:len(b)-4])
	if !bytes.Equal(b[len(b)-4:], sum[:4]) {
		return nil, errChecksum
	}
	return payload, nil
}

func solanaAddress(_, s string) error {
	b, err := base58.Decode(s)
	if err != nil || len(b) != 32 {
		return errShape
	}
	return nil
}

func tronAddress(_, s string) error {
	payload, err := base58check(s, base58.BTCAlphabet)
	if err != nil {
		return err
	}
	if len(payload) != 21 || payload[0] != 0x41 {
		return errShape
	}
	return nil
}

func xrplAddress(_, s string) error {
	payload, err := base58check(s, rippleAlphabet)
	if err != nil {
		return err
	}
	if len(payload) != 21 || payload[0] != 0 {
		return errShape
	}
	return nil
}

func concordiumAddress(_, s string) error {
	payload, err := base58check(s, base58.BTCAlphabet)
	if err != nil {
		return err
	}
	if len(payload) != 33 || payload[0] != 1 {
		return errShape
	}
	return nil
}

// bitcoinAddress accepts base58check and segwit addresses and Lightning invoices.
func bitcoinAddress(_, s string) error {
	lower := strings.ToLower(s)
	switch {
	case strings.HasPrefix(lower, "ln"):
		_, err := bech32Data(s)
		return err
	case strings.HasPrefix(lower, "bc1"), strings.HasPrefix(lower, "tb1"):
		return segwitAddress(s)
	}
	payload, err := base58check(s, base58.BTCAlphabet)
	if err != nil {
		return err
	}
	if len(payload) != 21 || payload[0] != 0x00 && payload[0] != 0x05 && payload[0] != 0x6f && payload[0] != 0xc4 {
		return errShape
	}
	return nil
}

// bech32Data decodes text of any length in the original checksum and returns its human-readable part.
func bech32Data(s string) (hrp string, err error) {
	hrp, _, err = bech32.DecodeNoLimit(s)
	var mismatch bech32.ErrInvalidChecksum
	switch {
	case errors.As(err, &mismatch):
		return "", errChecksum
	case err != nil:
		return "", errShape
	}
	return hrp, nil
}

// segwitAddress checks a Bitcoin address of witness version 0 (bech32) or later (bech32m).
func segwitAddress(s string) error {
	hrp, data, version, err := bech32.DecodeGeneric(s)
	var mismatch bech32.ErrInvalidChecksum
	switch {
	case errors.As(err, &mismatch):
		return errChecksum
	case err != nil || hrp != "bc" && hrp != "tb" || len(data) < 1 || data[0] > 16:
		return errShape
	case (data[0] == 0) != (version == bech32.Version0):
		return errChecksum
	}
	program, err := bech32.ConvertBits(data[1:], 5, 8, false)
	if err != nil || len(program) < 2 || len(program) > 40 || data[0] == 0 && len(program) != 20 && len(program) != 32 {
		return errShape
	}
	return nil
}

// cosmosPrefixes are the human-readable parts of known chains; others may use any.
var cosmosPrefixes = map[string]string{
	"cosmos:noble-1":     "noble",
	"cosmos:grand-1":     "noble",
	"cosmos:cosmoshub-4": "cosmos",
}

func cosmosAddress(network, s string) error {
	hrp, err := bech32Data(s)
	if err != nil {
		return err
	}
	if want, ok := cosmosPrefixes[network]; ok && hrp != want {
		return errShape
	}
	return nil
}

func cardanoAddress(network, s string) error {
	want := "addr_test"
	if network == "cardano:mainnet" {
		want = "addr"
	}
	if !strings.HasPrefix(s, want+"1") {
		return errShape
	}
	_, err := bech32Data(s)
	return err
}

var base32Raw = base32.StdEncoding.WithPadding(base32.NoPadding)

// stellarAddress checks a strkey: an account (G), a contract (C) or a multiplexed account (M). The last two bytes are
// CRC16 of the others, little-endian.
func stellarAddress(_, s string) error {
	b, err := base32Raw.DecodeString(s)
	if err != nil {
		return errShape
	}
	n := len(b) - 2
	if sum := crc16(b[:n]); b[n] != byte(sum) || b[n+1] != byte(sum>>8) {
		return errChecksum
	}
	return nil
}

// Strkey returns an address of Stellar as text (SEP-23): version, payload and checksum in base32.
func Strkey(version byte, payload []byte) string {
	b := append([]byte{version}, payload...)
	sum := crc16(b)
	return base32Raw.EncodeToString(append(b, byte(sum), byte(sum>>8)))
}

// algorandAddress checks an address of 32 bytes of key and the last four bytes of their SHA-512/256.
func algorandAddress(_, s string) error {
	b, err := base32Raw.DecodeString(s)
	if err != nil || len(b) != 36 {
		return errShape
	}
	if sum := sha512.Sum512_256(b[:32]); string(sum[28:]) != string(b[32:]) {
		return errChecksum
	}
	return nil
}

// crockford is the alphabet of c32check, which Stacks uses.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// stacksAddress checks c32check: the letter S, a version, 20 bytes of hash and four of a double SHA-256 over version
// and hash.
func stacksAddress(_, s string) error {
	version := byte(strings.IndexByte(crockford, s[1]))
	n := new(big.Int)
	for i := 2; i < len(s); i++ {
		n.Lsh(n, 5)
		n.Or(n, big.NewInt(int64(strings.IndexByte(crockford, s[i]))))
	}
	if n.BitLen() > 24*8 {
		return errShape
	}
	b := n.FillBytes(make([]byte, 24))
	sum := doubleSHA256(append([]byte{version}, b[:20]...))
	if string(sum[:4]) != string(b[20:]) {
		return errChecksum
	}
	return nil
}

// nearAccount accepts named accounts, implicit ones of 64 hex digits and Ethereum-like ones.
func nearAccount(_, s string) error {
	if len(s) < 2 || len(s) > 64 {
		return errShape
	}
	return nil
}

func tonAddress(_, s string) error {
	if _, ok := rawTON(s); !ok {
		return errShape
	}
	return nil
}

// unknownWord refuses URLs on networks whose addresses we do not know.
func unknownWord(_, s string) error {
	if strings.Contains(s, "://") {
		return errShape
	}
	return nil
}
