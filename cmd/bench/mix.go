package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// mixes are lists of paths. Each is a file of lines for wrk.
type mixes struct {
	files     string // files under their own names
	addresses string // the same files under the paths of the API

	// The same without lists that "tollbook edge nginx" forwards to serve, which are logs.
	edgeFiles, edgeAddresses string

	windows  string
	again    string // few windows, which repeat
	searches string // few, which repeat
	others   string // all different

	names []string // of the files, each once
}

const (
	mixLines   = 10_000 // of files
	mixDetails = 2_000  // different ones among them
	mixDeeper  = 1_000
	cutLines   = 40_000 // of windows: some 150 MB of responses, more than serve caches
	fewLines   = 400    // of windows or searches that repeat
)

// defaultPages are the most frequent requests: the first page of each list.
var defaultPages = []string{"v1/services.json", "v1/services.json", "v1/services.json", "v1/changes.json",
	"v1/facilitators.json"}

var (
	detail = regexp.MustCompile(`^v1/services/[^/=]+\.json$`)
	deeper = regexp.MustCompile(`^v1/services/.*per_page=25/page=([2-9]|[1-9][0-9]+)\.json$`)
)

// newMixes chooses paths of a publication, always the same ones.
func newMixes(public, dir string) (*mixes, error) {
	source, err := output.OpenSource(public, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer source.Close()
	snap, err := source.Current()
	if err != nil {
		return nil, err
	}
	defer snap.Release()
	r := rand.New(rand.NewPCG(4020, 402))
	m := &mixes{}
	var addresses, edgeFiles, edgeAddresses []string
	files, err := chooseFiles(r, snap)
	if err != nil {
		return nil, err
	}
	for i, name := range files {
		path, query, err := routes.Request(name)
		if err != nil {
			return nil, err
		}
		files[i] = "/" + name
		addresses = append(addresses, strings.TrimSuffix(path+"?"+query, "?"))
		if path != "/v1/changes" {
			edgeFiles, edgeAddresses = append(edgeFiles, files[i]), append(edgeAddresses, addresses[i])
		}
	}
	m.names = slices.Compact(slices.Sorted(slices.Values(files)))
	index, err := readIndex(snap)
	if err != nil {
		return nil, err
	}
	cuts := windows(r, index)
	words, err := readWords(snap, index)
	if err != nil {
		return nil, err
	}
	few := make([]string, fewLines)
	for i := range few {
		few[i] = newSearch(r, words)
	}
	others := make([]string, cutLines)
	for i := range others {
		others[i] = fmt.Sprintf("%s&sort=%s&per_page=%d", newSearch(r, words), site.Orders[r.IntN(len(site.Orders))],
			1+r.IntN(site.MaxPageSize))
	}
	for _, list := range []struct {
		name  string
		to    *string
		lines []string
	}{
		{"files", &m.files, files}, {"addresses", &m.addresses, addresses},
		{"edge-files", &m.edgeFiles, edgeFiles}, {"edge-addresses", &m.edgeAddresses, edgeAddresses}, {"windows", &m.windows, cuts},
		{"again", &m.again, cuts[:fewLines]},
		{"searches", &m.searches, few}, {"others", &m.others, others},
	} {
		*list.to = filepath.Join(dir, list.name+".txt")
		if err := os.WriteFile(*list.to, []byte(strings.Join(list.lines, "\n")+"\n"), 0o600); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// chooseFiles returns 70 default pages, 20 services and 10 deeper pages of each hundred.
func chooseFiles(r *rand.Rand, snap *output.Snapshot) ([]string, error) {
	var details, pages []string
	for _, name := range snap.Names() {
		switch {
		case slices.Contains(defaultPages, name):
		case detail.MatchString(name):
			details = append(details, name)
		case deeper.MatchString(name):
			pages = append(pages, name)
		}
	}
	if len(details) == 0 || len(pages) == 0 {
		return nil, errors.New("the directory has too few services")
	}
	few := func(of []string, n int) []string {
		r.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		return of[:min(n, len(of))]
	}
	details, pages = few(details, mixDetails), few(pages, mixDeeper)
	files := make([]string, mixLines)
	for i := range files {
		from := defaultPages
		switch n := r.IntN(100); {
		case n >= 90:
			from = pages
		case n >= 70:
			from = details
		}
		files[i] = from[r.IntN(len(from))]
	}
	return files, nil
}

// windows returns pages that are not files: eight in ten of services, the others of the catalogue and of the log of
// checks.
func windows(r *rand.Rand, index *routes.Index) []string {
	var filters []string // of lists of services
	for _, key := range slices.Sorted(maps.Keys(index.Lists)) {
		if path, query, err := routes.Request(key + "/sort=newest/per_page=25/page=1.json"); err == nil &&
			path == "/v1/services" {
			values, _ := url.ParseQuery(query)
			values.Del("sort")
			values.Del("per_page")
			values.Del("page")
			if len(values) < 2 { // readers filter by one thing
				filters = append(filters, values.Encode())
			}
		}
	}
	lines := make([]string, cutLines)
	for i := range lines {
		switch r.IntN(10) {
		case 0:
			lines[i] = fmt.Sprintf("/discovery/resources?limit=%d&offset=%d", 1+r.IntN(99), r.IntN(10_000))
		case 1:
			lines[i] = fmt.Sprintf("/v1/checks?limit=%d&offset=%d", 1+r.IntN(99), r.IntN(5_000))
		default:
			per := 1 + r.IntN(98)
			if per == site.PageSize {
				per++
			}
			line := fmt.Sprintf("/v1/services?sort=%s&per_page=%d", site.Orders[r.IntN(len(site.Orders))], per)
			total, depth := index.Lists["v1/services"], 20.0
			if len(filters) > 0 && r.IntN(2) == 0 {
				filter := filters[r.IntN(len(filters))]
				if q, err := routes.ParseRequest("/v1/services", filter); err == nil && filter != "" {
					line, total, depth = line+"&"+filter, index.Lists[q.ListKey()], 4
				}
			}
			page := min(1+int(depth*r.ExpFloat64()), site.MaxPage, max(1, total/per)) // few readers go far
			lines[i] = fmt.Sprintf("%s&page=%d", line, page)
		}
	}
	return lines
}

func readIndex(snap *output.Snapshot) (*routes.Index, error) {
	data, err := snap.ReadFile(routes.IndexFile)
	if err != nil {
		return nil, err
	}
	index := new(routes.Index)
	return index, json.Unmarshal(data, index)
}

// readWords returns words of the names of some services.
func readWords(snap *output.Snapshot, index *routes.Index) ([]string, error) {
	words := map[string]bool{}
	for page := 1; page <= max(1, min(20, index.Lists["v1/services"]/site.MaxPageSize)); page++ {
		data, err := snap.ReadFile(fmt.Sprintf("v1/services/sort=newest/per_page=%d/page=%d.json", site.MaxPageSize,
			page))
		if err != nil {
			return nil, err
		}
		var list struct{ Data []site.ServiceListItem }
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, err
		}
		for _, s := range list.Data {
			for _, w := range search.Words(search.Fold(s.Name)) {
				words[w] = true
			}
		}
	}
	if len(words) == 0 {
		return nil, errors.New("no service has a name")
	}
	return slices.Sorted(maps.Keys(words)), nil
}

// newSearch returns a query that a reader may type: a word, the beginning of one, or two words.
func newSearch(r *rand.Rand, words []string) string {
	word := func() string { return words[r.IntN(len(words))] }
	text := word()
	switch r.IntN(4) {
	case 0:
		if letters := []rune(text); len(letters) > 3 {
			text = string(letters[:3])
		}
	case 1:
		text += " " + word()
	}
	return "/v1/services?q=" + url.QueryEscape(text)
}

// check requests every file from both servers, and other paths from ours. Both servers must send the same bytes.
func (m *mixes) check(ctx context.Context, ours, peer string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for _, name := range m.names {
		g.Go(func() error {
			a, err := fetch(ctx, ours, name)
			if err != nil {
				return err
			}
			b, err := fetch(ctx, peer, name)
			if err != nil {
				return err
			}
			if !bytes.Equal(a, b) {
				return fmt.Errorf("%s: ours sends %d bytes, nginx sends %d different ones", name, len(a), len(b))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	log.Printf("%d files: status, Content-Encoding, Content-Length and body are equal", len(m.names))
	return nil
}

// fetch returns a body as it was sent. The body must be compressed and as long as its header says.
func fetch(ctx context.Context, address, path string) ([]byte, error) {
	body, response, err := readBody(ctx, "http://"+address+path)
	if err != nil {
		return nil, err
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "gzip" ||
		response.ContentLength != int64(len(body)) {
		return nil, fmt.Errorf("%s%s: Content-Encoding %q, Content-Length %d of %d bytes", address, path, encoding,
			response.ContentLength, len(body))
	}
	return body, nil
}
