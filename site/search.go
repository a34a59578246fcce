package site

import (
	"strings"
)

// A name belongs to a search shard for the first letter of each of its words, and for the first two letters:
// v1/search/<letters>.json. Its rows are the full rows of the list of services, by slug. v1/search.json contains the
// number of rows of each shard, so that a query reads only the smallest of its shards.

// SearchFile is the key of the SearchIndex.
const SearchFile = "v1/search.json"

const searchFolder = "v1/search/"

// SearchIndex is v1/search.json: the number of rows of each shard, by its letters.
type SearchIndex struct {
	Shards map[string]int `json:"shards"` // rows of each, by its letters
}

// ShardKey returns the file of the shard of one or two letters.
func ShardKey(letters string) string {
	var b strings.Builder
	b.WriteString(searchFolder)
	writeEscaped(&b, letters)
	b.WriteString(".json")
	return b.String()
}

// HasShardKey reports whether key is the key of one of the shards.
func (x *SearchIndex) HasShardKey(key string) bool {
	stem, ok := strings.CutPrefix(key, searchFolder)
	letters, err := unescape(strings.TrimSuffix(stem, ".json"))
	return ok && err == nil && x.Shards[letters] > 0 && ShardKey(letters) == key
}
