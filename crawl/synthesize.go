package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tollbook/crawl/model"
	"tollbook/site/postgres"
	"tollbook/site/synthesis"
)

// Synthesis says which model is asked about services. Without a client none is.
type Synthesis struct {
	Client *model.Client
	PerDay int // questions in a UTC day at most, by all crawlers of a database together
}

// How often a service's input is made anew, how many are asked about at once, and when a round gives up on its
// endpoint.
const (
	inputEvery    = time.Hour
	inputLease    = 10 * time.Minute
	takeInputs    = 16
	askers        = 4
	askLease      = 10 * time.Minute // a question ends long before
	faultsInARow  = 3
	synthesisIdle = time.Minute
	synthesisRest = 15 * time.Minute // after a round that gave up
)

// Synthesized counts what a round of questions to the model came to.
type Synthesized struct {
	Asked   int            `json:"asked"`             // requests, of the day's questions
	Kept    int            `json:"kept"`              // answers that count
	Refused map[string]int `json:"refused"`           // the others by their reason
	Spent   bool           `json:"spent"`             // services were left because the day's questions are all asked
	Stopped string         `json:"stopped,omitempty"` // why the endpoint was not asked further
}

// Synthesize asks the model about every service whose input changed since it last answered, the newest change first, as
// far as the day's questions go. What it answers is kept where it counts; why it does not is kept apart, and that
// service is asked about again after a pause. It ends early when ctx does, or when the endpoint answers nothing.
func (c *Crawler) Synthesize(ctx context.Context) (Synthesized, error) {
	q := &questions{c: c, report: Synthesized{Refused: map[string]int{}}}
	if c.o.Synthesis.Client == nil {
		return q.report, nil
	}
	if err := c.lookAtInputs(ctx); err != nil {
		return q.report, err
	}
	inUse, err := c.db.CategoriesInUse(ctx)
	if err != nil {
		return q.report, err
	}
	q.categories = synthesis.Categories(inUse)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for range askers {
		running.Go(func() {
			for ctx.Err() == nil && !q.over() {
				if more, err := q.next(ctx); err != nil {
					cancel(err)
				} else if !more {
					return
				}
			}
		})
	}
	running.Wait()
	return q.report, context.Cause(ctx)
}

// lookAtInputs makes the inputs anew that are due, and keeps their hashes.
func (c *Crawler) lookAtInputs(ctx context.Context) error {
	now := c.o.Now()
	for {
		due, err := c.db.DueInputs(ctx, now, inputLease, takeInputs)
		if err != nil || len(due) == 0 {
			return err
		}
		for i := range due {
			hash := synthesis.InputOf(&due[i], synthesis.Capture).Hash()
			if err := c.db.RecordInput(ctx, due[i].ID, hash, now, now.Add(c.jitter(inputEvery))); err != nil {
				return err
			}
		}
	}
}

// questions is a round of them.
type questions struct {
	c          *Crawler
	categories []string

	mu     sync.Mutex
	row    int // faults of the endpoint in a row
	report Synthesized
}

func (q *questions) over() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.report.Stopped != "" || q.report.Spent
}

// next asks about one service; it answers false when there is none left to ask about.
func (q *questions) next(ctx context.Context) (bool, error) {
	c, client := q.c, q.c.o.Synthesis.Client
	s, err := c.db.TakeQuestion(ctx, c.o.Now(), client.Model(), synthesis.PromptVersion, c.o.Synthesis.PerDay, askLease)
	switch {
	case errors.Is(err, postgres.ErrSpent):
		q.mu.Lock()
		defer q.mu.Unlock()
		q.report.Spent = true
		return false, nil
	case err != nil:
		return false, err
	case s == nil:
		return false, nil
	}
	in := synthesis.InputOf(s, synthesis.Capture)
	question := postgres.Question{InputHash: in.Hash(), ModelID: client.Model(), PromptVersion: synthesis.PromptVersion}
	if err := c.db.RecordInput(ctx, s.ID, question.InputHash, c.o.Now(),
		c.o.Now().Add(c.jitter(inputEvery))); err != nil {
		return false, err // it may have changed since it was looked at
	}
	text, err := client.Ask(ctx, synthesis.Instructions(q.categories), in.Document(), "service",
		synthesis.Schema(q.categories))
	if ctx.Err() != nil {
		return false, nil // asked again when its lease is over
	}
	if err == nil {
		answer, unread := synthesis.Read([]byte(text), q.categories)
		if unread == nil {
			q.count("", nil)
			c.o.Logger.Info("synthesis", "service", s.Slug, "kept", true)
			err := c.db.KeepSynthesis(ctx, s.ID,
				postgres.SynthesisFacts{Question: question, AskedAt: c.o.Now(), Answer: *answer})
			if err == nil && c.o.Changed != nil {
				c.o.Changed(nil)
			}
			return true, err
		}
		err = unread
	}
	return true, q.refuse(ctx, s, question, err)
}

// refuse keeps why a question has no answer that counts.
func (q *questions) refuse(ctx context.Context, s *postgres.ServiceFacts, question postgres.Question, why error) error {
	reason, now := "failed", q.c.o.Now()
	notBefore := now
	var unread *synthesis.Fault
	var unanswered *model.Fault
	switch {
	case errors.As(why, &unread):
		reason = unread.Reason
	case errors.As(why, &unanswered):
		reason, notBefore = unanswered.Reason, now.Add(unanswered.Wait)
	}
	q.count(reason, unanswered)
	q.c.o.Logger.LogAttrs(ctx, slog.LevelWarn, "synthesis", slog.String("service", s.Slug), slog.Bool("kept", false),
		slog.Any("error", why))
	if reason == model.NoSchema {
		return q.c.db.ReleaseQuestion(ctx, s.ID) // the client asks without one from now on
	}
	return q.c.db.KeepSynthesisFailure(ctx, s.ID, question, reason, now, notBefore)
}

// count counts a question that was sent; reason is "" when its answer counts, fault is nil when there was any.
func (q *questions) count(reason string, fault *model.Fault) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.report.Asked++
	if reason == "" {
		q.report.Kept++
	} else {
		q.report.Refused[reason]++
	}
	if fault == nil || fault.Ours {
		q.row = 0
		return
	}
	if q.row++; fault.Fatal || fault.Wait > 0 || q.row >= faultsInARow {
		q.report.Stopped = fault.Error()
	}
}

// runSynthesize asks as inputs change until ctx ends.
func (c *Crawler) runSynthesize(ctx context.Context) error {
	for {
		report, err := c.Synthesize(ctx)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("synthesize: %w", err)
		}
		pause := synthesisIdle
		if report.Stopped != "" {
			pause = synthesisRest
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}
