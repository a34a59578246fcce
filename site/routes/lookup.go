package routes

import (
	"crypto/sha256"
	"strings"

	"tollbook/site"
)

// A look-up returns what a payer should know before paying: about a URL or about a recipient. The SHA-256 of the normal
// form, in hexadecimal, is the hash of a look-up:
//
//	URL        listing.NormalURL, requested by its hash:       /v1/lookup/url/<hash>.json
//	recipient  NormalRecipient, requested in plain text:      /v1/lookup/pay-to/<caip2>/<address>.json
//
// Rows are stored in 256 shards by the first two digits of their hashes: v1/lookup/url/3f.json and
// v1/lookup/pay-to/3f.json. Shards are framed lists whose rows are sorted by hash:
//
//	{"hash":"3f…62 more…","data":{…}},
//
// The response is the row from "data" on, in braces. A shard without rows is not listed in v1/lookup.json, which
// contains the number of rows of each shard. Examples for clients in other languages are in
// testdata/lookup-vectors.json.

// LookupFile is the key of the LookupIndex.
const LookupFile = "v1/lookup.json"

// LookupIndex: shards of the look-up tables.
//
// It is v1/lookup.json: the number of rows of each shard, by its two digits.
type LookupIndex struct {
	// Number of rows in each shard of URLs, by its two hexadecimal digits.
	URL map[string]int `json:"url"`
	// Number of rows in each shard of recipients, by its two hexadecimal digits.
	PayTo map[string]int `json:"pay-to"`
}

// Shards returns the shards of a look-up route.
func (x *LookupIndex) Shards(r *Route) map[string]int {
	if r.Pattern == lookupURLPattern {
		return x.URL
	}
	return x.PayTo
}

// HasShardKey reports whether key is the key of one of the shards.
func (x *LookupIndex) HasShardKey(key string) bool {
	for i := range All {
		r := &All[i]
		if rest, ok := strings.CutPrefix(key, r.lookupPrefix()); ok && r.Rule == RuleLookup {
			digits, ok := strings.CutSuffix(rest, r.Ext)
			return ok && x.Shards(r)[digits] > 0
		}
	}
	return false
}

// lookupParams are the parameters of look-ups.
var lookupParams = []Param{{Name: "include", Kind: KindSet, Filter: true, Values: []string{site.IncludeAssessment},
	About: "What to add to each service: assessment for the compact assessment"}}

const (
	lookupURLPattern   = "/v1/lookup/url/{sha256}"
	lookupPayToPattern = "/v1/lookup/pay-to/{caip2}/{address}"
)

// lookupPrefix returns the part of a look-up's key before the item.
func (r *Route) lookupPrefix() string {
	prefix, _, _ := strings.Cut(r.Pattern[1:], "{")
	return prefix
}

// parseLookup parses the path of a look-up, with or without .json.
func parseLookup(path string) (Query, bool) {
	for i := range All {
		r := &All[i]
		if r.Rule != RuleLookup {
			continue
		}
		item, ok := strings.CutPrefix(path, "/"+r.lookupPrefix())
		if !ok {
			continue
		}
		item = site.LowerASCII(strings.TrimSuffix(item, r.Ext))
		if r.Pattern == lookupURLPattern && isHash(item) || r.Pattern == lookupPayToPattern && r.isRecipient(item) {
			return Query{Route: r, Item: item, Bare: true}, true
		}
	}
	return Query{}, false
}

func isHash(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// isRecipient reports whether s has the form <caip2>/<address>. Both parts may contain slashes, but no segment that
// names a parameter of the route, as a key does.
func (r *Route) isRecipient(s string) bool {
	if len(s) > maxRecipient || !strings.Contains(s, ":") || !strings.Contains(s, "/") {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		name, _, isValue := strings.Cut(part, "=")
		if part == "" || strings.Trim(part, ".") == "" || isValue && r.Param(name) != nil {
			return false
		}
	}
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }) < 0
}

// maxRecipient is the maximum length of a normal form in bytes.
const maxRecipient = 700

// LookupShard returns the file of the shard that contains the look-up q, the shard's digits, and q's hash.
func (q Query) LookupShard() (key, digits, hash string) {
	if hash = q.Item; q.Route.Pattern == lookupPayToPattern {
		hash = site.Hash(q.Item)
	}
	return LookupShardKey(q.Route, hash[:2]), hash[:2], hash
}

// LookupShardKey returns the file of the shard with these two digits.
func LookupShardKey(r *Route, digits string) string { return r.lookupPrefix() + digits + r.Ext }

// LookupRow is one line of a shard.
type LookupRow struct {
	Hash string `json:"hash"`
	Data any    `json:"data"` // AddressLookup or RecipientLookup
}

// lookupHead is the beginning of each line.
const lookupHead = `{"hash":"`

// LookupHash returns the hash at the beginning of a line, or "".
func LookupHash(row []byte) string {
	if n := len(lookupHead); len(row) > n+2*sha256.Size+2 && string(row[:n]) == lookupHead {
		return string(row[n : n+2*sha256.Size])
	}
	return ""
}

// LookupResponse returns the complete response for a line.
func LookupResponse(row []byte) []byte {
	from := len(lookupHead) + 2*sha256.Size + len(`",`)
	response := make([]byte, 0, len(row))
	response = append(response, '{')
	response = append(response, row[from:]...)
	return append(response, '\n')
}
