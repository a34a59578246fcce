package build

import (
	"encoding/json"
	"strconv"
	"strings"

	"tollbook/site"
)

// entries reads a snapshot column, which only this program writes; what it can't read is left out.
func entries(text json.RawMessage) []site.SnapshotEntry {
	if list, ok := readEntries(string(text)); ok {
		return list
	}
	out := []site.SnapshotEntry{}
	if json.Unmarshal(text, &out) != nil || out == nil {
		return []site.SnapshotEntry{}
	}
	return out
}

// readEntries reads a list as Postgres writes it, in a fraction of the time that encoding/json takes: each member in
// its place. Texts are parts of s. Any other list, and one with texts that few have, is not ok.
func readEntries(s string) (list []site.SnapshotEntry, ok bool) {
	r := entryReader{s, true}
	list = make([]site.SnapshotEntry, 0, strings.Count(s, `{"asset": `))
	r.take("[")
	for r.ok && r.left != "]" {
		if len(list) > 0 {
			r.take(", ")
		}
		list = append(list, r.entry())
	}
	return list, r.ok
}

// entryReader takes parts off a text until one is not as it is expected.
type entryReader struct {
	left string
	ok   bool
}

func (r *entryReader) entry() (e site.SnapshotEntry) {
	e.Asset = r.text(`{"asset": `)
	e.Extra = r.maybeText(`, "extra": `)
	e.PayTo = r.text(`, "payTo": `)
	e.Price = r.text(`, "price": `)
	e.Scheme = r.text(`, "scheme": `)
	e.Network = r.text(`, "network": `)
	e.Endpoint = r.text(`, "endpoint": `)
	e.MimeType = r.maybeText(`, "mimeType": `)
	e.Resource = r.maybeText(`, "resource": `)
	e.AssetName = r.text(`, "assetName": `)
	e.X402Version = r.integer(`, "x402Version": `)
	if r.take(`, "maxTimeoutSeconds": `); !r.null() {
		e.MaxTimeoutSeconds = new(r.integer(""))
	}
	r.take("}")
	return e
}

func (r *entryReader) take(part string) {
	left, found := strings.CutPrefix(r.left, part)
	r.left, r.ok = left, r.ok && found
}

// null takes a null where there is one.
func (r *entryReader) null() (found bool) {
	r.left, found = strings.CutPrefix(r.left, "null")
	return found
}

func (r *entryReader) maybeText(name string) *string {
	if r.take(name); r.null() {
		return nil
	}
	return new(r.text(""))
}

// text takes a string behind its name: of escapes it knows those of JSON within JSON.
func (r *entryReader) text(name string) string {
	r.take(name)
	r.take(`"`)
	escapes := 0
	for i := 0; i < len(r.left); i++ {
		switch r.left[i] {
		case '\\':
			escapes++
			i++
		case '"':
			s := r.left[:i]
			r.left = r.left[i+1:]
			if escapes > 0 {
				return r.unescape(s, escapes)
			}
			return s
		}
	}
	r.ok = false
	return ""
}

func (r *entryReader) unescape(s string, escapes int) string {
	b := make([]byte, 0, len(s)-escapes)
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			r.ok = r.ok && (s[i] == '"' || s[i] == '\\')
		}
		b = append(b, s[i])
	}
	return string(b)
}

func (r *entryReader) integer(name string) int {
	r.take(name)
	end := strings.IndexAny(r.left, ",}")
	n, err := strconv.Atoi(r.left[:max(0, end)])
	r.left, r.ok = r.left[max(0, end):], r.ok && err == nil
	return n
}
