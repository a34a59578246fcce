package serve

import (
	"context"
	"net/http"

	"tollbook/site"
	"tollbook/site/routes"
)

// formPage is the page of a snapshot that contains the form of a call.
type formPage struct {
	call   string
	page   string   // its key
	fields []string // of the form
	status int      // of success
}

var (
	submitForm = formPage{callSubmit, routes.Query{Route: routes.ByName("submit-page"), Bare: true}.Key(),
		site.SubmissionFields, http.StatusCreated}
	suggestForm = formPage{callSuggest, routes.Query{Route: routes.ByName("suggest-page"), Bare: true}.Key(),
		site.SuggestionFields, http.StatusCreated}
)

// sendResult responds to a post with its result or an error: with JSON, or to a form that a browser sent without script
// with the snapshot's own page. If there is no such page, and for internal errors, a form also gets JSON.
func (h *handler) sendResult(w *responseWriter, r *http.Request, p *post, f formPage, result any, err error) {
	switch {
	case p.media == mediaForm && h.sendForm(w, r, p, f, result, err):
	case err != nil:
		h.fail(w, r, err)
	default:
		h.sendJSON(w, r, f.status, result)
	}
}

// sendForm responds with the page of a form that shows the result, or the sent values and their errors. It returns
// false and sends nothing if there is no such page, and for internal errors.
func (h *handler) sendForm(w *responseWriter, r *http.Request, p *post, f formPage, result any, err error) bool {
	code := f.status
	filled := site.Form{Result: result, Values: map[string]string{}}
	if err != nil {
		e := errorOf(err)
		if code = e.Code; code == http.StatusInternalServerError {
			return false
		}
		filled.Result = nil // not a nil pointer
		if filled.Faults = e.Fields; len(e.Fields) == 0 {
			filled.Problem = e.Message
		}
		h.setRetryAfter(w.Header(), err)
		for _, name := range f.fields {
			filled.Values[name] = p.form.Get(name)
		}
	}
	page, ok := h.fillPage(r.Context(), f, filled)
	if !ok {
		return false
	}
	w.Header()["Cache-Control"] = headerNoStore
	setType(w.Header(), typeHTML, false)
	writeBody(w, r, code, page)
	return true
}

// fillPage returns the current snapshot's page of a form, filled in.
func (h *handler) fillPage(ctx context.Context, f formPage, filled site.Form) ([]byte, bool) {
	if h.submitter.FillForm == nil {
		return nil, false
	}
	snap, err := h.source.Current()
	if err != nil {
		return nil, false
	}
	defer snap.Release()
	m, ok := snap.Lookup(f.page)
	if !ok {
		return nil, false
	}
	b, err := h.file(nil, m)
	if err != nil || b.member != nil {
		return nil, false
	}
	page, err := b.gunzip()
	if err != nil {
		return nil, false
	}
	if f.call == callSubmit {
		ctx, cancel := context.WithTimeout(ctx, receiveTime)
		defer cancel()
		if filled.Categories, err = h.submitter.Store.SubmissionCategories(ctx); err != nil {
			filled.Categories = site.Categories
		}
	}
	page, err = h.submitter.FillForm(page, f.call, filled)
	return page, err == nil
}
