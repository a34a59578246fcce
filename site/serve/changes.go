package serve

import (
	"encoding/json"
	"time"

	"tollbook/output"
	"tollbook/site"
)

// changes cuts a page of change records out of at most two blocks. The window of days ends on the day of the snapshot.
// listed is whether v1/index.json has a log of q's scope: a service without records, or that nobody knows, has none.
func (h *handler) changes(snap *output.Snapshot, q site.Query, built time.Time, listed bool) (*body, error) {
	index := &site.LogIndex{}
	if listed {
		var err error
		if index, err = h.logIndex(snap, q.Scope().LogKey()); err != nil {
			return nil, err
		}
	}
	window, of := site.ChangeWindow(*index, q, built)
	spans, err := h.newest(snap, q, site.ChangeSpans(window, q))
	if err != nil {
		return nil, err
	}
	meta, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	return newCutting(q.Route.Framing, spans, meta).body(of.Total, &window)
}
