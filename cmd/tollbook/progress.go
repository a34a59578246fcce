package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"tollbook/output"
)

// progress is a bar on a terminal and nothing elsewhere, where log lines say the same.
type progress struct {
	what string
	bar  *progressbar.ProgressBar
	w    io.Writer
}

// newProgress names what is counted: "visited", "built".
func newProgress(what string) *progress {
	if !isTerminal(os.Stderr) {
		return nil
	}
	return &progress{what: what, w: os.Stderr}
}

// set moves the bar; done and total are counts of services.
func (p *progress) set(done, total int) {
	if p == nil {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(p.what), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(true),
			progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth())
	}
	p.bar.ChangeMax(total)
	_ = p.bar.Set(done) // a bar that can't be drawn is no reason to stop
}

// finish takes the bar away.
func (p *progress) finish() {
	if p != nil && p.bar != nil {
		_ = p.bar.Finish()
	}
}

// transfer is a bar of bytes and objects on the way to a store, on a terminal.
type transfer struct {
	mu  sync.Mutex
	bar *progressbar.ProgressBar
}

func newTransfer() *transfer {
	if !isTerminal(os.Stderr) {
		return nil
	}
	return &transfer{bar: progressbar.NewOptions64(1,
		progressbar.OptionSetWriter(os.Stderr), progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth())}
}

// set moves the bar; several goroutines call it.
func (t *transfer) set(p output.Progress) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bar.ChangeMax64(max(1, p.TotalBytes))
	t.bar.Describe(fmt.Sprintf("%d of %d objects", p.Objects, p.TotalObjects))
	_ = t.bar.Set64(p.Bytes) // a bar that can't be drawn is no reason to stop
}

// finish takes the bar away.
func (t *transfer) finish() {
	if t != nil {
		_ = t.bar.Finish()
	}
}
