// This part of the package draws the bars that a terminal shows while a command works. Without a terminal it draws
// nothing, and log lines say the same. It must never know what is counted.

package terminal

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"tollbook/output"
)

// interval is the shortest time between two drawings of a bar.
const interval = 100 * time.Millisecond

// isTerminal reports whether people watch a file.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// newBar returns a bar on stderr that is removed when it is finished.
func newBar(total int64, more ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, append([]progressbar.Option{
		progressbar.OptionSetWriter(os.Stderr), progressbar.OptionThrottle(interval),
		progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth(),
	}, more...)...)
}

// counter is a bar of things that are counted. The methods of a nil Counter do nothing.
type counter struct {
	verb string
	bar  *progressbar.ProgressBar
}

// NewCounter returns a bar with a verb such as "visited", or nil without a terminal.
func NewCounter(verb string) *counter {
	if !isTerminal(os.Stderr) {
		return nil
	}
	return &counter{verb: verb}
}

// Set draws how many of a total are done.
func (c *counter) Set(done, total int) {
	if c == nil {
		return
	}
	if c.bar == nil {
		c.bar = newBar(int64(total), progressbar.OptionSetDescription(c.verb), progressbar.OptionShowCount())
	}
	c.bar.ChangeMax(total)
	_ = c.bar.Set(done) // a bar that can't be drawn is no reason to stop
}

// Finish removes the bar.
func (c *counter) Finish() {
	if c != nil && c.bar != nil {
		_ = c.bar.Finish()
	}
}

// transfer is a bar of bytes and objects that are sent to a store. The methods of a nil Transfer do nothing.
type transfer struct {
	mu  sync.Mutex
	bar *progressbar.ProgressBar
}

// NewTransfer returns a bar, or nil without a terminal.
func NewTransfer() *transfer {
	if !isTerminal(os.Stderr) {
		return nil
	}
	return &transfer{bar: newBar(1, progressbar.OptionShowBytes(true))}
}

// Set draws the progress of a transfer. Several goroutines may call it.
func (t *transfer) Set(p output.Progress) {
	t.draw(p.Bytes, p.TotalBytes, fmt.Sprintf("%d of %d objects", p.Objects, p.TotalObjects))
}

// SetFiles draws the progress of a pull. Several goroutines may call it.
func (t *transfer) SetFiles(p output.PullProgress) {
	t.draw(p.Bytes, p.TotalBytes, fmt.Sprintf("%d of %d files", p.Files, p.TotalFiles))
}

func (t *transfer) draw(done, total int64, text string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bar.ChangeMax64(max(1, total))
	t.bar.Describe(text)
	_ = t.bar.Set64(done) // a bar that can't be drawn is no reason to stop
}

// Finish removes the bar.
func (t *transfer) Finish() {
	if t != nil {
		_ = t.bar.Finish()
	}
}
