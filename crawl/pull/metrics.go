package pull

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"tollbook/site/postgres"
)

var (
	successDesc = prometheus.NewDesc("tollbook_source_last_success_timestamp_seconds",
		"When a public source was last read to its end, in seconds since 1970.", []string{"source"}, nil)
	resourcesDesc = prometheus.NewDesc("tollbook_source_resources", "Resources that a public source lists.",
		[]string{"source"}, nil)
	failuresDesc = prometheus.NewDesc("tollbook_source_failures",
		"Pulls of a public source that failed since the last one that succeeded.", []string{"source"}, nil)
	heldDesc = prometheus.NewDesc("tollbook_source_held_back",
		"Whether an answer of a public source is held back because it lacks more than half of the list: 0 or 1.",
		[]string{"source"}, nil)
)

// Figures returns the state of the sources that are enabled, as a prometheus.Collector.
func (p *Puller) Figures() postgres.Figures {
	return func(ctx context.Context, ch chan<- prometheus.Metric) {
		states, err := p.store.List(ctx)
		if err != nil {
			return
		}
		for _, s := range states {
			of, ok := p.find(s.Name)
			if !ok || !IsEnabled(of, s) {
				continue
			}
			if s.SucceededAt != nil {
				postgres.Gauge(ch, successDesc, float64(s.SucceededAt.Unix()), s.Name)
			}
			if s.Accepted != nil {
				postgres.Gauge(ch, resourcesDesc, float64(s.Listed), s.Name)
			}
			postgres.Gauge(ch, failuresDesc, float64(s.Failures), s.Name)
			held := 0.0
			if s.Held != nil {
				held = 1
			}
			postgres.Gauge(ch, heldDesc, held, s.Name)
		}
	}
}
