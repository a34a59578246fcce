package pull

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
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
	case errors.Is(err, ErrNoContact):
		return err // the source did not fail
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
	if answer.Missing, err = j.store.CountMissing(ctx, j.state.ID, j.number); err != nil {
		return err
	}
	// Counts alone would not do: an answer may replace what the source listed by as many others.
	if answer.Missing*2 > j.state.Listed && !answer.Partial {
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
	var status *facts.StatusError
	if errors.As(cause, &status) {
		j.status, pause = status.Status, max(pause, status.After)
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
		r := facts.SourceRequest{URL: u.String(), Accept: kind.Accept, Wait: j.o.Wait}
		// Hosts that did not answer are asked again when a whole answer names them.
		if !kind.IsPaged() && j.of.Take != TakeAnswering && j.state.Accepted != nil {
			r.Validators = facts.Validators{ETag: j.state.ETag, LastModified: j.state.LastModified}
		}
		j.status = 0
		if got, err = j.visitor.FetchSource(ctx, r); err != nil {
			return result, answer, fmt.Errorf("page %d: %w", walk.Result().Pages+1, err)
		}
		if got.Unchanged {
			return result, answer, errUnchanged
		}
		j.status = http.StatusOK
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
	answer.Partial = result.End == source.Partial
	if !result.Complete() && !answer.Partial {
		return result, answer, fmt.Errorf("the source was not read to its end: %s after %d pages and %d resources",
			result.End, result.Pages, len(result.Rows))
	}
	answer.EndedAt, answer.Pages, answer.SHA256 = j.o.Now(), result.Pages, sum.Sum(nil)
	answer.Resources, answer.Skipped = len(result.Rows), result.Reasons.Total()
	answer.Moved = result.Moved
	if answer.Partial && j.state.Listed+answer.Resources > source.MaxRows {
		return result, answer, fmt.Errorf("the source hides a part of its list, and the parts so far have %d resources",
			j.state.Listed)
	}
	if !kind.IsPaged() {
		answer.ETag, answer.LastModified = got.Validators.ETag, got.Validators.LastModified
	}
	j.report.Pages, j.report.Bytes, j.report.Rows, j.report.Skipped = answer.Pages, answer.Bytes, answer.Resources,
		answer.Skipped
	j.report.Reasons, j.report.Partial = result.Reasons, answer.Partial
	return result, answer, nil
}
