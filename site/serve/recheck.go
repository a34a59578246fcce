package serve

import (
	"context"
	"encoding/json"
	"net/http"

	"tollbook/site"
	"tollbook/site/fields"
	"tollbook/site/routes"
)

// recheck responds to POST /v1/services/{slug}/recheck: with JSON, or with the service's page to a form. A request
// without a body has no type; it is one of a program.
func (h *handler) recheck(w *responseWriter, r *http.Request, slug string) {
	if r.ContentLength == 0 && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", mediaJSON)
	}
	var result *site.RecheckResult
	p, err := h.readPost(w, r)
	if err == nil {
		result, err = h.requestRecheck(r.Context(), slug, p)
	}
	page := routes.Query{Route: routes.ByName("service-page"), Slug: slug, Bare: true}.Key()
	h.sendResult(w, r, p, formPage{call: callRecheck, page: page, status: http.StatusAccepted}, result, err)
}

// requestRecheck makes a service due for a visit at once.
func (h *handler) requestRecheck(ctx context.Context, slug string, p *post) (*site.RecheckResult, error) {
	if err := checkEmpty(p); err != nil {
		return nil, err
	}
	if !site.ValidSlug(slug) {
		return nil, site.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, receiveTime)
	defer cancel()
	leave, err := h.submitter.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	result, err := h.submitter.Store.RequestRecheck(ctx,
		site.IncomingRecheck{Slug: slug, Client: p.client, At: h.now()})
	if err != nil {
		return nil, err
	}
	h.logger.Info("re-check requested", "service", slug)
	result.ChecksURL = "/" + routes.Query{Route: routes.ByName("service-checks"), Slug: slug, Bare: true}.ListKey()
	if snap, err := h.source.Current(); err == nil {
		defer snap.Release()
		result.NextBuildAt = site.TimeOrNull(snap.Checkpoint.Next())
	}
	return &result, nil
}

// checkEmpty refuses a body with fields, because a re-check has none.
func checkEmpty(p *post) error {
	d := fields.NewReader("request for a re-check", nil)
	if p.media == mediaForm {
		d.ReadForm(p.form, nil)
	} else if len(p.body) > 0 {
		if err := d.ReadJSON(p.body, func(string, json.RawMessage) {}); err != nil {
			return err
		}
	}
	return d.Err()
}
