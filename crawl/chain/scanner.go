package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode"
)

// maxDepth is the deepest nesting of values. Answers that are read here nest up to six deep.
const maxDepth = 64

var errJSON = errors.New("not valid JSON")

// Scanner reads JSON from memory in one pass and copies only what the caller keeps. It checks skipped values for
// balanced brackets only. After its first error, Err, every method returns a zero value, and loops end.
type Scanner struct {
	Err error

	data []byte
	at   int
}

// NewScanner returns a scanner of data.
func NewScanner(data []byte) *Scanner { return &Scanner{data: data} }

// Len returns the number of bytes of the data.
func (s *Scanner) Len() int { return len(s.data) }

// Fail records the first error and ends all reading.
func (s *Scanner) Fail(err error) {
	if s.Err == nil {
		s.Err = err
	}
	s.at = len(s.data)
}

// Peek returns the next byte that is not a space, 0 at the end.
func (s *Scanner) Peek() byte {
	for s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

func (s *Scanner) expect(c byte) bool {
	if s.Peek() != c {
		s.Fail(errJSON)
		return false
	}
	s.at++
	return true
}

// End returns the first error. Data after the value is an error.
func (s *Scanner) End() error {
	if s.Err == nil && s.Peek() != 0 {
		s.Fail(errJSON)
	}
	return s.Err
}

// Members iterates over the keys of an object. The caller reads or skips the value of each key.
func (s *Scanner) Members(yield func(key []byte) bool) {
	if !s.expect('{') {
		return
	}
	if s.Peek() == '}' {
		s.at++
		return
	}
	for s.Err == nil {
		key := s.Text()
		if !s.expect(':') || !yield(key) || s.Err != nil {
			return
		}
		if s.Peek() == ',' {
			s.at++
			continue
		}
		s.expect('}')
		return
	}
}

// Elements iterates over an array. The caller reads or skips the value of each index.
func (s *Scanner) Elements(yield func(i int) bool) {
	if !s.expect('[') {
		return
	}
	if s.Peek() == ']' {
		s.at++
		return
	}
	for i := 0; s.Err == nil; i++ {
		if !yield(i) || s.Err != nil {
			return
		}
		if s.Peek() == ',' {
			s.at++
			continue
		}
		s.expect(']')
		return
	}
}

// Null skips a null and reports whether there was one.
func (s *Scanner) Null() bool {
	if s.Peek() == 'n' && bytes.HasPrefix(s.data[s.at:], []byte("null")) {
		s.at += 4
		return true
	}
	return false
}

// Bool reads true or false.
func (s *Scanner) Bool() bool {
	s.Peek()
	switch rest := s.data[s.at:]; {
	case bytes.HasPrefix(rest, []byte("true")):
		s.at += 4
		return true
	case bytes.HasPrefix(rest, []byte("false")):
		s.at += 5
	default:
		s.Fail(fmt.Errorf("%.20q is neither true nor false", rest))
	}
	return false
}

// Text reads a string. A string without escapes is a slice of the data.
func (s *Scanner) Text() []byte {
	if !s.expect('"') {
		return nil
	}
	from := s.at
	n := bytes.IndexByte(s.data[from:], '"')
	if n >= 0 && bytes.IndexByte(s.data[from:from+n], '\\') < 0 {
		s.at += n + 1
		return s.data[from : from+n]
	}
	s.at = from - 1
	s.skipText()
	if s.Err != nil {
		return nil
	}
	var out string
	if err := json.Unmarshal(s.data[from-1:s.at], &out); err != nil {
		s.Fail(errJSON)
	}
	return []byte(out)
}

// skipText skips a string, whose opening quote is next.
func (s *Scanner) skipText() {
	for i := s.at + 1; i < len(s.data); i++ {
		n := bytes.IndexByte(s.data[i:], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0
		for j := i - 1; j > s.at && s.data[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			s.at = i + 1
			return
		}
	}
	s.Fail(errJSON)
}

// Value skips the next value and returns its bytes.
func (s *Scanner) Value() []byte {
	s.Peek()
	from, depth := s.at, 0
	var closers [maxDepth]byte
	for s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case '"':
			s.skipText()
		case '{', '[':
			if depth == maxDepth {
				s.Fail(errors.New("JSON nests too deep"))
				return nil
			}
			closers[depth] = c + 2 // in ASCII the closing bracket is two after the opening one
			depth++
			s.at++
		case '}', ']':
			if depth == 0 || closers[depth-1] != c {
				s.Fail(errJSON)
				return nil
			}
			depth--
			s.at++
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				s.Fail(errJSON)
				return nil
			}
			s.at++
			continue
		default: // a number, true, false, null
			for s.at < len(s.data) && bytes.IndexByte([]byte(",:]}{[\" \t\n\r"), s.data[s.at]) < 0 {
				s.at++
			}
		}
		if s.Err != nil {
			return nil
		}
		if depth == 0 {
			return s.data[from:s.at]
		}
	}
	s.Fail(errJSON)
	return nil
}

