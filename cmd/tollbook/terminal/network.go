package terminal

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"tollbook/crawl/chain"
	"tollbook/site/x402"
)

// logInterval is the time between two log lines on one network while its reader catches up.
const logInterval = 10 * time.Second

// networkProgress shows how far networks have been read: one bar for all on a terminal, log lines elsewhere.
type networkProgress struct {
	log *slog.Logger
	bar *progressbar.ProgressBar // nil without a terminal

	mu       sync.Mutex
	networks map[string]*network
}

type network struct {
	chain.Progress
	behindMax int64 // the largest distance since the reader was last at the head
	logged    time.Time
}

// NewNetworkProgress returns the progress of no network yet.
func NewNetworkProgress(log *slog.Logger) *networkProgress {
	p := &networkProgress{log: log, networks: map[string]*network{}}
	if isTerminal(os.Stderr) {
		p.bar = newBar(1)
	}
	return p
}

// Set records and shows the progress of one network. Several goroutines may call it.
func (p *networkProgress) Set(now chain.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.networks[now.Network]
	if n == nil {
		n = &network{}
		p.networks[now.Network] = n
	}
	arrived := now.Behind == 0 && (n.Behind > 0 || n.logged.IsZero())
	if n.Behind == 0 {
		n.behindMax = 0
	}
	n.Progress, n.behindMax = now, max(n.behindMax, now.Behind)
	if p.bar != nil {
		p.draw()
		return
	}
	if at := time.Now(); arrived || at.Sub(n.logged) >= logInterval {
		n.logged = at
		p.log.Info("indexed", "network", now.Network, "block", now.Block, "head", now.Head, "behind", now.Behind,
			"settlements", now.Settlements)
	}
}

// draw shows how much is done of the largest distance that each network had.
func (p *networkProgress) draw() {
	var done, total int64
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(p.networks)) {
		n := p.networks[id]
		done, total = done+n.behindMax-n.Behind, total+n.behindMax
		unit := "settlers"
		if strings.HasPrefix(id, "eip155:") {
			unit = "blocks"
		}
		parts = append(parts, fmt.Sprintf("%s %d %s behind", cmp.Or(x402.Abbreviation(id), id), n.Behind, unit))
	}
	p.bar.ChangeMax64(max(total, 1))
	p.bar.Describe(strings.Join(parts, ", "))
	// A full bar would be removed. A bar that can't be drawn is no reason to stop.
	_ = p.bar.Set64(min(done, max(total, 1)-1))
}

// Finish removes the bar.
func (p *networkProgress) Finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
