// Command words checks how the repository is written: names, the width of lines, the length and the subjects of
// sentences in comments and documents, and the subjects of commits. It judges words, not style.
//
// Usage: go run ./.ci/words [-summary] [PATH...]. Without a path it checks every tracked file and the commits.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// finding is one fault. Where is file:line or a commit.
type finding struct{ where, fault string }

func main() {
	summary := flag.Bool("summary", false, "print the number of faults per folder instead of each fault")
	flag.Parse()
	files, err := tracked(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(2)
	}
	var faults []finding
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, "words:", err)
			os.Exit(2)
		}
		faults = append(faults, check(file, string(text))...)
	}
	if flag.NArg() == 0 {
		subjects, err := commits()
		if err != nil {
			fmt.Fprintln(os.Stderr, "words:", err)
			os.Exit(2)
		}
		faults = append(faults, subjects...)
	}
	report(faults, *summary)
	if len(faults) > 0 {
		fmt.Fprintf(os.Stderr, "words: %d faults\n", len(faults))
		os.Exit(1)
	}
}

// report prints each fault as "where: fault", or with summary their number per folder.
func report(faults []finding, summary bool) {
	if !summary {
		for _, f := range faults {
			fmt.Printf("%s: %s\n", f.where, f.fault)
		}
		return
	}
	folders := map[string]int{}
	for _, f := range faults {
		folders[path.Dir(f.where)]++
	}
	names := make([]string, 0, len(folders))
	for name := range folders {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Printf("%6d %s\n", folders[name], name)
	}
}

// check returns the faults of one file. A kind of file that it does not know has none.
func check(file, text string) []finding {
	var faults []finding
	switch path.Ext(file) {
	case ".go":
		faults = append(wide(file, text), goFile(file, text)...)
	case ".md":
		faults = document(file, text)
	case ".sql", ".js", ".mjs", ".ts", ".css", ".sh", ".yaml", ".yml", ".toml":
		faults = append(wide(file, text), comments(file, text)...)
	}
	if word := forbidden(strings.TrimSuffix(path.Base(file), path.Ext(file))); word != "" {
		faults = append(faults, finding{file + ":1", fmt.Sprintf("file name contains %q; %s", word, instead[word])})
	}
	return faults
}

// tracked returns the files of the repository below paths, all of them without one. Test data is left out: it is
// what others write.
func tracked(paths []string) ([]string, error) {
	out, err := exec.Command("git", append([]string{"ls-files", "-z", "--"}, paths...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("list tracked files: %w", err)
	}
	files := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	return slices.DeleteFunc(files, func(file string) bool {
		return strings.Contains(file, "testdata/") || strings.Contains(file, "package-lock")
	}), nil
}

// firstSubject is the commit after which subjects are checked; older ones can't be changed.
const firstSubject = "b54553a"

// commits returns the commits whose subject is longer than 72 characters. A clone without the history has none.
func commits() ([]finding, error) {
	if exec.Command("git", "cat-file", "-e", firstSubject+"^{commit}").Run() != nil {
		return nil, nil
	}
	out, err := exec.Command("git", "log", "--no-merges", "--format=%h %s", firstSubject+"..HEAD").Output()
	if err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	var faults []finding
	for line := range strings.Lines(string(out)) {
		hash, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n := len([]rune(subject)); n > 72 {
			faults = append(faults, finding{hash, fmt.Sprintf("subject of %d characters; at most 72", n)})
		}
	}
	return faults, nil
}
