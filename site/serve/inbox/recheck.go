package inbox

import (
	"context"
	"encoding/json"

	"tollbook/site"
	"tollbook/site/message"
	"tollbook/site/routes"
)

// recheck makes a service due for a visit at once.
func (h *Handler) recheck(ctx context.Context, q *request) (any, func(context.Context), error) {
	if err := checkEmpty(q); err != nil {
		return nil, nil, err
	}
	slug := q.segment
	if !site.ValidSlug(slug) {
		return nil, nil, site.ErrNotFound
	}
	result, err := h.Store.RequestRecheck(ctx, site.IncomingRecheck{Slug: slug, Client: q.client, At: h.Now()})
	if err != nil {
		return nil, nil, err
	}
	h.Logger.Info("re-check requested", "service", slug)
	result.ChecksURL = "/" + routes.Query{Route: routes.ByName("service-checks"), Slug: slug, Bare: true}.ListKey()
	result.NextBuildAt = h.NextBuild()
	return &result, nil, nil
}

// checkEmpty refuses a body with fields, because a re-check has none.
func checkEmpty(q *request) error {
	d := message.NewReader("request for a re-check", nil)
	if q.media == mediaForm {
		d.ReadForm(q.form, nil)
	} else if len(q.body) > 0 {
		if err := d.ReadJSON(q.body, func(string, json.RawMessage) {}); err != nil {
			return err
		}
	}
	return d.Err()
}
