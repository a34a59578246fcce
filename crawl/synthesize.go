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

// Synthesis says which model summarises services. Without a client there are no summaries.
type Synthesis struct {
	Client *model.Client
	PerDay int // most questions in a UTC day, over all crawlers of a database
}

// How often the hash of a service's input is computed, how many questions run at once, and when a round gives up on the
// model's endpoint.
const (
	inputEvery    = time.Hour
	inputLease    = 10 * time.Minute
	takeInputs    = 16
	maxQuestions  = 4
	askLease      = 10 * time.Minute // far longer than a question takes
	faultsInARow  = 3
	synthesisIdle = time.Minute
	synthesisRest = 15 * time.Minute // after a round that gave up
)

// SynthesisReport counts the results of a round of questions to the model.
type SynthesisReport struct {
	Asked    int            `json:"asked"`             // requests sent, counted against the day's questions
	Accepted int            `json:"kept"`              // accepted answers
	Refused  map[string]int `json:"refused"`           // other answers by the reason for their refusal
	Spent    bool           `json:"spent"`             // the day's questions ran out before all services were done
	Stopped  string         `json:"stopped,omitempty"` // why the round gave up on the endpoint
}

// Synthesize asks the model about every service whose input changed since its last answer, the newest change first, as
// far as the day's questions last. It stores accepted answers. For a refused answer it stores the reason, and the
// service is asked about again after a pause. It ends early when ctx ends or when the endpoint keeps failing.
func (c *Crawler) Synthesize(ctx context.Context) (SynthesisReport, error) {
	q := &questions{c: c, report: SynthesisReport{Refused: map[string]int{}}}
	if c.o.Synthesis.Client == nil {
		return q.report, nil
	}
	if err := c.updateInputs(ctx); err != nil {
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
	for range maxQuestions {
		running.Go(func() {
			for ctx.Err() == nil && !q.isOver() {
				if more, err := q.askNext(ctx); err != nil {
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

// updateInputs computes the inputs that are due and stores their hashes.
func (c *Crawler) updateInputs(ctx context.Context) error {
	now := c.o.Now()
	for {
		due, err := c.db.TakeInputs(ctx, now, inputLease, takeInputs)
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

// questions is the state of one round.
type questions struct {
	c          *Crawler
	categories []string

	mu          sync.Mutex
	consecutive int // consecutive faults of the endpoint
	report      SynthesisReport
}

func (q *questions) isOver() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.report.Stopped != "" || q.report.Spent
}

// askNext asks about one service. It returns false when no service is left or the day's questions are used up.
func (q *questions) askNext(ctx context.Context) (bool, error) {
	c, client := q.c, q.c.o.Synthesis.Client
	s, err := c.db.TakeQuestion(ctx, c.o.Now(), client.Model(), synthesis.PromptVersion, c.o.Synthesis.PerDay, askLease)
	switch {
	case errors.Is(err, postgres.ErrDailyLimit):
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
	// The input may have changed since its hash was stored.
	err = c.db.RecordInput(ctx, s.ID, question.InputHash, c.o.Now(), c.o.Now().Add(c.jitter(inputEvery)))
	if err != nil {
		return false, err
	}
	text, err := client.Ask(ctx, synthesis.Instructions(q.categories), in.Document(), "service",
		synthesis.Schema(q.categories))
	if ctx.Err() != nil {
		return false, nil // the question is asked again when its lease ends
	}
	if err == nil {
		answer, refused := synthesis.Read([]byte(text), q.categories)
		if refused == nil {
			q.count("", nil)
			c.o.Logger.Info("synthesis", "service", s.Slug, "kept", true)
			err := c.db.StoreSynthesis(ctx, s.ID,
				postgres.SynthesisFacts{Question: question, AskedAt: c.o.Now(), Answer: *answer})
			if err == nil && c.o.Changed != nil {
				c.o.Changed(nil)
			}
			return true, err
		}
		err = refused
	}
	return true, q.storeRefusal(ctx, s, question, err)
}

// storeRefusal stores the reason why a question has no accepted answer.
func (q *questions) storeRefusal(ctx context.Context, s *postgres.ServiceFacts, question postgres.Question,
	why error) error {
	reason, now := "failed", q.c.o.Now()
	notBefore := now
	var refused *synthesis.Fault
	var failed *model.Fault
	switch {
	case errors.As(why, &refused):
		reason = refused.Reason
	case errors.As(why, &failed):
		reason, notBefore = failed.Reason, now.Add(failed.Wait)
	}
	q.count(reason, failed)
	q.c.o.Logger.LogAttrs(ctx, slog.LevelWarn, "synthesis", slog.String("service", s.Slug), slog.Bool("kept", false),
		slog.Any("error", why))
	if reason == model.NoSchema {
		return q.c.db.ReleaseQuestion(ctx, s.ID) // the client sends no schema from now on
	}
	return q.c.db.StoreSynthesisFailure(ctx, s.ID, question, reason, now, notBefore)
}

// count counts a question that was sent. reason is "" for an accepted answer; fault is nil if the model answered.
func (q *questions) count(reason string, fault *model.Fault) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.report.Asked++
	if reason == "" {
		q.report.Accepted++
	} else {
		q.report.Refused[reason]++
	}
	if fault == nil || fault.Ours {
		q.consecutive = 0
		return
	}
	if q.consecutive++; fault.Fatal || fault.Wait > 0 || q.consecutive >= faultsInARow {
		q.report.Stopped = fault.Error()
	}
}

// runSynthesize asks the model as inputs change until ctx ends.
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
