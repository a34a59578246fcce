package build

import (
	"bytes"
	"strings"

	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/postgres"
)

// newProvenance returns the provenance of every response of a directory. In a directory of generated data it says so.
func newProvenance(f *postgres.Facts, baseURL string) site.Provenance {
	source := "probed by Tollbook"
	if f.Source != "" {
		source = f.Source
	}
	return site.NewProvenance(baseURL, baseURL+"/", source)
}

// citedTree is a tree that adds the provenance to each response of the API.
type citedTree struct {
	tree
	provenance []byte // as JSON
}

// Add implements tree.
func (t citedTree) Add(name string, data []byte) error { return t.tree.Add(name, t.cite(name, data)) }

// Pack implements tree.
func (t citedTree) Pack(name string, data []byte) archive.Packed {
	return t.tree.Pack(name, t.cite(name, data))
}

// cite returns a file with provenance, if the file is a response with the member data. Blocks of logs have none: they
// are the same in packs, which are never written again.
func (t citedTree) cite(name string, data []byte) []byte {
	if !strings.HasPrefix(name, "v1/") || !strings.HasSuffix(name, ".json") || strings.Contains(name, "/block=") ||
		!bytes.HasPrefix(data, []byte(`{"data":`)) {
		return data
	}
	return encode.AppendProvenance(data, t.provenance)
}
