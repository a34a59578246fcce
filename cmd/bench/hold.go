package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// hold is a name and a command line of a stage.
type hold struct{ name, args string }

// holds are the commands that measure everything that Tollbook promises to hold, with the sizes that the limits mean.
// Commands that take hours or much memory have a name of their own, so that they can be left out.
var holds = []hold{
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
var holdStage = stage{name: "hold", short: "run every stage that has a limit, and say what holds",
	flags: func(flags *flag.FlagSet) func(*bench) {
		names := func(what string) *[]string {
			var list []string
			flags.Func(what, "`names` separated by commas", func(text string) error {
				list = strings.Split(text, ",")
				for _, name := range list {
					if !slices.ContainsFunc(holds, func(h hold) bool { return h.name == name }) {
						return fmt.Errorf("nothing to hold is named %q", name)
					}
				}
				return nil
			})
			return &list
		}
		only, without := names("only"), names("without")
		other := map[string]*string{
			"runs":     flags.String("runs", "", "`number` of runs, where a command has one, in place of its own"),
			"services": flags.String("services", "", "`number` of services, likewise; the limits mean the command's own"),
		}
		return func(b *bench) { b.hold(*only, *without, other) }
	}}

func (b *bench) hold(only, without []string, other map[string]*string) {
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
		err := attempt(func() {
			cmd := b.program(nil, must(os.Executable()), args...)
			cmd.Stderr = os.Stderr
			out, _ := b.run(cmd)
			var r report
			check(json.Unmarshal(out, &r))
			misses += r.writeHolds(w, h.name)
		})
		if err != nil {
			misses++
			fmt.Fprintf(w, "failed\t%s\t%s\t\t\n", h.name, strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
	check(w.Flush())
	fmt.Print(table.String())
	if misses > 0 {
		failf("something misses its limit or failed")
	}
	check(b.ctx.Err())
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
