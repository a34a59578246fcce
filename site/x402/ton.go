package x402

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
)

var tonRawForm = regexp.MustCompile(`^-?[0-9]{1,10}:[0-9a-fA-F]{64}$`)

// rawTON returns the raw form "workchain:hash" of a TON address in either of its forms. The friendly form is base64 of
// a flag byte, the workchain, 32 bytes of hash and a CRC16 of what comes before.
func rawTON(address string) (raw string, ok bool) {
	if tonRawForm.MatchString(address) {
		return strings.ToLower(address), true
	}
	if len(address) != 48 {
		return "", false
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_").Replace(address))
	if err != nil || len(b) != 36 {
		return "", false
	}
	if flags := b[0] &^ 0x80; flags != 0x11 && flags != 0x51 {
		return "", false
	}
	if sum := crc16(b[:34]); b[34] != byte(sum>>8) || b[35] != byte(sum) {
		return "", false
	}
	return strconv.Itoa(int(int8(b[1]))) + ":" + hex.EncodeToString(b[2:34]), true
}

// crc16 returns the CRC-16/XMODEM of data, which ends TON and Stellar addresses.
func crc16(data []byte) uint16 {
	var crc uint16
	for _, c := range data {
		crc ^= uint16(c) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}
