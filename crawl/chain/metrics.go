package chain

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what readers do, by network. It is a prometheus.Collector. Several readers may share it.
type Metrics struct {
	mu       sync.Mutex
	networks map[string]*NetworkMetrics
}

// NetworkMetrics are the counts of one network.
type NetworkMetrics struct {
	Head, Behind int64
	BlockTime    time.Time // of the newest block that the head scan committed
	calls        int64
	errors       map[string]int64 // by kind
	Settlements  int64
	RollBacks    int64
	RolledBack   int64 // settlements removed by roll-backs
}

// NewMetrics returns metrics that count from zero.
func NewMetrics() *Metrics { return &Metrics{networks: map[string]*NetworkMetrics{}} }

// Update runs f on the counts of a network. No other method runs at the same time.
func (m *Metrics) Update(network string, f func(*NetworkMetrics)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.networks[network]
	if n == nil {
		n = &NetworkMetrics{errors: map[string]int64{}}
		m.networks[network] = n
	}
	f(n)
}

// Call counts a request to a node.
func (m *Metrics) Call(network string) { m.Update(network, func(n *NetworkMetrics) { n.calls++ }) }

// Failure counts a failed request.
func (m *Metrics) Failure(network, kind string) {
	m.Update(network, func(n *NetworkMetrics) { n.errors[kind]++ })
}

// Sums returns the calls and errors of a network so far.
func (m *Metrics) Sums(network string) (calls, errors int64) {
	m.Update(network, func(n *NetworkMetrics) {
		calls = n.calls
		for _, count := range n.errors {
			errors += count
		}
	})
	return calls, errors
}

// networkValue is a metric of a network.
type networkValue struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*NetworkMetrics) int64
}

func newNetworkValue(
	name, help string, kind prometheus.ValueType, value func(*NetworkMetrics) int64,
) networkValue {
	return networkValue{prometheus.NewDesc(name, help, []string{"network"}, nil), kind, value}
}

var (
	networkValues = []networkValue{
		newNetworkValue("tollbook_index_head_block", "Newest confirmed block of the chain.", prometheus.GaugeValue,
			func(n *NetworkMetrics) int64 { return n.Head }),
		newNetworkValue("tollbook_index_lag_blocks", "Blocks to go, fills included.", prometheus.GaugeValue,
			func(n *NetworkMetrics) int64 { return n.Behind }),
		newNetworkValue("tollbook_index_calls_total", "Requests to nodes.", prometheus.CounterValue,
			func(n *NetworkMetrics) int64 { return n.calls }),
		newNetworkValue("tollbook_index_settlements_total", "Settlements found that were new.",
			prometheus.CounterValue, func(n *NetworkMetrics) int64 { return n.Settlements }),
		newNetworkValue("tollbook_index_rollbacks_total", "Reorganisations rolled back.", prometheus.CounterValue,
			func(n *NetworkMetrics) int64 { return n.RollBacks }),
		newNetworkValue("tollbook_index_rolled_back_settlements_total",
			"Settlements that reorganisations took back.", prometheus.CounterValue,
			func(n *NetworkMetrics) int64 { return n.RolledBack }),
	}
	lagDesc = prometheus.NewDesc("tollbook_index_lag_seconds",
		"Age of the newest block that the head scan has committed.", []string{"network"}, nil)
	errorsDesc = prometheus.NewDesc("tollbook_index_errors_total", "Requests to nodes that failed, by kind.",
		[]string{"network", "kind"}, nil)
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, v := range networkValues {
		ch <- v.desc
	}
	ch <- lagDesc
	ch <- errorsDesc
}

// Collect implements prometheus.Collector. A network whose head scan has committed nothing has no lag in seconds,
// because unknown is not zero.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, n := range m.networks {
		for _, v := range networkValues {
			ch <- prometheus.MustNewConstMetric(v.desc, v.kind, float64(v.value(n)), id)
		}
		if !n.BlockTime.IsZero() {
			ch <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, time.Since(n.BlockTime).Seconds(), id)
		}
		for kind, count := range n.errors {
			ch <- prometheus.MustNewConstMetric(errorsDesc, prometheus.CounterValue, float64(count), id, kind)
		}
	}
}
