package x402

import (
	"bytes"
	"crypto/sha256"
	"regexp"
	"strings"

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
		return nil, ErrShape
	}
	b, err := base58.DecodeAlphabet(s, alphabet)
	if err != nil || len(b) < 5 {
		return nil, ErrShape
	}
	payload, sum := b[:len(b)-4], doubleSHA256(b[:len(b)-4])
	if !bytes.Equal(b[len(b)-4:], sum[:4]) {
		return nil, ErrChecksum
	}
	return payload, nil
}

func solanaRecipient(s string) error {
	if len(s) < 32 || len(s) > 44 {
		return ErrShape
	}
	b, err := base58.Decode(s)
	if err != nil || len(b) != 32 {
		return ErrShape
	}
	if s == "11111111111111111111111111111111" { // the system program
		return ErrBurn
	}
	return nil
}

func tronAddress(s string) error {
	if !strings.HasPrefix(s, "T") || len(s) != 34 {
		return ErrShape
	}
	payload, err := base58check(s, base58.BTCAlphabet)
	if err != nil {
		return err
	}
	if len(payload) != 21 || payload[0] != 0x41 {
		return ErrShape
	}
	return burnIfZero(payload[1:])
}

func xrplAddress(s string) error {
	if !strings.HasPrefix(s, "r") || len(s) < 25 || len(s) > 35 {
		return ErrShape
	}
	payload, err := base58check(s, rippleAlphabet)
	if err != nil {
		return err
	}
	if len(payload) != 21 || payload[0] != 0 {
		return ErrShape
	}
	return burnIfZero(payload[1:])
}

func concordiumAddress(s string) error {
	if len(s) < 45 || len(s) > 55 {
		return ErrShape
	}
	payload, err := base58check(s, base58.BTCAlphabet)
	if err != nil {
		return err
	}
	if len(payload) != 33 || payload[0] != 1 {
		return ErrShape
	}
	return nil
}

func burnIfZero(hash []byte) error {
	for _, c := range hash {
		if c != 0 {
			return nil
		}
	}
	return ErrBurn
}

var lightningForm = regexp.MustCompile(`^ln(bc|tb|bcrt)[0-9]*[munp]?1[02-9ac-hj-np-z]+$`)

// bitcoinAddress accepts base58check and segwit addresses and Lightning invoices.
func bitcoinAddress(s string) error {
	lower := strings.ToLower(s)
	switch {
	case strings.HasPrefix(lower, "ln"):
		if !lightningForm.MatchString(lower) {
			return ErrShape
		}
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
		return ErrShape
	}
	return nil
}
