package site

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// A look-up answers what somebody about to pay must know, by what he holds: an address, or a recipient. What he holds
// is put into a normal form, and the sha256 of that, in hex, is a look-up's hash:
//
//	an address    lookup.NormalAddress; asked for by its hash:      /v1/lookup/url/<hash>.json
//	a recipient   NormalRecipient; asked for by itself:      /v1/lookup/pay-to/<caip2>/<address>.json
//
// Rows lie in 256 shards by the first two digits of their hashes: v1/lookup/url/3f.json and v1/lookup/pay-to/3f.json,
// framed lists whose rows are sorted by hash:
//
//	{"hash":"3f…62 more…","data":{…}},
//
// An answer is the row from "data" on, in braces. v1/lookup.json says how many rows each shard has; one that is not
// there has none. testdata/lookup-vectors.json has examples for whoever writes a client in another language.

// LookupFile says what shards there are: a LookupIndex.
const LookupFile = "v1/lookup.json"

// LookupIndex is v1/lookup.json: rows of each shard, by its two digits.
type LookupIndex struct {
	URL   map[string]int `json:"url"`
	PayTo map[string]int `json:"pay-to"`
}

// Shards are those of the look-ups of a route.
func (x *LookupIndex) Shards(r *Route) map[string]int {
	if r.Pattern == lookupURLPattern {
		return x.URL
	}
	return x.PayTo
}

// HasShard says whether a file is one of the shards.
func (x *LookupIndex) HasShard(key string) bool {
	for i := range Routes {
		r := &Routes[i]
		if rest, ok := strings.CutPrefix(key, r.lookupPrefix()); ok && r.Rule == RuleLookup {
			digits, ok := strings.CutSuffix(rest, r.Ext)
			return ok && x.Shards(r)[digits] > 0
		}
	}
	return false
}

const (
	lookupURLPattern   = "/v1/lookup/url/{sha256}"
	lookupPayToPattern = "/v1/lookup/pay-to/{caip2}/{address}"
)

// lookupPrefix is the part of a look-up's key before the item.
func (r *Route) lookupPrefix() string {
	prefix, _, _ := strings.Cut(r.Pattern[1:], "{")
	return prefix
}

// parseLookup reads the path of a look-up, with or without .json.
func parseLookup(path string) (Query, bool) {
	for i := range Routes {
		r := &Routes[i]
		if r.Rule != RuleLookup {
			continue
		}
		item, ok := strings.CutPrefix(path, "/"+r.lookupPrefix())
		if !ok {
			continue
		}
		item = lower(strings.TrimSuffix(item, r.Ext))
		if r.Pattern == lookupURLPattern && isHash(item) || r.Pattern == lookupPayToPattern && isRecipient(item) {
			return Query{Route: r, Item: item, Bare: true}, true
		}
	}
	return Query{}, false
}

func isHash(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// isRecipient says whether s has the form <caip2>/<address>. Both may have slashes in them.
func isRecipient(s string) bool {
	if len(s) > maxRecipient || !strings.Contains(s, ":") || !strings.Contains(s, "/") {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || strings.Trim(part, ".") == "" {
			return false
		}
	}
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }) < 0
}

// maxRecipient bounds a normal form in bytes.
const maxRecipient = 700

// LookupShard is the file of the shard in which the look-up q is, the shard's digits, and q's hash.
func (q Query) LookupShard() (key, digits, hash string) {
	if hash = q.Item; q.Route.Pattern == lookupPayToPattern {
		hash = Hash(q.Item)
	}
	return LookupShardKey(q.Route, hash[:2]), hash[:2], hash
}

// LookupShardKey is the file of the shard of two digits.
func LookupShardKey(r *Route, digits string) string { return r.lookupPrefix() + digits + r.Ext }

// LookupRow is a line of a shard.
type LookupRow struct {
	Hash string `json:"hash"`
	Data any    `json:"data"` // AddressLookup or RecipientLookup
}

// lookupHead is how a line begins.
const lookupHead = `{"hash":"`

// LookupHash is the hash at the beginning of a line; "" where there is none.
func LookupHash(row []byte) string {
	if n := len(lookupHead); len(row) > n+2*sha256.Size+2 && string(row[:n]) == lookupHead {
		return string(row[n : n+2*sha256.Size])
	}
	return ""
}

// LookupResponse is the complete response that a line holds.
func LookupResponse(row []byte) []byte {
	from := len(lookupHead) + 2*sha256.Size + len(`",`)
	answer := make([]byte, 0, len(row))
	answer = append(answer, '{')
	answer = append(answer, row[from:]...)
	return append(answer, '\n')
}

// Hash is the sha256 of a normal form, in hex.
func Hash(normal string) string {
	sum := sha256.Sum256([]byte(normal))
	return hex.EncodeToString(sum[:])
}

// NormalRecipient is the normal form of a recipient: its network's CAIP-2 id, a slash, its address, with the letters A
// to Z in lower case, for the same address is written in several ways on most networks. Where case does make a
// difference, no two addresses are known that differ in nothing else; to find one is harder than to forge a signature.
func NormalRecipient(caip2, address string) string { return lower(caip2 + "/" + address) }

// lower puts the letters A to Z into lower case.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
