package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"tollbook/site/encode"
	"tollbook/site/invisible"
)

// Limits of an example.
const (
	clipRows    = 2   // of the outermost list
	clipItems   = 1   // of nested lists
	clipMembers = 40  // of an object; no object of the contract has more
	clipText    = 300 // characters of a text
)

// clip shortens JSON to an example: it keeps the first entries of lists and objects and the beginning of long texts,
// and drops invisible characters. Members stay in order. It returns an error for invalid JSON.
func clip(data []byte) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var b bytes.Buffer
	if err := clipValue(&b, d, clipRows); err != nil {
		return nil, fmt.Errorf("clip example: %w", err)
	}
	return b.Bytes(), nil
}

// clipValue writes the next value of d. rows limits the entries of a list.
func clipValue(b *bytes.Buffer, d *json.Decoder, rows int) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch v := t.(type) {
	case json.Delim:
		return clipEntries(b, d, v, rows)
	case string:
		text, err := encode.Row(shorten(v))
		b.Write(text)
		return err
	default:
		text, err := encode.Row(v)
		b.Write(text)
		return err
	}
}

// clipEntries writes the entries of a list or object whose delimiter was read.
func clipEntries(b *bytes.Buffer, d *json.Decoder, open json.Delim, rows int) error {
	b.WriteRune(rune(open))
	limit := rows
	if open == '{' {
		limit = clipMembers
	}
	for n := 0; d.More(); n++ {
		to := b
		if n >= limit {
			to = new(bytes.Buffer) // reads the entry without writing it
		} else if n > 0 {
			b.WriteByte(',')
		}
		inner := rows
		if open == '{' {
			if err := clipValue(to, d, 0); err != nil {
				return err
			}
			to.WriteByte(':')
		} else {
			inner = clipItems
		}
		if err := clipValue(to, d, inner); err != nil {
			return err
		}
	}
	end, err := d.Token()
	if err != nil {
		return err
	}
	b.WriteRune(rune(end.(json.Delim)))
	return nil
}

// shorten shortens text and drops invisible characters except line breaks.
func shorten(s string) string {
	var b []rune
	for _, r := range s {
		if r != '\n' && invisible.Is(r) || r == utf8.RuneError {
			continue
		}
		if len(b) == clipText {
			return string(b) + "…"
		}
		b = append(b, r)
	}
	return string(b)
}
