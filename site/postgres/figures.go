package postgres

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Figures is a prometheus.Collector that reads the database when metrics are requested. It sends nothing that it could
// not read, because unknown is not zero.
type Figures func(ctx context.Context, ch chan<- prometheus.Metric)

// figuresTimeout is less than the ten seconds after which Prometheus gives up a request by default.
const figuresTimeout = 5 * time.Second

// Describe implements prometheus.Collector. It sends nothing, because without a database there are no metrics.
func (f Figures) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (f Figures) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), figuresTimeout)
	defer cancel()
	f(ctx, ch)
}

// Gauge sends the value of a gauge with the labels of desc.
func Gauge(ch chan<- prometheus.Metric, desc *prometheus.Desc, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}
