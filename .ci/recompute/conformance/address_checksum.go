package conformance

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"

	"golang.org/x/crypto/sha3"
)

// eip55 writes 40 hexadecimal digits with the checksum of EIP-55: a letter is a capital where the same digit of the
// Keccak-256 of the lower-case text is 8 or more.
func eip55(digits string) string {
	lower := strings.ToLower(digits)
	hash := sha3.NewLegacyKeccak256()
	hash.Write([]byte(lower))
	sum := hex.EncodeToString(hash.Sum(nil))
	out := []byte(lower)
	for i, c := range out {
		if c >= 'a' && sum[i] >= '8' {
			out[i] = c - 'a' + 'A'
		}
	}
	return string(out)
}

const (
	bitcoinAlphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	rippleAlphabet  = "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz"
	bech32Alphabet  = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	crockford       = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

// decodeDigits reads text as a number whose digits are the letters of an alphabet.
func decodeDigits(text, alphabet string) (*big.Int, bool) {
	base, number := big.NewInt(int64(len(alphabet))), new(big.Int)
	for i := range len(text) {
		digit := strings.IndexByte(alphabet, text[i])
		if digit < 0 {
			return nil, false
		}
		number.Add(number.Mul(number, base), big.NewInt(int64(digit)))
	}
	return number, true
}

// base58 decodes text; each leading zero digit is a leading zero byte.
func base58(text, alphabet string) ([]byte, bool) {
	number, ok := decodeDigits(text, alphabet)
	if !ok {
		return nil, false
	}
	zeros := len(text) - len(strings.TrimLeft(text, alphabet[:1]))
	return append(make([]byte, zeros), number.Bytes()...), true
}

// base58check decodes text whose last four bytes are the beginning of a double SHA-256 of the others.
func base58check(text, alphabet string) ([]byte, addressFault) {
	data, ok := base58(text, alphabet)
	if !ok || len(data) < 5 {
		return nil, faultShape
	}
	payload := data[:len(data)-4]
	if !bytes.Equal(doubleSHA256(payload)[:4], data[len(data)-4:]) {
		return nil, faultChecksum
	}
	return payload, ""
}

func doubleSHA256(data []byte) []byte {
	first := sha256.Sum256(data)
	second := sha256.Sum256(first[:])
	return second[:]
}

func checkSolana(_, text string) addressFault {
	data, ok := base58(text, bitcoinAlphabet)
	if !ok || len(data) != 32 {
		return faultShape
	}
	return ""
}

func checkTRON(_, text string) addressFault { return checkHash160(text, bitcoinAlphabet, 0x41) }
func checkXRPL(_, text string) addressFault { return checkHash160(text, rippleAlphabet, 0) }

// checkHash160 checks an address of a version and 20 bytes.
func checkHash160(text, alphabet string, version byte) addressFault {
	payload, fault := base58check(text, alphabet)
	switch {
	case fault != "":
		return fault
	case len(payload) != 21 || payload[0] != version:
		return faultShape
	}
	return checkNotZero(payload[1:])
}

func checkConcordium(_, text string) addressFault {
	payload, fault := base58check(text, bitcoinAlphabet)
	if fault == "" && (len(payload) != 33 || payload[0] != 1) {
		return faultShape
	}
	return fault
}

func checkNotZero(data []byte) addressFault {
	if len(bytes.Trim(data, "\x00")) == 0 {
		return FaultBurn
	}
	return ""
}

// checkStacks checks a version letter, 20 bytes and four bytes of a double SHA-256 of both.
func checkStacks(_, text string) addressFault {
	number, ok := decodeDigits(text[2:], crockford)
	if !ok || number.BitLen() > 24*8 {
		return faultShape
	}
	data := number.FillBytes(make([]byte, 24))
	version := byte(strings.IndexByte(crockford, text[1]))
	if !bytes.Equal(doubleSHA256(append([]byte{version}, data[:20]...))[:4], data[20:]) {
		return faultChecksum
	}
	return checkNotZero(data[:20])
}

var base32Plain = base32.StdEncoding.WithPadding(base32.NoPadding)

// checkStellar checks a strkey, whose last two bytes are the CRC-16 of the others, low byte first.
func checkStellar(_, text string) addressFault {
	data, err := base32Plain.DecodeString(text)
	if err != nil {
		return faultShape
	}
	end := len(data) - 2
	if sum := crc16(data[:end]); data[end] != byte(sum) || data[end+1] != byte(sum>>8) {
		return faultChecksum
	}
	if text[0] == 'M' {
		return ""
	}
	return checkNotZero(data[1:end])
}

// checkAlgorand checks 32 bytes and the last four bytes of their SHA-512/256.
func checkAlgorand(_, text string) addressFault {
	data, err := base32Plain.DecodeString(text)
	if err != nil || len(data) != 36 {
		return faultShape
	}
	if sum := sha512.Sum512_256(data[:32]); !bytes.Equal(sum[28:], data[32:]) {
		return faultChecksum
	}
	return checkNotZero(data[:32])
}

// crc16 returns the CRC-16/XMODEM of data.
func crc16(data []byte) (sum uint16) {
	for _, c := range data {
		sum ^= uint16(c) << 8
		for range 8 {
			overflow := sum&0x8000 != 0
			if sum <<= 1; overflow {
				sum ^= 0x1021
			}
		}
	}
	return sum
}

func checkTON(_, text string) addressFault {
	if _, ok := rawTON(text); !ok {
		return faultShape
	}
	return ""
}

// rawTON returns an address as "workchain:hash". The friendly form is base64 of a flag, the workchain, 32 bytes and
// their CRC-16.
func rawTON(text string) (string, bool) {
	if strings.Contains(text, ":") {
		return strings.ToLower(text), matchesWhole(`-?[0-9]{1,10}:[0-9a-fA-F]{64}`, text)
	}
	data, err := base64.RawURLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_").Replace(text))
	if err != nil || len(data) != 36 || data[0]&^0x80 != 0x11 && data[0]&^0x80 != 0x51 {
		return "", false
	}
	sum := crc16(data[:34])
	return strconv.Itoa(int(int8(data[1]))) + ":" + hex.EncodeToString(data[2:34]),
		data[34] == byte(sum>>8) && data[35] == byte(sum)
}

// cosmosPrefixes are the human-readable parts of chains with known ones.
var cosmosPrefixes = map[string]string{"noble-1": "noble", "grand-1": "noble", "cosmoshub-4": "cosmos"}

func checkCosmos(reference, text string) addressFault {
	prefix, _, sum, ok := bech32(text)
	switch want, isListed := cosmosPrefixes[reference]; {
	case !ok || isListed && want != prefix:
		return faultShape
	case sum != 1:
		return faultChecksum
	}
	return ""
}

func checkCardano(reference, text string) addressFault {
	prefix, _, sum, ok := bech32(text)
	switch {
	case !ok || (prefix == "addr") != (reference == "mainnet"):
		return faultShape
	case sum != 1:
		return faultChecksum
	}
	return ""
}

// bech32 splits text into its prefix and its digits without the checksum. The sum is 1 for bech32 and 0x2bc830a3 for
// bech32m.
func bech32(text string) (prefix string, digits []byte, sum uint32, ok bool) {
	if text != strings.ToLower(text) && text != strings.ToUpper(text) {
		return "", nil, 0, false
	}
	text = strings.ToLower(text)
	end := strings.LastIndexByte(text, '1')
	if end < 1 || len(text)-end < 7 {
		return "", nil, 0, false
	}
	prefix = text[:end]
	var values []byte
	for i := range len(prefix) {
		values = append(values, prefix[i]>>5)
	}
	values = append(values, 0)
	for i := range len(prefix) {
		values = append(values, prefix[i]&31)
	}
	for _, c := range []byte(text[end+1:]) {
		digit := strings.IndexByte(bech32Alphabet, c)
		if digit < 0 {
			return "", nil, 0, false
		}
		digits = append(digits, byte(digit))
	}
	return prefix, digits[:len(digits)-6], bech32Sum(append(values, digits...)), true
}

func bech32Sum(values []byte) uint32 {
	generator := []uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3}
	sum := uint32(1)
	for _, value := range values {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ uint32(value)
		for i, g := range generator {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	return sum
}

// checkBitcoin accepts base58check and segwit addresses and Lightning invoices.
func checkBitcoin(_, text string) addressFault {
	lower := strings.ToLower(text)
	if strings.HasPrefix(lower, "ln") || strings.HasPrefix(lower, "bc1") || strings.HasPrefix(lower, "tb1") {
		_, digits, sum, ok := bech32(text)
		segwit := !strings.HasPrefix(lower, "ln")
		switch want := map[bool]uint32{true: 0x2bc830a3, false: 1}[segwit && ok && len(digits) > 0 && digits[0] > 0]; {
		case !ok || segwit && (len(digits) < 4 || digits[0] > 16 || len(digits) > 65):
			return faultShape
		case sum != want:
			return faultChecksum
		}
		return ""
	}
	payload, fault := base58check(text, bitcoinAlphabet)
	if fault == "" && (len(payload) != 21 || !bytes.Contains([]byte{0, 5, 0x6f, 0xc4}, payload[:1])) {
		return faultShape
	}
	return fault
}
