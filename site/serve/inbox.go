package serve

import (
	"encoding/json"
	"net/http"

	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/serve/inbox"
)

const submitAllowed = "POST, OPTIONS"

var errNoSubmissions = &methodError{allowed: allowed, note: "; this server does not accept submissions"}

// newInbox returns what handles messages, or nil if none are accepted.
func (h *handler) newInbox(o *inbox.Options) *inbox.Handler {
	if o == nil {
		return nil
	}
	with := *o
	with.Now, with.Logger, with.NextBuild = h.now, h.logger, h.nextBuild
	return inbox.New(with)
}

// nextBuild returns when the current snapshot says that the next build is due.
func (h *handler) nextBuild() *site.Time {
	snap, err := h.source.Current()
	if err != nil {
		return nil
	}
	defer snap.Release()
	return site.TimeOrNull(snap.Checkpoint.Next())
}

// call responds to a call of the table: with JSON, or to a form that a browser sent without script with the snapshot's
// own page. If there is no such page, and for internal errors, a form also gets JSON. No file contains the responses of
// calls, and none is cached.
func (h *handler) call(w *responseWriter, r *http.Request, name, segment string) {
	w.route = name
	w.Header()["Cache-Control"] = headerNoStore
	a := h.inbox.Handle(w, r, name, segment, clientName(clientAddr(r, h.trusted)))
	switch {
	case a.Form != nil && h.sendForm(w, r, a):
	case a.Err != nil:
		h.fail(w, r, a.Err)
	default:
		data, err := json.Marshal(site.Uncited[any]{Data: a.Data})
		if err != nil {
			panic(err) // cannot fail: strings, numbers and times
		}
		w.Header().Set("Content-Type", typeJSON)
		writeBody(w, r, a.Status, append(invisible.EscapeJSON(data), '\n'))
	}
}

// sendForm responds with the page of a form that shows the result, or the sent values and their errors. It returns
// false and sends nothing if there is no such page, and for internal errors.
func (h *handler) sendForm(w *responseWriter, r *http.Request, a inbox.Answer) bool {
	code := a.Status
	filled := site.Form{Result: a.Data, Values: map[string]string{}}
	if a.Err != nil {
		e := errorOf(a.Err)
		if code = e.Code; code == http.StatusInternalServerError {
			return false
		}
		if filled.Faults = e.Fields; len(e.Fields) == 0 {
			filled.Problem = e.Message
		}
		h.setRetryAfter(w.Header(), a.Err)
		filled.Values = a.Form.Sent
	}
	if h.inbox.FillForm == nil {
		return false
	}
	page, ok := h.formPage(a.Form.Page)
	if !ok {
		return false
	}
	if a.Form.Categories != nil {
		filled.Categories = a.Form.Categories(r.Context())
	}
	page, err := h.inbox.FillForm(page, a.Form.Call, filled)
	if err != nil {
		return false
	}
	setType(w.Header(), typeHTML, false)
	writeBody(w, r, code, page)
	return true
}

// formPage returns a page of the current snapshot.
func (h *handler) formPage(key string) ([]byte, bool) {
	snap, err := h.source.Current()
	if err != nil {
		return nil, false
	}
	defer snap.Release()
	m, ok := snap.Lookup(key)
	if !ok {
		return nil, false
	}
	b, err := h.file(nil, m)
	if err != nil || b.member != nil {
		return nil, false
	}
	page, err := b.gunzip()
	return page, err == nil
}
