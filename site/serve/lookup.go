package serve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// lookup returns the response to a look-up: the row of its shard that starts with its hash.
func (h *handler) lookup(snap *output.Snapshot, q routes.Query) (*body, error) {
	index, err := readJSON[routes.LookupIndex](h, snap, routes.LookupFile)
	if err != nil {
		return nil, err
	}
	key, digits, hash := q.LookupShard()
	n, ok := index.Shards(q.Route)[digits]
	if !ok {
		return nil, site.ErrNotFound
	}
	of, err := readCachedFile(h, snap, key, "lookup", func(data []byte) (*fileRows, error) {
		rows, _, err := encode.Framing{}.Split(data)
		return &fileRows{rows: rows, bytes: len(data)}, err
	})
	if err != nil {
		return nil, err
	}
	if len(of.rows) != n {
		return nil, fmt.Errorf("file %s: %w: it has %d rows; according to %s it must have %d",
			key, archive.ErrDamaged, len(of.rows), routes.LookupFile, n)
	}
	i, ok := slices.BinarySearchFunc(of.rows, hash, func(row []byte, hash string) int {
		return strings.Compare(routes.LookupHash(row), hash)
	})
	if !ok {
		return nil, site.ErrNotFound
	}
	return newCutBody(routes.LookupResponse(of.rows[i]))
}

// jsonFile is a parsed JSON file of a snapshot.
type jsonFile[T any] struct {
	value T
	bytes int // size of the file
}

func (f *jsonFile[T]) size() int { return 3 * f.bytes }

// readJSON returns a JSON file that every snapshot must have, parsed once.
func readJSON[T any](h *handler, snap *output.Snapshot, key string) (*T, error) {
	f, err := readCachedFile(h, snap, key, "parsed", func(data []byte) (*jsonFile[T], error) {
		f := &jsonFile[T]{bytes: len(data)}
		return f, json.Unmarshal(data, &f.value)
	})
	if err != nil {
		return nil, err
	}
	return &f.value, nil
}

// isListedShard reports whether the snapshot must have a file because an index lists it as a shard.
func (h *handler) isListedShard(snap *output.Snapshot, key string) (bool, error) {
	switch {
	case key == site.TermsFile || key == site.VocabularyFile || strings.HasPrefix(key, "v1/terms/"):
		index, err := readJSON[site.One[site.TermIndex]](h, snap, site.TermsFile)
		return err == nil && (key == site.VocabularyFile || routes.HasTermShardKey(&index.Data, key)), err
	case key == routes.LookupFile || strings.HasPrefix(key, "v1/lookup/"):
		index, err := readJSON[routes.LookupIndex](h, snap, routes.LookupFile)
		return err == nil && index.HasShardKey(key), err
	}
	return false, nil
}
