package build

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tollbook/site/postgres"
)

// TestOtherProtocolsChangeNothingElse builds a directory with offers over other protocols than x402, and the same
// directory without them. Every file of a service that speaks x402 alone must have the same bytes, but for the line of
// its page that names other services to compare it with.
func TestOtherProtocolsChangeNothingElse(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/rails.txtar")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "facts.json" })
	tree := func(hasOffers bool) map[string][]byte {
		var facts postgres.Facts
		if err := json.Unmarshal(archive.Files[at].Data, &facts); err != nil {
			t.Fatal(err)
		}
		offers := 0
		for i := range facts.Services {
			for k := range facts.Services[i].Endpoints {
				e := &facts.Services[i].Endpoints[k]
				if offers += len(e.Offers); !hasOffers {
					e.Offers = nil
				}
			}
		}
		if offers == 0 {
			t.Fatal("rails.txtar has no offers")
		}
		return buildTree(t, &facts, time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC))
	}
	with, without := tree(true), tree(false)
	if bytes.Equal(with["v1/services/both.json"], without["v1/services/both.json"]) {
		t.Error("the offers of the service both are not published")
	}
	files := 0
	for _, name := range slices.Sorted(maps.Keys(with)) {
		if !strings.HasPrefix(name, "v1/services/plain") && !strings.HasPrefix(name, "services/plain") {
			continue
		}
		files++
		if diff := cmp.Diff(withoutNeighbours(without[name]), withoutNeighbours(with[name])); diff != "" {
			t.Errorf("%s with offers of other services (-want +got):\n%s", name, diff)
		}
	}
	if files < 10 {
		t.Errorf("only %d files of the service plain were compared", files)
	}
}

// withoutNeighbours drops the lines of a file that link the page on which services are compared.
func withoutNeighbours(file []byte) string {
	return strings.Join(slices.DeleteFunc(strings.SplitAfter(string(file), "\n"), func(line string) bool {
		return strings.Contains(line, `href="/compare.html?a=`)
	}), "")
}
