package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/crawl/list"
	"tollbook/site/postgres"
)

// listServices is a list of services that is to be applied.
type listServices struct {
	Name          string // of the file or URL, in messages
	Data          []byte
	Prune         bool // retire the services of a list that this list lacks
	NewCategories bool // accept categories that are not in use
	Actor         string
	One           bool // the list is one entry of a command line: nothing is said about other services
}

// errMeanwhile says that a plan is out of date.
var errMeanwhile = errors.New("nothing was changed: the directory changed meanwhile; run the command again")

// Plan reads the list and compares it with the directory.
func (l *listServices) Plan(ctx context.Context, db *run.Database) (*list.Plan, error) {
	has, err := db.Listed(ctx)
	if err != nil {
		return nil, err
	}
	return l.plan(has)
}

func (l *listServices) plan(has postgres.Listed) (*list.Plan, error) {
	o := list.Options{Name: l.Name, Now: run.Now(), NoPlaces: l.One}
	if !l.NewCategories {
		o.Categories = list.Categories(has)
	}
	entries, err := list.Read(bytes.NewReader(l.Data), o)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s contains no service; write an object of a JSON list, or a [[service]] table of a "+
			"TOML file, for each", l.Name)
	}
	plan, err := list.NewPlan(entries, o, has, l.Prune)
	if err == nil && l.One {
		plan.Missing = 0
		plan.NoteFiles()
	}
	return plan, err
}

// Write writes a plan. It changes nothing if the directory changed since.
func (l *listServices) Write(ctx context.Context, db *run.Database, plan *list.Plan) error {
	if plan.IsEmpty() {
		return nil
	}
	return db.ChangeListings(ctx, l.Actor, run.Now(), func(has postgres.Listed) (postgres.ListingChanges, error) {
		now, err := l.plan(has)
		if err != nil {
			return postgres.ListingChanges{}, err
		}
		if !isSame(plan, now) {
			return postgres.ListingChanges{}, errMeanwhile
		}
		return now.Changes(), nil
	})
}

func isSame(a, b *list.Plan) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// fail adds to an error that nothing was changed.
func fail(err error) error {
	if errors.Is(err, errMeanwhile) || errors.Is(err, context.Canceled) {
		return err
	}
	sep := " "
	if n := strings.Count(err.Error(), "\n"); n > 0 || errors.As(err, new(*list.Fault)) {
		sep = "\n"
	}
	return fmt.Errorf("nothing was changed:%s%w", sep, err)
}

// applyFile applies the file of the configuration at the start of a program, without asking.
func applyFile(ctx context.Context, db *run.Database, file string, prune bool, logger *slog.Logger) error {
	data, err := settings.ReadFile(file, list.MaxBytes)
	if err != nil {
		return fmt.Errorf("services.file: %w", err)
	}
	l := &listServices{Name: file, Data: data, Prune: prune, Actor: "configuration"}
	for {
		plan, err := l.Plan(ctx, db)
		if err == nil {
			err = l.Write(ctx, db, plan)
		}
		switch {
		case errors.Is(err, errMeanwhile): // by another process that starts
			continue
		case err != nil:
			return fmt.Errorf("services.file: %w", fail(err))
		}
		logger.InfoContext(ctx, "services applied", "file", file, "added", len(plan.Add), "changed", len(plan.Change),
			"retired", len(plan.Retire), "unchanged", plan.Unchanged, "missing", plan.Missing)
		for _, n := range plan.Notes {
			logger.InfoContext(ctx, "service left as it is", "service", n.Slug, "reason", n.Text)
		}
		return nil
	}
}

// Run plans a list, asks if it removes something, writes the plan and prints it. It prints the plan before it asks. A
// plan that fails without a question is not printed.
func (l *listServices) Run(ctx context.Context, db *run.Database, o applyMode, s streams) error {
	plan, err := l.Plan(ctx, db)
	if err != nil {
		return fail(err)
	}
	show := func() error {
		if o.JSON {
			return nil
		}
		return printPlan(s.Out, plan, l)
	}
	asks := plan.Removes() && !o.Yes && !o.DryRun
	if asks {
		if err := show(); err != nil {
			return err
		}
		if err := o.consent(ctx, plan, s); err != nil {
			return err
		}
	}
	if !o.DryRun {
		if err := l.Write(ctx, db, plan); err != nil {
			return fail(err)
		}
	}
	if !asks {
		if err := show(); err != nil {
			return err
		}
	}
	return printApplied(s.Out, plan, o)
}

// consent asks whether a plan may remove what it removes.
func (o *applyMode) consent(ctx context.Context, plan *list.Plan, s streams) error {
	what := describeRemoval(plan)
	yes, err := confirm(ctx, s.In, s.Err, "Go on and "+what+"?")
	switch {
	case errors.Is(err, errNoTerminal):
		return fmt.Errorf("nothing was changed: the plan would %s; run the command again with --yes to allow it", what)
	case err != nil:
		return err
	case !yes:
		return errors.New("nothing was changed")
	}
	return nil
}

func describeRemoval(plan *list.Plan) string {
	var parts []string
	if n := len(plan.Retire); n > 0 {
		parts = append(parts, "retire "+count(n, "service"))
	}
	endpoints := 0
	for _, c := range plan.Change {
		endpoints += len(c.Erases)
	}
	if endpoints > 0 {
		parts = append(parts, "erase the prices of "+count(endpoints, "endpoint"))
	}
	return strings.Join(parts, " and ")
}

// count returns "1 service" or "2 services".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
