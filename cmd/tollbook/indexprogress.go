package main

import (
	"cmp"
	"fmt"
	"io"
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

// logIndexEvery is the time between two log lines on the same network while it catches up.
const logIndexEvery = 10 * time.Second

// indexProgress tells how far networks have been read: one bar for all on a terminal, log lines elsewhere.
type indexProgress struct {
	log *slog.Logger
	bar *progressbar.ProgressBar // nil without a terminal

	mu       sync.Mutex
	networks map[string]*indexedNetwork
}

type indexedNetwork struct {
	chain.Progress
	most   int64 // that it has been behind since it was last at the head
	logged time.Time
}

func newIndexProgress(log *slog.Logger) *indexProgress {
	p := &indexProgress{log: log, networks: map[string]*indexedNetwork{}}
	if isTerminal(os.Stderr) {
		p.bar = newIndexBar(os.Stderr)
	}
	return p
}

func newIndexBar(w io.Writer) *progressbar.ProgressBar {
	return progressbar.NewOptions64(1, progressbar.OptionSetWriter(w), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth())
}

// set takes in the progress of one network; several call it.
func (p *indexProgress) set(now chain.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.networks[now.Network]
	if n == nil {
		n = &indexedNetwork{}
		p.networks[now.Network] = n
	}
	arrived := now.Behind == 0 && (n.Behind > 0 || n.logged.IsZero())
	if n.Behind == 0 {
		n.most = 0
	}
	n.Progress, n.most = now, max(n.most, now.Behind)
	if p.bar != nil {
		p.draw()
		return
	}
	if at := time.Now(); arrived || at.Sub(n.logged) >= logIndexEvery {
		n.logged = at
		p.log.Info("indexed", "network", now.Network, "block", now.Block, "head", now.Head, "behind", now.Behind, "settlements", now.Settlements)
	}
}

// draw moves the bar: what is done of what each network had to do when it was behind most.
func (p *indexProgress) draw() {
	var done, total int64
	var words []string
	for _, id := range slices.Sorted(maps.Keys(p.networks)) {
		n := p.networks[id]
		done, total = done+n.most-n.Behind, total+n.most
		unit := "blocks"
		if strings.HasPrefix(id, "solana:") {
			unit = "settlers"
		}
		words = append(words, fmt.Sprintf("%s %d %s behind", cmp.Or(x402.Abbreviation(id), id), n.Behind, unit))
	}
	p.bar.ChangeMax64(max(total, 1))
	p.bar.Describe(strings.Join(words, ", "))
	_ = p.bar.Set64(min(done, max(total, 1)-1)) // full, it would be taken away; and one that can't be drawn is no reason to stop
}

// unitOf is what is read of a network: the blocks of EVM chains, and on Solana the signatures of settlers.
func unitOf(network string) string {
	if strings.HasPrefix(network, "solana:") {
		return "signatures"
	}
	return "blocks"
}

// finish takes the bar away.
func (p *indexProgress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
