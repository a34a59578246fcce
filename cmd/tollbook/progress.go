package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
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
