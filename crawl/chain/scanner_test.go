package chain

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
)

// TestScannerAgreesWithEncodingJSON compares the scanner with encoding/json on awkward values.
func TestScannerAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`"a"`, `"\""`, `"\\"`, `"\\\""`, `"\u00e9\n"`, `""`, ` "x" `, `"\ud83d\ude00"`} {
		var want string
		if err := json.Unmarshal([]byte(in), &want); err != nil {
			t.Fatal(err)
		}
		s := NewScanner([]byte(in))
		if got := string(s.Text()); s.End() != nil || got != want {
			t.Errorf("text of %s: %q, %v; want %q", in, got, s.Err, want)
		}
		s = NewScanner([]byte(in))
		if got := string(s.Value()); s.End() != nil || got != strings.TrimSpace(in) {
			t.Errorf("value of %s: %q, %v", in, got, s.Err)
		}
	}
	for _, in := range []string{``, `"`, `"\`, `"\"`, `{`, `{"a":1,}x`, `[1,2`, `]`, `}`, `[}`, `{"a":[}]`, `1 2`, `,`,
		`:`, strings.Repeat("[", 65) + strings.Repeat("]", 65)} {
		s := NewScanner([]byte(in))
		s.Value()
		if s.End() == nil {
			t.Errorf("value of %q: no error", in)
		}
	}
}

// TestDecodeHexAgreesWithStandardLibrary compares DecodeHex with package hex for every pair of bytes.
func TestDecodeHexAgreesWithStandardLibrary(t *testing.T) {
	t.Parallel()
	for pair := range 1 << 16 {
		digits := string([]byte{'0', 'F', byte(pair >> 8), byte(pair), '9', 'a'})
		want, err := hex.DecodeString(digits)
		var got [3]byte
		if ok := DecodeHex(got[:], []byte("0x"+digits)); ok != (err == nil) || ok && !bytes.Equal(got[:], want) {
			t.Fatalf("%q: %x, %v; want %x, %v", digits, got, ok, want, err)
		}
	}
	for in, reads := range map[string]bool{
		`"0x0a0b"`: true, ` "0x0A0B" `: true, `"\u0030x0a0b"`: true, `"0x0a\u0030b"`: true,
		`"0x0a0b`: false, `"0x0a0b0"`: false, `"0x0a0"`: false, `"0x0a0b"1`: false, `"0x0a"b"`: false,
		`"0X0a0b"`: false, `"000a0b"`: false, `"0x"`: false, `null`: false, ``: false, `"`: false,
	} {
		var got [2]byte
		s := NewScanner([]byte(in))
		s.Bytes(got[:])
		if err := s.End(); reads != (err == nil) || reads && got != [2]byte{0x0a, 0x0b} {
			t.Errorf("%s: %x, %v", in, got, err)
		}
	}
}
