package crawl

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"tollbook/site/postgres"
)

var (
	answeredDesc = prometheus.NewDesc("tollbook_facilitator_last_answer_timestamp_seconds",
		"When a facilitator last said what it settles, in seconds since 1970.", []string{"facilitator"}, nil)
	pollFailuresDesc = prometheus.NewDesc("tollbook_facilitator_failures",
		"Polls of a facilitator in a row that had no answer.", []string{"facilitator"}, nil)
)

// PollFigures returns when each facilitator last answered, and how many polls failed since, as a prometheus.Collector.
func PollFigures(db *postgres.DB) postgres.Figures {
	return func(ctx context.Context, ch chan<- prometheus.Metric) {
		states, err := db.PollStates(ctx)
		if err != nil {
			return
		}
		for _, s := range states {
			if s.AnsweredAt != nil {
				postgres.Gauge(ch, answeredDesc, float64(s.AnsweredAt.Unix()), s.FacilitatorID)
			}
			postgres.Gauge(ch, pollFailuresDesc, float64(s.Failures), s.FacilitatorID)
		}
	}
}
