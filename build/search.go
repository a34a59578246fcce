package build

import (
	"maps"
	"slices"

	"tollbook/site"
	"tollbook/site/search"
)

// writeSearch writes a shard for the first letter, and one for the first two letters, of each word of a name, and the
// index of shards with their numbers of rows. Items are sorted by slug. rows are the encoded items.
func writeSearch(items []*site.ServiceListItem, rows [][]byte, add addFunc) error {
	shards := map[string][][]byte{}
	for i, item := range items {
		for _, letters := range search.ShardsOf(item.Name) {
			shards[letters] = append(shards[letters], rows[i])
		}
	}
	index := site.SearchIndex{Shards: map[string]int{}}
	for _, letters := range slices.Sorted(maps.Keys(shards)) {
		lines := shards[letters]
		index.Shards[letters] = len(lines)
		if err := addList(site.ShardKey(letters), site.Framing{}, lines, site.TotalMeta{Total: int64(len(lines))},
			add); err != nil {
			return err
		}
	}
	return addLine(site.SearchFile, index, add)
}
