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

// Addresses that tell of the process, not of a snapshot.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// health says that the process answers.
type health struct {
	Status string `json:"status"`
}

// readiness says what readers get.
type readiness struct {
	Status     string    `json:"status"`
	Snapshot   string    `json:"snapshot"`
	BuiltAt    site.Time `json:"built_at"`
	AgeSeconds int64     `json:"age_seconds"`
	Warning    string    `json:"warning,omitempty"`
}

// ready says which snapshot is open, or why none is. The cause of a newer one that can't be opened is in the log.
func ready(source Source, now time.Time) (readiness, error) {
	snap, err := source.Current()
	if err != nil {
		return readiness{}, err
	}
	defer snap.Release()
	built := snap.Checkpoint.Built()
	r := readiness{Status: "ready", Snapshot: snap.ID, BuiltAt: site.NewTime(built),
		AgeSeconds: int64(now.Sub(built) / time.Second)}
	r.Warning = warning(source.Err())
	return r, nil
}

// warning says why there may be a newer snapshot than the one that is served, "" for nil.
func warning(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, archive.ErrUnreachable):
		return "the store can't be reached; this snapshot, from before, is served"
	default:
		return "the newest snapshot can't be opened; this one, from before, is served"
	}
}

// tellHealth answers an address of this file.
func (h *handler) tellHealth(w http.ResponseWriter, r *http.Request) {
	var v any = health{"ok"}
	if r.URL.Path == readyPath {
		told, err := ready(h.source, h.now())
		if err != nil {
			h.fail(w, r, &notReadyError{err})
			return
		}
		v = told
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, a time and a number
	}
	header := w.Header()
	header["Cache-Control"] = headerNoStore
	header.Set("Content-Type", typeJSON)
	writeBody(w, r, http.StatusOK, append(data, '\n'))
}

// notReadyError is why nothing can be answered: a 503 even where a reader would be told a 500.
type notReadyError struct{ err error }

func (e *notReadyError) Error() string { return e.err.Error() }
func (e *notReadyError) Unwrap() error { return e.err }

var _ Source = (*output.Source)(nil)
