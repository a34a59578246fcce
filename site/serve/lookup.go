package serve

import (
	"bytes"
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
func (h *handler) lookup(snap *output.Snapshot, index *routes.Index, q routes.Query) (cutResponse, error) {
	shards, err := readJSON[routes.LookupIndex](h, snap, routes.LookupFile)
	if err != nil {
		return cutResponse{}, err
	}
	key, digits, hash := q.LookupShard()
	n, ok := shards.Shards(q.Route)[digits]
	if !ok {
		return cutResponse{}, site.ErrNotFound
	}
	of, err := readCachedFile(h, snap, key, "lookup", func(data []byte) (*fileRows, error) {
		rows, _, err := encode.Framing{}.Split(data)
		return &fileRows{rows: rows, bytes: len(data)}, err
	})
	if err != nil {
		return cutResponse{}, err
	}
	if len(of.rows) != n {
		return cutResponse{}, fmt.Errorf("file %s: %w: it has %d rows; according to %s it must have %d",
			key, archive.ErrDamaged, len(of.rows), routes.LookupFile, n)
	}
	i, ok := slices.BinarySearchFunc(of.rows, hash, func(row []byte, hash string) int {
		return strings.Compare(routes.LookupHash(row), hash)
	})
	if !ok {
		return cutResponse{}, site.ErrNotFound
	}
	response := routes.LookupResponse(of.rows[i])
	if q.Has("include", site.IncludeAssessment) {
		if response, err = h.addAssessments(snap, index, response); err != nil {
			return cutResponse{}, fmt.Errorf("file %s: add assessments to %s: %w", key, hash, err)
		}
	}
	return cutResponse{data: response}, nil
}

// addAssessments returns a look-up's response with the assessments of its services: of the service of a URL, or of each
// service that is paid at a recipient. Nothing else is decoded and encoded again.
func (h *handler) addAssessments(snap *output.Snapshot, index *routes.Index, response []byte) ([]byte, error) {
	var of struct {
		Data struct {
			Service  json.RawMessage
			Services []json.RawMessage
		}
	}
	if err := json.Unmarshal(response, &of); err != nil {
		return nil, err
	}
	if of.Data.Services == nil {
		const end = "}}\n"
		assessment, err := h.assessment(snap, index, of.Data.Service)
		return slices.Concat(bytes.TrimSuffix(response, []byte(end)), assessment, []byte(end)), err
	}
	head, rest, _ := bytes.Cut(response, beforeServices) // quotes in strings are escaped
	tail := rest[bytes.LastIndex(rest, afterServices):]
	rows := make([][]byte, len(of.Data.Services))
	for i, row := range of.Data.Services {
		assessment, err := h.assessment(snap, index, row)
		if err != nil {
			return nil, err
		}
		rows[i] = slices.Concat(row[:len(row)-1], assessment, []byte{'}'})
	}
	return slices.Concat(head, beforeServices, bytes.Join(rows, []byte{','}), tail), nil
}

var (
	beforeServices = []byte(`"services":[`)
	afterServices  = []byte(`],"clipped":`)
)

// assessment returns the member of a look-up's response with the assessment of a service.
func (h *handler) assessment(snap *output.Snapshot, index *routes.Index, service []byte) ([]byte, error) {
	var of site.LookupService
	if err := json.Unmarshal(service, &of); err != nil {
		return nil, err
	}
	place, ok := slices.BinarySearch(index.Slugs, of.Slug)
	if !ok {
		return nil, fmt.Errorf("%w: %s does not list %s", archive.ErrDamaged, routes.IndexFile, of.Slug)
	}
	rows, err := h.serviceRows(snap, index, []int32{int32(place)})
	if err != nil {
		return nil, err
	}
	return append([]byte(`,"assessment":`), rows[0].Assessment...), nil
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
