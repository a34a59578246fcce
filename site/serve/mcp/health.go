package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"tollbook/site"
)

// Health is the answer of the tool health: what /readyz tells of the snapshot that answers, and its /v1/stats.
type Health struct {
	Data HealthData `json:"data"`
}

// HealthData is both.
type HealthData struct {
	Ready Readiness           `json:"ready"`
	Stats site.AggregateStats `json:"stats"`
}

// Readiness is the body of /readyz. It has no name for the schema, since the vocabulary of the API says other things of
// fields that are called so.
type Readiness = struct {
	Status     string    `json:"status"`
	Snapshot   string    `json:"snapshot"`
	BuiltAt    site.Time `json:"built_at"`
	AgeSeconds int64     `json:"age_seconds"`
	Warning    string    `json:"warning,omitempty"`
}

// readHealth joins two answers of the reader, of one snapshot, byte for byte.
func readHealth(ctx context.Context, r reader, _ map[string]string) *answer {
	ready := r.ask(ctx, "/readyz", "")
	if ready.code != http.StatusOK {
		return ready
	}
	var told Readiness
	if err := json.Unmarshal(ready.body.Bytes(), &told); err != nil {
		r.logger.Error("read /readyz", "err", err)
		return failed(site.Error{Code: http.StatusInternalServerError, Type: site.ErrorInternal,
			Message: "internal error"})
	}
	stats := r.ask(ctx, site.ByName("stats").Pattern, "snapshot="+told.Snapshot)
	if stats.code != http.StatusOK {
		return stats
	}
	joined := &answer{code: http.StatusOK, header: stats.header}
	data := bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimSpace(stats.body.Bytes()), []byte(`{"data":`)), []byte("}"))
	fmt.Fprintf(&joined.body, `{"data":{"ready":%s,"stats":%s}}`, bytes.TrimSpace(ready.body.Bytes()), data)
	return joined
}

func briefHealth(data []byte) (string, error) {
	var v struct {
		Data struct {
			Ready Readiness
			Stats json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return "", fmt.Errorf("parse health: %w", err)
	}
	stats, err := brief("stats", []byte(`{"data":`+string(v.Data.Stats)+`}`))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The snapshot was built at %s, %d seconds ago.\n%s", v.Data.Ready.BuiltAt, v.Data.Ready.AgeSeconds,
		stats)
	if v.Data.Ready.Warning != "" {
		fmt.Fprintf(&b, "Warning: %s.\n", v.Data.Ready.Warning)
	}
	return b.String(), nil
}
