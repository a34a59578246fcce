package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode"
)

// maxDepth is how deep values may nest. Nothing that is read here nests deeper than six.
const maxDepth = 64

var errJSON = errors.New("no valid JSON")

// scanner reads JSON from memory in one pass, into no more than its caller keeps. What is skipped is balanced but
// otherwise not judged. After its first error every read gives nothing, and loops end.
type scanner struct {
	data []byte
	at   int
	err  error
}

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.at = len(s.data)
}

// peek is the next byte that is no space, 0 at the end.
func (s *scanner) peek() byte {
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

func (s *scanner) expect(c byte) bool {
	if s.peek() != c {
		s.fail(errJSON)
		return false
	}
	s.at++
	return true
}

// end fails when something follows the value.
func (s *scanner) end() error {
	if s.err == nil && s.peek() != 0 {
		s.fail(errJSON)
	}
	return s.err
}

// members walks an object. For each key the caller reads or skips the value.
func (s *scanner) members(yield func(key []byte) bool) {
	if !s.expect('{') {
		return
	}
	if s.peek() == '}' {
		s.at++
		return
	}
	for s.err == nil {
		key := s.text()
		if !s.expect(':') || !yield(key) || s.err != nil {
			return
		}
		if s.peek() == ',' {
			s.at++
			continue
		}
		s.expect('}')
		return
	}
}

// elements walks an array. For each index the caller reads or skips the value.
func (s *scanner) elements(yield func(i int) bool) {
	if !s.expect('[') {
		return
	}
	if s.peek() == ']' {
		s.at++
		return
	}
	for i := 0; s.err == nil; i++ {
		if !yield(i) || s.err != nil {
			return
		}
		if s.peek() == ',' {
			s.at++
			continue
		}
		s.expect(']')
		return
	}
}

// null takes a null, if there is one.
func (s *scanner) null() bool {
	if s.peek() == 'n' && bytes.HasPrefix(s.data[s.at:], []byte("null")) {
		s.at += 4
		return true
	}
	return false
}

// bool reads true or false.
func (s *scanner) bool() bool {
	s.peek()
	switch rest := s.data[s.at:]; {
	case bytes.HasPrefix(rest, []byte("true")):
		s.at += 4
		return true
	case bytes.HasPrefix(rest, []byte("false")):
		s.at += 5
	default:
		s.fail(fmt.Errorf("%.20q is neither true nor false", rest))
	}
	return false
}

// text reads a string. Without escapes it is a part of the data.
func (s *scanner) text() []byte {
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
	if s.err != nil {
		return nil
	}
	var out string
	if err := json.Unmarshal(s.data[from-1:s.at], &out); err != nil {
		s.fail(errJSON)
	}
	return []byte(out)
}

// skipText passes over a string, whose opening quote is next.
func (s *scanner) skipText() {
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
	s.fail(errJSON)
}

// value passes over the next value and gives its bytes.
func (s *scanner) value() []byte {
	s.peek()
	from, depth := s.at, 0
	var closers [maxDepth]byte
	for s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case '"':
			s.skipText()
		case '{', '[':
			if depth == maxDepth {
				s.fail(errors.New("JSON nests too deep"))
				return nil
			}
			closers[depth] = c + 2 // in ASCII the closing one stands two after the opening one
			depth++
			s.at++
		case '}', ']':
			if depth == 0 || closers[depth-1] != c {
				s.fail(errJSON)
				return nil
			}
			depth--
			s.at++
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				s.fail(errJSON)
				return nil
			}
			s.at++
			continue
		default: // a number, true, false, null
			for s.at < len(s.data) && bytes.IndexByte([]byte(",:]}{[\" \t\n\r"), s.data[s.at]) < 0 {
				s.at++
			}
		}
		if s.err != nil {
			return nil
		}
		if depth == 0 {
			return s.data[from:s.at]
		}
	}
	s.fail(errJSON)
	return nil
}

// integer reads a number without fraction or exponent.
func (s *scanner) integer() int64 {
	raw := s.value()
	if s.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		s.fail(fmt.Errorf("%.40q is no whole number", raw))
	}
	return n
}

// quantity reads what Ethereum calls a quantity: "0x1b4", never a JSON number.
func (s *scanner) quantity() int64 {
	if s.peek() != '"' {
		s.fail(fmt.Errorf("%.40q is no quantity", s.data[s.at:]))
		return 0
	}
	raw := s.text()
	if s.err != nil {
		return 0
	}
	if len(raw) < 3 || raw[0] != '0' || raw[1] != 'x' || raw[2] == '-' || raw[2] == '+' {
		s.fail(fmt.Errorf("%.40q is no quantity", raw))
		return 0
	}
	n, err := strconv.ParseInt(string(raw[2:]), 16, 64)
	if err != nil {
		s.fail(fmt.Errorf("%.40q is no quantity", raw))
	}
	return n
}

// bytes reads hex of exactly the length of dst into it.
func (s *scanner) bytes(dst []byte) {
	if s.peek() != '"' {
		s.fail(fmt.Errorf("%.40q is no hex of %d bytes", s.data[s.at:], len(dst)))
		return
	}
	end := s.at + len(`"0x`) + 2*len(dst)
	if end < len(s.data) && s.data[end] == '"' && decodeHex(dst, s.data[s.at+1:end]) { // a text as it should be need not be looked through for its end
		s.at = end + 1
		return
	}
	raw := s.text()
	if s.err == nil && !decodeHex(dst, raw) {
		s.fail(fmt.Errorf("%.80q is no hex of %d bytes", raw, len(dst)))
	}
}

// hexDigits are the values of digits, notHex for what is none.
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

// decodeHex reads 0x and two digits for each byte of dst, or says that text is something else. Most of what nodes answer is hex:
// to judge all digits at the end takes half as long as hex.Decode, which looks at each.
func decodeHex(dst, text []byte) bool {
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
