package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"tollbook/site"
	"tollbook/site/routes"
)

// Health is the result of the tool health: the body of /readyz and /v1/stats of the same snapshot.
type Health struct {
	Data       HealthData      `json:"data"`
	Provenance site.Provenance `json:"provenance"`
}

type HealthData struct {
	Ready Readiness           `json:"ready"`
	Stats site.AggregateStats `json:"stats"`
}

// Readiness is the body of /readyz. It is an alias of an unnamed struct, because the vocabulary of the API describes
// fields with these names differently.
type Readiness = struct {
	Status     string    `json:"status"`
	Snapshot   string    `json:"snapshot"`
	BuiltAt    site.Time `json:"built_at"`
	AgeSeconds int64     `json:"age_seconds"`
	Warning    string    `json:"warning,omitempty"`
	SetAside   []string  `json:"set_aside,omitempty"`
}

// healthRoute is the route of the tool health.
const healthRoute = "stats"

// readHealth joins two responses for one snapshot, byte for byte.
func readHealth(ctx context.Context, r reader, _ map[string]string) *answer {
	ready := r.ask(ctx, "/readyz", "")
	if ready.code != http.StatusOK {
		return ready
	}
	var state Readiness
	if err := json.Unmarshal(ready.body.Bytes(), &state); err != nil {
		r.logger.Error("read /readyz", "err", err)
		return failed(internalError)
	}
	stats := r.ask(ctx, routes.ByName(healthRoute).Pattern, "snapshot="+state.Snapshot)
	if stats.code != http.StatusOK {
		return stats
	}
	joined := &answer{code: http.StatusOK, header: stats.header}
	var of struct{ Data, Provenance json.RawMessage }
	if err := json.Unmarshal(stats.body.Bytes(), &of); err != nil {
		r.logger.Error("read "+routes.ByName(healthRoute).Pattern, "err", err)
		return failed(internalError)
	}
	fmt.Fprintf(&joined.body, `{"data":{"ready":%s,"stats":%s}`, bytes.TrimSpace(ready.body.Bytes()), of.Data)
	joined.end(of.Provenance)
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
	stats, err := brief(healthRoute, []byte(`{"data":`+string(v.Data.Stats)+`}`), sizes[0])
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The snapshot was built at %s, %d seconds ago.\n%s", v.Data.Ready.BuiltAt, v.Data.Ready.AgeSeconds,
		stats)
	if v.Data.Ready.Warning != "" {
		fmt.Fprintf(&b, "Warning: %s.\n", v.Data.Ready.Warning)
	}
	if n := len(v.Data.Ready.SetAside); n > 0 {
		fmt.Fprintf(&b, "The records of %d services are damaged; their data is of an earlier snapshot: %s.\n", n,
			strings.Join(v.Data.Ready.SetAside, ", "))
	}
	return b.String(), nil
}
