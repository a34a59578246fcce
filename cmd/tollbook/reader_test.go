package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tollbook/site/invisible"
)

var update = flag.Bool("update", false, "write what the commands print to testdata/commands.txtar")

// TestCommands compares what each command line of testdata/commands.txtar prints with that file: about a directory over
// HTTP, and about the same one in a data folder. Text for people has at most 80 columns and no invisible character.
func TestCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const file = "testdata/commands.txtar"
	golden, err := txtar.ParseFile(file)
	if err != nil || len(golden.Files) < 10 {
		t.Fatalf("%d command lines, %v", len(golden.Files), err)
	}
	for i, f := range golden.Files {
		t.Run(f.Name, func(t *testing.T) {
			status, byHTTP := runReader(t, append(splitLine(f.Name), "--directory", w.url)...)
			got := fmt.Sprintf("%sexit %d\n", strings.ReplaceAll(byHTTP, w.url, "DIRECTORY"), status)
			if *update {
				golden.Files[i].Data = []byte(got)
				return
			}
			if diff := cmp.Diff(string(f.Data), got); diff != "" {
				t.Errorf("it prints (-want +got):\n%s", diff)
			}
			again, byFolder := runReader(t, append(splitLine(f.Name), "--data", w.data)...)
			byFolder = fmt.Sprintf("%sexit %d\n", strings.ReplaceAll(byFolder, w.data+"/public", "DIRECTORY"), again)
			if diff := cmp.Diff(got, byFolder); diff != "" {
				t.Errorf("from the folder it prints (-HTTP +folder):\n%s", diff)
			}
			checkTerminal(t, got)
		})
	}
	t.Run("three users", func(t *testing.T) { testFindAsUsers(t, w) })
	if *update {
		if err := os.WriteFile(file, txtar.Format(golden), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// splitLine splits a command line at spaces, except between double quotes.
func splitLine(line string) (args []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			args = append(args, part)
			continue
		}
		args = append(args, strings.Fields(part)...)
	}
	return args
}

// checkTerminal checks that a terminal shows a text as it is: no control or invisible character, and, except in JSON,
// errors and commands to copy, at most 80 columns.
func checkTerminal(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if i := strings.IndexFunc(line, func(r rune) bool {
			return unicode.IsControl(r) || invisible.Is(r)
		}); i >= 0 {
			t.Errorf("a line contains the character %q: %q", line[i:min(len(line), i+4)], line)
		}
		if n := cells(line); n > columns && !strings.HasPrefix(text, "{") && !strings.HasPrefix(line, "tollbook: ") &&
			!strings.HasPrefix(line, "    curl ") && !strings.HasPrefix(line, "    tollbook ") {
			t.Errorf("a line has %d columns: %s", n, line)
		}
	}
}
