package build

import (
	"maps"
	"slices"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// writeTerms writes the files of terms, their index and the vocabulary.
func writeTerms(w *search.Weigher, add addFunc) error {
	shards := w.Shards()
	for _, name := range slices.Sorted(maps.Keys(shards)) {
		lines := make([][]byte, len(shards[name]))
		for i, t := range shards[name] {
			var err error
			if lines[i], err = encode.Row(w.Term(t)); err != nil {
				return err
			}
		}
		meta := site.TotalMeta{Total: int64(len(lines))}
		if err := addList(routes.TermShardKey(name), encode.Framing{}, lines, meta, add); err != nil {
			return err
		}
	}
	if err := addJSON(site.TermsFile, w.Index(), add); err != nil {
		return err
	}
	return addJSON(site.VocabularyFile, w.Vocabulary(), add)
}
