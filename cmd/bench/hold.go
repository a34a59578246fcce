package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// holds are the commands that measure everything that Tollbook promises to hold, with the sizes that the limits mean.
// Commands that take hours or much memory have a name of their own, so that they can be left out.
var holds = []struct {
	name string
	args string
}{
	{"relevance", "relevance"},
	{"clone", "clone"},
	{"tests", "clone -tests"},
	{"ci", "clone -ci"},
	{"html", "html -services 2000 -runs 5"},
	{"probe", "probe -services 5000 -runs 5"},
	{"chain", "chain -blocks 5000 -runs 5"},
	{"ingest", "ingest -services 20000 -runs 5"},
	{"publish", "publish -services 2000 -runs 5"},
	{"read", "read -services 20000 -runs 5"},
	{"search", "search -services 20000 -runs 3"},
	{"freshness", "freshness -services 2000"},
	{"snapshot", "snapshot -services 20000 -runs 5"},
	{"scale", "snapshot -scale 20000,200000 -runs 2"},
}

// holdStage runs the other stages, each in a process of its own, and prints a table of everything that has a limit.
var holdStage = stage{"hold", "run every stage that has a limit, and say what holds",
	func(flags *flag.FlagSet) func(context.Context, *report) error {
		var names []string
		for _, h := range holds {
			names = append(names, h.name)
		}
		only := flags.String("only", "", "`names` of what to run, separated by commas: "+strings.Join(names, ", "))
		without := flags.String("without", "", "`names` of what to leave out")
		other := map[string]*string{
			"runs":     flags.String("runs", "", "`number` of runs, where a command has one, in place of its own"),
			"services": flags.String("services", "", "`number` of services, likewise; the limits mean the command's own"),
		}
		return func(ctx context.Context, _ *report) error {
			return holdAll(ctx, split(*only), split(*without), other)
		}
	}}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

func holdAll(ctx context.Context, only, without []string, other map[string]*string) error {
	for _, name := range slices.Concat(only, without) {
		if !slices.ContainsFunc(holds, func(h struct{ name, args string }) bool { return h.name == name }) {
			return fmt.Errorf("%w: nothing to hold is named %q", errUsage, name)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	misses := 0
	for _, h := range holds {
		if len(only) > 0 && !slices.Contains(only, h.name) || slices.Contains(without, h.name) {
			continue
		}
		args := strings.Fields(h.args)
		for name, value := range other {
			if i := slices.Index(args, "-"+name); i >= 0 && *value != "" {
				args[i+1] = *value
			}
		}
		log.Printf("\n== go run ./cmd/bench %s", strings.Join(args, " "))
		cmd := program(ctx, nil, self, args...)
		cmd.Stderr = os.Stderr
		out, _, err := run(cmd)
		if err != nil {
			misses++
			fmt.Fprintf(w, "failed\t%s\t%s\t\t\n", h.name, strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		var r report
		if err := json.Unmarshal(out, &r); err != nil {
			return fmt.Errorf("read the report of %s: %w", h.name, err)
		}
		misses += r.writeHolds(w, h.name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Print(table.String())
	if misses > 0 {
		return errors.New("something misses its limit or failed")
	}
	return ctx.Err()
}

// writeHolds writes a line for each result with a limit, and returns how many miss it.
func (r *report) writeHolds(w *tabwriter.Writer, name string) (misses int) {
	for _, l := range r.Results {
		if l.Verdict == "" {
			continue
		}
		if l.Verdict != "hold" {
			misses++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%v\t%s\n", l.Verdict, name, l.What, l.measured(), l.Limit, r.Commit)
	}
	return misses
}
