package inbox

import (
	"context"

	"tollbook/site"
	"tollbook/site/message"
)

// suggest reads and stores a suggestion. The log never gets its text or the sender's e-mail address.
func (h *Handler) suggest(ctx context.Context, q *request) (any, func(context.Context), error) {
	in := site.IncomingSuggestion{Client: q.client, Key: q.key, At: h.Now(), MaxOpen: h.MaxPending}
	var err error
	if q.media == mediaJSON {
		in.Suggestion, err = message.ReadSuggestion(q.body)
	} else {
		in.Suggestion, err = message.ReadSuggestionForm(q.form)
	}
	if err != nil {
		return nil, nil, err
	}
	result, err := h.Store.ReceiveSuggestion(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	if !result.Repeated {
		h.Logger.Info("suggestion received", "suggestion", result.SuggestionID, "category", in.Category)
	}
	return &result, nil, nil
}
