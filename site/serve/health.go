package serve

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
)

// Paths that report the state of the process.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// health is the body of healthPath.
type health struct {
	Status string `json:"status"`
}

// readiness is the body of readyPath.
type readiness struct {
	Status     string    `json:"status"`
	Snapshot   string    `json:"snapshot"`
	BuiltAt    site.Time `json:"built_at"`
	AgeSeconds int64     `json:"age_seconds"`
	Warning    string    `json:"warning,omitempty"`
	Notice     string    `json:"notice,omitempty"`
	SetAside   []string  `json:"set_aside,omitempty"` // slugs of services that the build set aside
}

// ready returns which snapshot is open, or why none is. The log contains the reason why a newer one can't be opened.
func (h *handler) ready() (readiness, error) {
	snap, err := h.source.Current()
	if err != nil {
		return readiness{}, err
	}
	defer snap.Release()
	built := snap.Checkpoint.Built()
	r := readiness{Status: "ready", Snapshot: snap.ID, BuiltAt: site.NewTime(built),
		AgeSeconds: int64(h.now().Sub(built) / time.Second), Warning: warning(h.source.Err())}
	if index, err := h.info(snap).readIndex(snap); err == nil { // a damaged index is reported to readers
		for _, s := range index.SetAside {
			r.SetAside = append(r.SetAside, s.Slug)
		}
	}
	return r, nil
}

// warning describes why a newer snapshot may exist than the one that is served; "" for nil.
func warning(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, archive.ErrUnreachable):
		return "the store can't be reached; an older snapshot is served"
	default:
		return "the newest snapshot can't be opened; an older one is served"
	}
}

// sendHealth serves healthPath and readyPath.
func (h *handler) sendHealth(w http.ResponseWriter, r *http.Request) {
	var v any = health{"ok"}
	if r.URL.Path == readyPath {
		state, err := h.ready()
		if err != nil {
			h.fail(w, r, &notReadyError{err})
			return
		}
		if h.notice != nil {
			state.Notice = h.notice()
		}
		v = state
	}
	sendState(w, r, v)
}

// sendState sends what the operator asks about the process. Nothing keeps it.
func sendState(w http.ResponseWriter, r *http.Request, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot fail: texts, times and numbers
	}
	header := w.Header()
	header["Cache-Control"] = headerNoStore
	header.Set("Content-Type", typeJSON)
	writeBody(w, r, http.StatusOK, append(data, '\n'))
}

// notReadyError reports why no snapshot can be served: a 503 even if the cause would be a 500 elsewhere.
type notReadyError struct{ err error }

func (e *notReadyError) Error() string { return e.err.Error() }
func (e *notReadyError) Unwrap() error { return e.err }

var _ Source = (*output.Source)(nil)
