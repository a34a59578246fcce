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

// Metrics counts what indexers do, by network, and tells it in the text format of Prometheus. Any number of indexers may
// share it.
type Metrics struct {
	mu       sync.Mutex
	networks map[string]*networkMetrics
}

type networkMetrics struct {
	head, behind int64
	blockTime    time.Time // of the newest block that the head scan committed
	calls        int64
	errors       map[string]int64 // by kind
	settlements  int64
	rollBacks    int64
	rolledBack   int64 // settlements that roll-backs took
}

// NewMetrics counts from nothing.
func NewMetrics() *Metrics { return &Metrics{networks: map[string]*networkMetrics{}} }

// at runs f on the counts of a network, alone.
func (m *Metrics) at(network string, f func(*networkMetrics)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.networks[network]
	if n == nil {
		n = &networkMetrics{errors: map[string]int64{}}
		m.networks[network] = n
	}
	f(n)
}

func (m *Metrics) call(network string) { m.at(network, func(n *networkMetrics) { n.calls++ }) }

func (m *Metrics) failure(network, kind string) {
	m.at(network, func(n *networkMetrics) { n.errors[kind]++ })
}

// sums are the calls and errors of a network so far.
func (m *Metrics) sums(network string) (calls, errors int64) {
	m.at(network, func(n *networkMetrics) {
		calls = n.calls
		for _, count := range n.errors {
			errors += count
		}
	})
	return calls, errors
}

// Write tells everything, networks and kinds in their order. A network whose head scan has committed nothing has no lag in
// seconds: unknown is not zero.
func (m *Metrics) Write(w io.Writer, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := bufio.NewWriter(w)
	ids := slices.Sorted(maps.Keys(m.networks))
	family := func(name, kind, help string, value func(*networkMetrics) (float64, bool)) {
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		for _, id := range ids {
			if v, known := value(m.networks[id]); known {
				fmt.Fprintf(b, "%s{network=%q} %g\n", name, id, v)
			}
		}
	}
	count := func(get func(*networkMetrics) int64) func(*networkMetrics) (float64, bool) {
		return func(n *networkMetrics) (float64, bool) { return float64(get(n)), true }
	}
	family("tollbook_index_head_block", "gauge", "Newest confirmed block of the chain.", count(func(n *networkMetrics) int64 { return n.head }))
	family("tollbook_index_lag_blocks", "gauge", "Blocks to go, fills included.", count(func(n *networkMetrics) int64 { return n.behind }))
	family("tollbook_index_lag_seconds", "gauge", "Age of the newest block that the head scan has committed.", func(n *networkMetrics) (float64, bool) {
		return now.Sub(n.blockTime).Seconds(), !n.blockTime.IsZero()
	})
	family("tollbook_index_calls_total", "counter", "Requests to nodes.", count(func(n *networkMetrics) int64 { return n.calls }))
	family("tollbook_index_settlements_total", "counter", "Settlements found that were new.", count(func(n *networkMetrics) int64 { return n.settlements }))
	family("tollbook_index_rollbacks_total", "counter", "Reorganisations rolled back.", count(func(n *networkMetrics) int64 { return n.rollBacks }))
	family("tollbook_index_rolled_back_settlements_total", "counter", "Settlements that reorganisations took back.", count(func(n *networkMetrics) int64 { return n.rolledBack }))
	const errs = "tollbook_index_errors_total"
	fmt.Fprintf(b, "# HELP %s Requests to nodes that failed, by kind.\n# TYPE %s counter\n", errs, errs)
	for _, id := range ids {
		for _, kind := range slices.Sorted(maps.Keys(m.networks[id].errors)) {
			fmt.Fprintf(b, "%s{network=%q,kind=%q} %d\n", errs, id, kind, m.networks[id].errors[kind])
		}
	}
	return b.Flush()
}
