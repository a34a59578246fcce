package serve

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// FillSearch fills the search page of a snapshot with the response of /v1/search to values, or with a problem. It fails
// if the bytes are not such a page. results.Fill implements it.
type FillSearch func(page []byte, values url.Values, response []byte, problem string) ([]byte, error)

// searchPage is the key of the page that shows results. The page is filled, so that it needs no script. Readers request
// it as /search or by the name of its file, with the parameters of /v1/search.
var searchPage = routes.Query{Route: routes.ByName("search-page"), Bare: true}.Key()

// resultsQuery precedes the parameters of the reader, whose own values it replaces.
const resultsQuery = "include=assessment,facets&per_page=10&" + routes.ParamReadFilters + "=true&"

// isSearch reports whether a path is that of the search page.
func isSearch(path string) bool { return path == "/search" || path == "/"+searchPage }

// isFile reports whether a request names the file of the search page, without a parameter of /v1/search. The file is
// then sent as it was published, because "tollbook verify --files" compares it.
func isFile(r *http.Request) bool {
	q, err := routes.ParseRequest(routes.ByName("search").Pattern, r.URL.RawQuery)
	return err == nil && q.Bare && r.URL.Path == "/"+searchPage
}

// sendSearch sends the search page with the results for a request.
func (h *handler) sendSearch(w *responseWriter, r *http.Request, v *snapshotInfo, snap *output.Snapshot,
	b *body) error {
	page, err := b.gunzip()
	if err != nil {
		return err
	}
	values, _ := url.ParseQuery(r.URL.RawQuery) // what cannot be decoded is left out
	q, err := routes.ParseRequest(routes.ByName("search").Pattern, resultsQuery+routes.TypedQuery(r.URL.RawQuery))
	if err == nil {
		index, indexErr := v.readIndex(snap)
		if indexErr != nil {
			return indexErr
		}
		err = index.CheckNames(q)
	}
	if problem := (*routes.ParamError)(nil); errors.As(err, &problem) {
		filled, err := h.fillSearch(page, values, nil, errorOf(err).Message)
		if err != nil {
			return fmt.Errorf("fill %s: %w", searchPage, err)
		}
		b, err := newCutBody(filled)
		if err != nil {
			return err
		}
		h.sendError(w, r, http.StatusBadRequest, b)
		return nil
	}
	if err != nil {
		return err
	}
	filled, err := h.makeBody(&w.slot, cacheKey{snapshot: snap.ID, name: searchPage + "?" + q.Key()},
		func() (*body, error) {
			_, results, err := h.findBody(&w.slot, v, snap, q)
			if err != nil {
				return nil, err
			}
			response, err := results.gunzip()
			if err != nil {
				return nil, err
			}
			if page, err = h.fillSearch(page, values, response, ""); err != nil {
				return nil, fmt.Errorf("fill %s: %w", searchPage, err)
			}
			return newCutBody(page)
		})
	if err != nil {
		return err
	}
	if h.empty != nil {
		if _, results, err := h.findBody(&w.slot, v, snap, q); err == nil {
			h.countEmpty(q, results)
		}
	}
	return h.send(w, r, v, q.Snapshot != "", searchPage, filled)
}

// searchText returns a page of the services whose text matches a query.
func (h *handler) searchText(snap *output.Snapshot, index *routes.Index, q routes.Query, built time.Time) (cutResponse,
	error) {
	rows, meta, err := search.ResultsPage(q, len(index.Slugs), searchSource{termFiles{h, snap, index}, built})
	if err != nil {
		return cutResponse{}, err
	}
	meta.UnknownValues = index.UnknownValues(q)
	return newPage(q.Route.Framing, rows, meta, meta.Total)
}

// findText returns what a text matches in the terms of the snapshot.
func (h *handler) findText(snap *output.Snapshot, index *routes.Index, text string) (*search.Result, error) {
	files := termFiles{h, snap, index}
	terms, err := files.Index()
	if err != nil {
		return nil, err
	}
	return search.Find(terms, text, files)
}

// searchSource reads the files of a snapshot for a search.
type searchSource struct {
	termFiles
	built time.Time
}

// Built implements search.resultsSource.
func (s searchSource) Built() time.Time { return s.built }

// Column implements search.resultsSource.
func (s searchSource) Column(name string) (*search.Column, error) {
	return s.handler.columnReader(s.snap, s.index)(name)
}

// Rows implements search.resultsSource.
func (s searchSource) Rows(places []int32) ([]site.RowParts, error) {
	return s.handler.serviceRows(s.snap, s.index, places)
}

// termFiles reads the files of terms of a snapshot.
type termFiles struct {
	handler *handler
	snap    *output.Snapshot
	index   *routes.Index
}

// Index implements search.resultsSource.
func (f termFiles) Index() (*site.TermIndex, error) {
	terms, err := readJSON[site.One[site.TermIndex]](f.handler, f.snap, site.TermsFile)
	if err != nil {
		return nil, err
	}
	if n := terms.Data.Services; n != len(f.index.Slugs) {
		return nil, fmt.Errorf("file %s: %w: it has %d services; according to %s it must have %d", site.TermsFile,
			archive.ErrDamaged, n, routes.IndexFile, len(f.index.Slugs))
	}
	return &terms.Data, nil
}

// Shard implements search.Source.
func (f termFiles) Shard(name string) (*search.Shard, error) {
	terms, err := f.Index()
	if err != nil {
		return nil, err
	}
	s, err := readCachedFile(f.handler, f.snap, routes.TermShardKey(name), "terms",
		func(data []byte) (termFile, error) {
			lines, _, err := encode.Framing{}.Split(data)
			if err != nil {
				return termFile{}, err
			}
			if n := terms.Shards[name]; len(lines) != n {
				return termFile{}, fmt.Errorf("it has %d terms; according to %s it must have %d", len(lines),
					site.TermsFile, n)
			}
			s, err := search.ParseShard(lines, terms.Services)
			return termFile{s}, err
		})
	return s.Shard, err
}

// Vocabulary implements search.Source.
func (f termFiles) Vocabulary() (*site.Vocabulary, error) {
	v, err := readJSON[site.One[site.Vocabulary]](f.handler, f.snap, site.VocabularyFile)
	if err != nil {
		return nil, err
	}
	return &v.Data, nil
}

// termFile is a file of terms in the cache.
type termFile struct{ *search.Shard }

func (f termFile) size() int { return f.Size() }
