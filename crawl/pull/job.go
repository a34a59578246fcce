package pull

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"time"

	"tollbook/crawl/facts"
	"tollbook/crawl/source"
	"tollbook/site/postgres/sources"
)

// job is one pull of one source.
type job struct {
	*Puller
	of     Source
	state  sources.State
	number int64
	lock   *sources.Lock
	status int // of the last response; 0 before the first
	report Report
}

// run reads the source, decides whether the answer is believed, and stores it. Its error is that of the database or of
// ctx; a source's own failure is stored.
func (j *job) run(ctx context.Context) error {
	result, answer, err := j.read(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errUnchanged):
		j.report.Outcome, j.report.Rows = sources.Unchanged, j.state.Accepted.Resources
		return j.store.Unchange(ctx, j.state.ID, j.number, j.o.Now(), j.due())
	case err == nil && len(result.Rows) == 0 && j.state.Accepted == nil:
		err = errors.New("the answer lists nothing")
	}
	if err != nil {
		return j.fail(ctx, err)
	}
	if err := j.store.Stage(ctx, j.state.ID, j.number, resourcesOf(result.Rows)); err != nil {
		return err
	}
	result.Rows = nil // hundreds of thousands
	if last := j.state.Accepted; last != nil && answer.Resources*2 < last.Resources {
		j.report.Outcome = sources.Held
		return j.store.Hold(ctx, j.state.ID, j.number, answer, j.due())
	}
	if err := j.list(ctx, j.number); err != nil {
		return err
	}
	// A crash here leaves services that the source lists, and no fact that it lists them. The next pull stores it.
	j.report.Outcome = sources.Accepted
	j.report.Counts, err = j.store.Accept(ctx, j.state, j.number, answer, j.due())
	return err
}

func (j *job) due() time.Time { return j.o.Now().Add(j.of.Period) }

// Pauses after pulls that failed.
const (
	firstRetry = 5 * time.Minute
	lastRetry  = 24 * time.Hour
)

// fail stores a failure. The next pull waits twice as long each time, and at least as long as the source asks.
func (j *job) fail(ctx context.Context, cause error) error {
	j.report.Outcome, j.report.Error = sources.Failed, cause.Error()
	pause := min(firstRetry<<min(j.state.Failures, 10), lastRetry)
	var status errStatus
	if errors.As(cause, &status) {
		pause = max(pause, status.after)
	}
	now := j.o.Now()
	return j.store.Fail(ctx, j.state.ID, j.number, clean(cause.Error(), 500), j.status, now, now.Add(pause))
}

// errUnchanged says that a source has nothing new.
var errUnchanged = errors.New("the source has not changed")

// read reads a whole source, page by page.
func (j *job) read(ctx context.Context) (result source.Result, answer sources.Answer, err error) {
	kind, ok := source.KindOf(j.of.Kind)
	if !ok {
		return result, answer, fmt.Errorf("unknown kind %q", j.of.Kind)
	}
	address, err := url.Parse(j.of.Address)
	if err != nil {
		return result, answer, errors.New("the address is not a URL")
	}
	walk, sum := source.NewWalk(kind, address, j.visitor.CheckURL), sha256.New()
	var got facts.SourceAnswer
	for u := walk.Next(); u != nil; u = walk.Next() {
		var v facts.Validators
		// Hosts that did not answer are asked again when a whole answer names them.
		if !kind.IsPaged() && j.of.Take != TakeAnswering && j.state.Accepted != nil {
			v = facts.Validators{ETag: j.state.ETag, LastModified: j.state.LastModified}
		}
		if got, err = j.fetch(ctx, u.String(), kind.Accept, v); err != nil {
			return result, answer, fmt.Errorf("page %d: %w", walk.Result().Pages+1, err)
		}
		if err := walk.Read(got.Body); err != nil {
			return result, answer, fmt.Errorf("page %d: %w", walk.Result().Pages+1, err)
		}
		sum.Write(got.Body)
		answer.Bytes += int64(len(got.Body))
		if j.o.Page != nil {
			j.o.Page(j.of.Name, len(walk.Result().Rows))
		}
	}
	result = walk.Result()
	if !result.Complete() {
		return result, answer, fmt.Errorf("the source was not read to its end: %s after %d pages and %d resources",
			result.End, result.Pages, len(result.Rows))
	}
	answer.EndedAt, answer.Pages, answer.SHA256 = j.o.Now(), result.Pages, sum.Sum(nil)
	answer.Resources, answer.Skipped = len(result.Rows), len(result.Skipped)+result.Omitted
	answer.Moved = result.Moved
	if !kind.IsPaged() {
		answer.ETag, answer.LastModified = got.Validators.ETag, got.Validators.LastModified
	}
	j.report.Pages, j.report.Bytes, j.report.Rows, j.report.Skipped = answer.Pages, answer.Bytes, answer.Resources,
		answer.Skipped
	return result, answer, nil
}

// Pauses between two requests for one page.
const (
	firstBackoff = time.Second
	lastBackoff  = 32 * time.Second
)

// fetch requests a page. After a 429 or 5xx it tries again, after pauses that double.
func (j *job) fetch(ctx context.Context, address, accept string, v facts.Validators) (facts.SourceAnswer, error) {
	for pause := firstBackoff; ; pause *= 2 {
		a, err := j.visitor.FetchSource(ctx, address, accept, v, source.MaxBytes)
		j.status = a.Status
		switch {
		case err != nil:
			return a, err
		case a.Status == 200:
			return a, nil
		case a.Status == 304 && v != facts.Validators{}:
			return a, errUnchanged
		case (a.Status == 429 || a.Status >= 500) && pause <= lastBackoff && a.RetryAfter <= lastBackoff:
			if err := j.o.Wait(ctx, max(pause, a.RetryAfter)); err != nil {
				return a, err
			}
		default:
			return a, errStatus{a.Status, a.RetryAfter}
		}
	}
}
