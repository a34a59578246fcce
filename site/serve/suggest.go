package serve

import (
	"context"
	"net/http"

	"tollbook/site"
	"tollbook/site/suggestion"
)

// suggest responds to POST /v1/suggestions: with JSON to JSON, with a page to a form.
func (h *handler) suggest(w *responseWriter, r *http.Request) {
	var result *site.SuggestionResult
	p, err := h.readPost(w, r)
	if err == nil {
		result, err = h.storeSuggestion(r.Context(), p)
	}
	h.sendResult(w, r, p, suggestForm, result, err)
}

// storeSuggestion reads and stores a suggestion. The log never gets its text or the sender's e-mail address.
func (h *handler) storeSuggestion(ctx context.Context, p *post) (*site.SuggestionResult, error) {
	s := h.submitter
	ctx, cancel := context.WithTimeout(ctx, receiveTime)
	defer cancel()
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	in := site.IncomingSuggestion{Client: p.client, Key: p.key, At: h.now(), MaxOpen: s.MaxPending}
	if p.media == mediaJSON {
		in.Suggestion, err = suggestion.Read(p.body)
	} else {
		in.Suggestion, err = suggestion.ReadForm(p.form)
	}
	if err != nil {
		return nil, err
	}
	result, err := s.Store.ReceiveSuggestion(ctx, in)
	if err != nil {
		return nil, err
	}
	if !result.Repeated {
		h.logger.Info("suggestion received", "suggestion", result.SuggestionID, "category", in.Category)
	}
	return &result, nil
}
