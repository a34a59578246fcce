package site

import (
	"strings"
)

// Search finds services by words of their names. A name belongs to a shard for each letter that begins a word of it,
// and for each two: v1/search/<letters>.json, whose rows are the full rows of the list of services, by slug.
// v1/search.json says how many rows each has, so a query reads the smallest of its shards alone.

// SearchFile says what shards there are: a SearchIndex.
const SearchFile = "v1/search.json"

const searchFolder = "v1/search/"

// SearchIndex is v1/search.json.
type SearchIndex struct {
	Shards map[string]int `json:"shards"` // rows of each, by its letters
}

// ShardKey is the file of the shard of one or two letters.
func ShardKey(letters string) string {
	var b strings.Builder
	b.WriteString(searchFolder)
	writeEscaped(&b, letters)
	b.WriteString(".json")
	return b.String()
}

// HasShard says whether a file is one of the shards.
func (x *SearchIndex) HasShard(key string) bool {
	stem, ok := strings.CutPrefix(key, searchFolder)
	letters, err := unescape(strings.TrimSuffix(stem, ".json"))
	return ok && err == nil && x.Shards[letters] > 0 && ShardKey(letters) == key
}
