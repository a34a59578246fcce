package chain

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Metrics counts what readers do, by network, and writes it in the text format of Prometheus. Several readers may share
// it.
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

// Write writes all metrics, ordered by network and kind. A network whose head scan has committed nothing has no lag in
// seconds, because unknown is not zero.
func (m *Metrics) Write(w io.Writer, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := bufio.NewWriter(w)
	ids := slices.Sorted(maps.Keys(m.networks))
	family := func(name, kind, help string, value func(*NetworkMetrics) (float64, bool)) {
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		for _, id := range ids {
			if v, ok := value(m.networks[id]); ok {
				fmt.Fprintf(b, "%s{network=%q} %g\n", name, id, v)
			}
		}
	}
	count := func(get func(*NetworkMetrics) int64) func(*NetworkMetrics) (float64, bool) {
		return func(n *NetworkMetrics) (float64, bool) { return float64(get(n)), true }
	}
	family("tollbook_index_head_block", "gauge", "Newest confirmed block of the chain.",
		count(func(n *NetworkMetrics) int64 { return n.Head }))
	family("tollbook_index_lag_blocks", "gauge", "Blocks to go, fills included.",
		count(func(n *NetworkMetrics) int64 { return n.Behind }))
	family("tollbook_index_lag_seconds", "gauge", "Age of the newest block that the head scan has committed.",
		func(n *NetworkMetrics) (float64, bool) {
			return now.Sub(n.BlockTime).Seconds(), !n.BlockTime.IsZero()
		})
	family("tollbook_index_calls_total", "counter", "Requests to nodes.",
		count(func(n *NetworkMetrics) int64 { return n.calls }))
	family("tollbook_index_settlements_total", "counter", "Settlements found that were new.",
		count(func(n *NetworkMetrics) int64 { return n.Settlements }))
	family("tollbook_index_rollbacks_total", "counter", "Reorganisations rolled back.",
		count(func(n *NetworkMetrics) int64 { return n.RollBacks }))
	family("tollbook_index_rolled_back_settlements_total", "counter", "Settlements that reorganisations took back.",
		count(func(n *NetworkMetrics) int64 { return n.RolledBack }))
	const errs = "tollbook_index_errors_total"
	fmt.Fprintf(b, "# HELP %s Requests to nodes that failed, by kind.\n# TYPE %s counter\n", errs, errs)
	for _, id := range ids {
		for _, kind := range slices.Sorted(maps.Keys(m.networks[id].errors)) {
			fmt.Fprintf(b, "%s{network=%q,kind=%q} %d\n", errs, id, kind, m.networks[id].errors[kind])
		}
	}
	return b.Flush()
}
