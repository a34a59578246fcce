package x402

import (
	"crypto/sha512"
	"encoding/base32"
	"math/big"
	"regexp"
	"strings"
)

var base32Raw = base32.StdEncoding.WithPadding(base32.NoPadding)

var stellarForm = regexp.MustCompile(`^(?:[GC][A-D][A-Z2-7]{54}|M[A-D][A-Z2-7]{67})$`)

// stellarAddress checks a strkey: an account (G), a contract (C) or a multiplexed account (M). The last two bytes are
// CRC16 of the others, little-endian.
func stellarAddress(s string) error {
	if !stellarForm.MatchString(s) {
		return ErrShape
	}
	b, err := base32Raw.DecodeString(s)
	if err != nil {
		return ErrShape
	}
	n := len(b) - 2
	if sum := crc16(b[:n]); b[n] != byte(sum) || b[n+1] != byte(sum>>8) {
		return ErrChecksum
	}
	if s[0] != 'M' {
		return burnIfZero(b[1:n])
	}
	return nil
}

// algorandAddress checks an address of 32 bytes of key and the last four bytes of their SHA-512/256.
func algorandAddress(s string) error {
	if len(s) != 58 {
		return ErrShape
	}
	b, err := base32Raw.DecodeString(s)
	if err != nil || len(b) != 36 {
		return ErrShape
	}
	if sum := sha512.Sum512_256(b[:32]); string(sum[28:]) != string(b[32:]) {
		return ErrChecksum
	}
	return burnIfZero(b[:32])
}

// crockford is the alphabet of c32check, which Stacks uses.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

var stacksForm = regexp.MustCompile(`^S[PMTN][0-9A-HJKMNP-TV-Z]{38,40}$`)

// stacksAddress checks c32check: the letter S, a version, 20 bytes of hash and four of a double SHA-256 over version
// and hash.
func stacksAddress(s string) error {
	if !stacksForm.MatchString(s) {
		return ErrShape
	}
	version := byte(strings.IndexByte(crockford, s[1]))
	n := new(big.Int)
	for i := 2; i < len(s); i++ {
		n.Lsh(n, 5)
		n.Or(n, big.NewInt(int64(strings.IndexByte(crockford, s[i]))))
	}
	if n.BitLen() > 24*8 {
		return ErrShape
	}
	b := n.FillBytes(make([]byte, 24))
	sum := doubleSHA256(append([]byte{version}, b[:20]...))
	if string(sum[:4]) != string(b[20:]) {
		return ErrChecksum
	}
	return burnIfZero(b[:20])
}

// nearAccount accepts named accounts, implicit ones of 64 hex digits and Ethereum-like ones.
func nearAccount(s string) error {
	s = strings.ToLower(s)
	if evmForm.MatchString(s) {
		return nonZeroHex(s, hexForm)
	}
	if len(s) < 2 || len(s) > 64 {
		return ErrShape
	}
	return matches(nearForm, s)
}
