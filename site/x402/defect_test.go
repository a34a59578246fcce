package x402

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestDefectCodes(t *testing.T) {
	t.Parallel()
	list := DefectCodes()
	if !slices.IsSortedFunc(list, func(a, b DefectCode) int { return strings.Compare(a.Code, b.Code) }) {
		t.Error("codes are not in order")
	}
	form := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	for i, c := range list {
		if !form.MatchString(c.Code) || !strings.HasSuffix(c.Meaning, ".") || i > 0 && list[i-1].Code == c.Code {
			t.Errorf("%q: %q", c.Code, c.Meaning)
		}
	}
}

// TestEveryCodeIsDescribed reads the constants of defect.go and checks that each has a meaning.
func TestEveryCodeIsDescribed(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("defect.go")
	if err != nil {
		t.Fatal(err)
	}
	constants := regexp.MustCompile(`(?m)^\t(\w+) += "(\w+)"$`).FindAllSubmatch(source, -1)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var rest []byte
	for _, file := range files {
		if file != "defect.go" && !strings.HasSuffix(file, "_test.go") {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rest = append(rest, text...)
		}
	}
	if len(constants) != len(DefectCodes()) {
		t.Errorf("%d constants, %d described codes", len(constants), len(DefectCodes()))
	}
	for _, c := range constants {
		if !slices.ContainsFunc(DefectCodes(), func(d DefectCode) bool { return d.Code == string(c[2]) }) {
			t.Errorf("%s has no meaning", c[2])
		}
		if !regexp.MustCompile(`\b` + string(c[1]) + `\b`).Match(rest) {
			t.Errorf("%s is never recorded", c[1])
		}
	}
}