// Integer reads a number without fraction or exponent.
func (s *Scanner) Integer() int64 {
	raw := s.Value()
	if s.Err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		s.Fail(fmt.Errorf("%.40q is not an integer", raw))
	}
	return n
}

// Quantity reads a quantity of Ethereum's JSON-RPC: "0x1b4", never a JSON number.
func (s *Scanner) Quantity() int64 {
	if s.Peek() != '"' {
		s.Fail(fmt.Errorf("%.40q is not a quantity", s.data[s.at:]))
		return 0
	}
	raw := s.Text()
	if s.Err != nil {
		return 0
	}
	if len(raw) < 3 || raw[0] != '0' || raw[1] != 'x' || raw[2] == '-' || raw[2] == '+' {
		s.Fail(fmt.Errorf("%.40q is not a quantity", raw))
		return 0
	}
	n, err := strconv.ParseInt(string(raw[2:]), 16, 64)
	if err != nil {
		s.Fail(fmt.Errorf("%.40q is not a quantity", raw))
	}
	return n
}

// Bytes decodes hex into dst. The text must have exactly the length of dst.
func (s *Scanner) Bytes(dst []byte) {
	if s.Peek() != '"' {
		s.Fail(fmt.Errorf("%.40q is not hex of %d bytes", s.data[s.at:], len(dst)))
		return
	}
	end := s.at + len(`"0x`) + 2*len(dst)
	// A valid text ends at a known position, so there is no need to search for its end.
	if end < len(s.data) && s.data[end] == '"' && DecodeHex(dst, s.data[s.at+1:end]) {
		s.at = end + 1
		return
	}
	raw := s.Text()
	if s.Err == nil && !DecodeHex(dst, raw) {
		s.Fail(fmt.Errorf("%.80q is not hex of %d bytes", raw, len(dst)))
	}
}

// hexDigits maps characters to the values of hex digits, other characters to notHex.
var hexDigits = func() (values [256]byte) {
	for c := range values {
		values[c] = notHex
	}
	for i, c := range "0123456789abcdef" {
		values[c], values[unicode.ToUpper(c)] = byte(i), byte(i)
	}
	return values
}()

const notHex = 0xff

// DecodeHex decodes 0x and two digits for each byte of dst. It reports whether text has exactly this form. Most of a
// node's answer is hex: one check of all digits at the end takes half the time of hex.Decode, which checks each digit.
func DecodeHex(dst, text []byte) bool {
	if len(text) != 2+2*len(dst) || text[0] != '0' || text[1] != 'x' {
		return false
	}
	text = text[2:]
	var seen byte
	for i := range dst {
		high, low := hexDigits[text[2*i]], hexDigits[text[2*i+1]]
		seen |= high | low
		dst[i] = high<<4 | low
	}
	return seen <= 0xf
}
