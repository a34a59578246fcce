package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"tollbook/site"
	"tollbook/site/display"
)

// How much of an example is shown.
const (
	clipRows    = 2   // of the outermost list
	clipItems   = 1   // of lists inside it
	clipMembers = 40  // of an object: more than any object of the contract has
	clipText    = 300 // characters of a text
)

// clip cuts JSON down to an example: lists and objects lose what is beyond their first entries, long texts their ends,
// and texts every character that is not seen. The order of members stays. What is no JSON is an error.
func clip(data []byte) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var b bytes.Buffer
	if err := clipValue(&b, d, clipRows); err != nil {
		return nil, fmt.Errorf("clip example: %w", err)
	}
	return b.Bytes(), nil
}

// clipValue writes the next value of d; rows is how many entries a list may have.
func clipValue(b *bytes.Buffer, d *json.Decoder, rows int) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch v := t.(type) {
	case json.Delim:
		return clipEntries(b, d, v, rows)
	case string:
		text, err := site.Row(shorten(v))
		b.Write(text)
		return err
	default:
		text, err := site.Row(v)
		b.Write(text)
		return err
	}
}

// clipEntries writes the entries of a list or object that has just begun.
func clipEntries(b *bytes.Buffer, d *json.Decoder, open json.Delim, rows int) error {
	b.WriteRune(rune(open))
	limit := rows
	if open == '{' {
		limit = clipMembers
	}
	for n := 0; d.More(); n++ {
		to := b
		if n >= limit {
			to = new(bytes.Buffer) // read over, and forgotten
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

// shorten cuts a text and leaves out what is not seen; line breaks stay.
func shorten(s string) string {
	var b []rune
	for _, r := range s {
		if r != '\n' && display.IsInvisible(r) || r == utf8.RuneError {
			continue
		}
		if len(b) == clipText {
			return string(b) + "…"
		}
		b = append(b, r)
	}
	return string(b)
}
