package render

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
)

// TestRowsByHand: what is written by hand is what encoding/json writes.
func TestRowsByHand(t *testing.T) {
	t.Parallel()
	instant := rapid.Custom(func(t *rapid.T) site.Time {
		return site.NewTime(time.UnixMilli(rapid.Int64Range(-70e12, 300e12).Draw(t, "ms")))
	})
	count := rapid.Ptr(rapid.Int(), true)
	float := rapid.OneOf(rapid.Float64Range(0, 100), rapid.Float64(), rapid.SampledFrom([]float64{0, 100, 99.99, 1e-6, 1e-7, 1e21}))
	sameRows(t, func(t *rapid.T) site.CheckEntry {
		return site.CheckEntry{
			ID: rapid.OneOf(rapid.StringMatching(`[0-9a-f-]{36}`), rapid.String()).Draw(t, "id"), CheckedAt: instant.Draw(t, "at"), IsUp: rapid.Bool().Draw(t, "up"),
			StatusCode: count.Draw(t, "status"), ResponseTimeMS: count.Draw(t, "ms"), EndpointsFound: rapid.Int().Draw(t, "found"),
			ErrorMessage: rapid.Ptr(rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`)), true).Draw(t, "error"),
		}
	})
	text := rapid.OneOf(rapid.StringMatching(`[ -~]*`), rapid.String())
	sameRows(t, func(t *rapid.T) site.GlobalCheckEntry {
		return site.GlobalCheckEntry{
			ID: rapid.OneOf(rapid.StringMatching(`[0-9a-f-]{36}`), rapid.String()).Draw(t, "id"), CheckedAt: instant.Draw(t, "at"), IsUp: rapid.Bool().Draw(t, "up"),
			StatusCode: count.Draw(t, "status"), ResponseTimeMS: count.Draw(t, "ms"), EndpointsFound: rapid.Int().Draw(t, "found"),
			ServiceSlug: text.Draw(t, "slug"), ServiceName: text.Draw(t, "name"), ServiceStatus: text.Draw(t, "service status"),
		}
	})
	sameRows(t, func(t *rapid.T) site.ScorePoint {
		return site.ScorePoint{
			Date: rapid.OneOf(rapid.StringMatching(`[0-9]{4}-[0-9]{2}-[0-9]{2}`), rapid.String()).Draw(t, "date"), UptimePercentage: float.Draw(t, "uptime"),
			AvgResponseTimeMS: count.Draw(t, "ms"), PriceStability: rapid.Ptr(float, true).Draw(t, "stability"),
		}
	})
	sameRows(t, func(t *rapid.T) site.UptimeDataPoint {
		return site.UptimeDataPoint{
			PeriodStart: instant.Draw(t, "start"), PeriodEnd: instant.Draw(t, "end"), UptimePercentage: float.Draw(t, "uptime"),
			AvgResponseTimeMS: count.Draw(t, "ms"), TotalChecks: rapid.Int64().Draw(t, "checks"), SuccessfulChecks: rapid.Int64().Draw(t, "successful"),
		}
	})
}

// sameRows holds RowsOf to encoding/json, and AppendFrameOf to both.
func sameRows[T any](t *testing.T, draw func(*rapid.T) T) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(draw), 0, 4).Draw(t, "rows")
		var want, got []string
		var wantErr error
		for _, v := range list {
			b, err := encode(v)
			wantErr = errors.Join(wantErr, err)
			want = append(want, strings.TrimSuffix(string(b), "\n"))
		}
		rows, _, err := RowsOf(nil, list)
		for _, row := range rows {
			got = append(got, string(row))
		}
		if diff := cmp.Diff(want, got); wantErr == nil && diff != "" || (wantErr == nil) != (err == nil) {
			t.Fatalf("%v, %v (-encoding/json +by hand):\n%s", wantErr, err, diff)
		}
		meta := site.BlockMeta{First: int64(len(list))}
		framed, err := AppendFrameOf([]byte("before"), site.Framing{}, list, meta)
		if wantErr != nil {
			if err == nil {
				t.Fatalf("a list with %v is framed", wantErr)
			}
			return
		}
		tail, err2 := Row(meta)
		whole := append([]byte("before"), site.Framing{}.List(rows, tail)...)
		if diff := cmp.Diff(string(whole), string(framed)); err != nil || err2 != nil || diff != "" {
			t.Fatalf("framed at once: %v, %v (-want +got):\n%s", err, err2, diff)
		}
	})
}
