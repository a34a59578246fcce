package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ByteOrderMark is U+FEFF in UTF-8, with which editors on Windows begin a text. It is no part of the text.
const ByteOrderMark = "\ufeff"

// Errors of Read say what a document is instead of JSON, in words for its owner.
var (
	errEmpty    = errors.New("it is empty")
	errUTF16    = errors.New("it is UTF-16; JSON is UTF-8")
	errHTML     = errors.New("it is an HTML page, not JSON")
	errXML      = errors.New("it is XML, not JSON")
	errTrailing = errors.New("more text follows its JSON value")
	errTooDeep  = errors.New("it nests more than 10000 levels") // the limit of encoding/json
)

// Read returns the one JSON value that a document consists of, without a byte order mark and the spaces around it. Its
// error says what the document is instead. Read takes time proportional to the length of doc, which the caller limits,
// and copies nothing. Bytes that are not UTF-8 are accepted in strings: Unquote replaces them by U+FFFD.
func Read(doc []byte) (json.RawMessage, error) {
	if bytes.HasPrefix(doc, []byte("\xfe\xff")) || bytes.HasPrefix(doc, []byte("\xff\xfe")) {
		return nil, errUTF16
	}
	text := bytes.Trim(bytes.TrimPrefix(doc, []byte(ByteOrderMark)), " \t\r\n")
	switch {
	case len(text) == 0:
		return nil, errEmpty
	case text[0] == '<':
		return nil, markupError(text)
	case !json.Valid(text):
		return nil, syntaxError(text)
	}
	return text, nil
}

// markupError says which markup a text that begins with "<" is.
func markupError(text []byte) error {
	head := bytes.ToLower(text[:min(len(text), 512)])
	if bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.Contains(head, []byte("<html")) {
		return errHTML
	}
	return errXML
}

// syntaxError says where a text stops being JSON.
func syntaxError(text []byte) error {
	if first := First(text); len(first) < len(text) && json.Valid(first) {
		return errTrailing
	}
	var fault *json.SyntaxError
	switch err := json.Unmarshal(text, new(json.RawMessage)); {
	case !errors.As(err, &fault):
		return errors.New("it is not JSON")
	case strings.Contains(fault.Error(), "max depth"):
		return errTooDeep
	case fault.Offset >= int64(len(text)):
		return errors.New("it is not JSON: it ends in the middle")
	default:
		return fmt.Errorf("it is not JSON: %w at byte %d", fault, fault.Offset)
	}
}
