package serve

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"tollbook/output"
	"tollbook/site/routes"
)

// FillSearch fills the search page of a snapshot with the response of /v1/search to values, or with a problem. It fails
// if the bytes are not such a page. results.Fill implements it.
type FillSearch func(page []byte, values url.Values, response []byte, problem string) ([]byte, error)

// searchPage is the key of the page that shows results. The page is filled, so that it needs no script. Readers request
// it as /search or by the name of its file, with the parameters of /v1/search.
var searchPage = routes.Query{Route: routes.ByName("search-page"), Bare: true}.Key()

// resultsQuery precedes the parameters of the reader, whose own values it replaces.
const resultsQuery = "include=assessment,facets&per_page=10&"

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
	q, err := routes.ParseRequest(routes.ByName("search").Pattern, resultsQuery+r.URL.RawQuery)
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
	return h.send(w, r, v, q.Snapshot != "", searchPage, filled)
}
