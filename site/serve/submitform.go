package serve

import (
	"context"
	"net/http"
	"net/url"

	"tollbook/site"
	"tollbook/site/routes"
)

// submitPage is the key of the page that contains the form.
var submitPage = routes.Query{Route: routes.ByName("submit-page"), Bare: true}.Key()

// sendForm responds to a form that a browser sent without script: with the snapshot's own page that shows the result,
// or the sent values and their errors. It returns false and sends nothing if there is no such page, and for internal
// errors.
func (h *handler) sendForm(w *responseWriter, r *http.Request, form url.Values, result *site.SubmissionResult,
	err error) bool {
	code := http.StatusCreated
	filled := site.SubmitForm{Result: result, Values: map[string]string{}}
	if err != nil {
		e := errorOf(err)
		if code = e.Code; code == http.StatusInternalServerError {
			return false
		}
		if filled.Faults = e.Fields; len(e.Fields) == 0 {
			filled.Problem = e.Message
		}
		h.setRetryAfter(w.Header(), err)
		for _, name := range site.SubmissionFields {
			filled.Values[name] = form.Get(name)
		}
	}
	page, ok := h.submitPage(r.Context(), filled)
	if !ok {
		return false
	}
	w.Header()["Cache-Control"] = headerNoStore
	setType(w.Header(), typeHTML, false)
	writeBody(w, r, code, page)
	return true
}

// submitPage returns the current snapshot's page, filled in.
func (h *handler) submitPage(ctx context.Context, filled site.SubmitForm) ([]byte, bool) {
	if h.submitter.FillForm == nil {
		return nil, false
	}
	snap, err := h.source.Current()
	if err != nil {
		return nil, false
	}
	defer snap.Release()
	m, ok := snap.Lookup(submitPage)
	if !ok {
		return nil, false
	}
	b, err := h.file(m)
	if err != nil || b.member != nil {
		return nil, false
	}
	page, err := b.gunzip()
	if err != nil {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, receiveTime)
	defer cancel()
	if filled.Categories, err = h.submitter.Store.SubmissionCategories(ctx); err != nil {
		filled.Categories = site.Categories
	}
	page, err = h.submitter.FillForm(page, filled)
	return page, err == nil
}
