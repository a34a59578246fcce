package build_test

import (
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"tollbook/site"
	"tollbook/site/testgate"
)

// leastNeeds are the numbers of needs of each file that must be met.
var leastNeeds = map[string]int{"testdata/needs.txt": 58, "testdata/plainneeds.txt": 50}

// readNeeds returns the needs of a file, each with what meets it.
func readNeeds(t *testing.T, file string) (needs [][2]string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if need, meets, ok := strings.Cut(strings.TrimSpace(line), " = "); ok && !strings.HasPrefix(line, "#") {
			needs = append(needs, [2]string{need, meets})
		}
	}
	return needs
}

// TestNeeds searches the sample for needs that were written before the search was: those with filters in them must be
// read as the search that they mean, and those without must find a service that meets them.
func TestNeeds(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	b := newBestTest(t)
	met := map[string]int{}
	for _, need := range readNeeds(t, "testdata/needs.txt") {
		got := b.readFilters(need[0])
		want, err := url.ParseQuery(need[1])
		if err != nil {
			t.Fatal(err)
		}
		if got.Encode() == want.Encode() {
			met["testdata/needs.txt"]++
		} else {
			t.Logf("%s: read as %s, want %s", need[0], got.Encode(), want.Encode())
		}
	}
	for _, need := range readNeeds(t, "testdata/plainneeds.txt") {
		var found site.List[site.SearchResult, site.SearchMeta]
		b.get("/v1/search?per_page=3&q="+url.QueryEscape(need[0]), &found)
		slugs := []string{}
		for i := range found.Data {
			slugs = append(slugs, found.Data[i].Slug)
		}
		if slices.ContainsFunc(strings.Fields(need[1]), func(s string) bool { return slices.Contains(slugs, s) }) {
			met["testdata/plainneeds.txt"]++
		} else {
			t.Logf("%s: found %v, want %s", need[0], slugs, need[1])
		}
	}
	for file, least := range leastNeeds {
		t.Logf("%s: %d met", file, met[file])
		if met[file] < least {
			t.Errorf("%s: %d needs are met, at least %d must be", file, met[file], least)
		}
	}
}

// readFilters returns the search as which a need is read.
func (b *bestTest) readFilters(need string) url.Values {
	b.t.Helper()
	var found site.List[site.SearchResult, site.SearchMeta]
	b.get("/v1/search?read_filters=true&q="+url.QueryEscape(need), &found)
	read := url.Values{}
	if text := found.Meta.Text; text == nil {
		read.Set("q", need)
	} else if *text != "" {
		read.Set("q", *text)
	}
	for _, f := range found.Meta.Filters {
		read.Set(f.Name, f.Value)
	}
	return read
}
