package main

import (
	"strings"
	"testing"

	"tollbook/site/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestCheck(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 36))
	for _, test := range []struct {
		about, file, text string
		want              []string // "line: beginning of the fault"
	}{
		{"plain code", "a.go", "package a\n\n// Count returns the number of rows.\nfunc Count() int { return 0 }\n",
			nil},
		{"metaphor within a name", "a.go", "package a\n\ntype httpManners struct{}\n",
			[]string{"a.go:3: name httpManners"}},
		{"data of a test", "a_test.go", "package a\n\nvar a = `\n" + strings.Repeat("word ", 30) + "`\n", nil},
		{"participle as a name", "a.go", "package a\n\nfunc f() { found := 1; _ = found }\n",
			[]string{"a.go:3: name found"}},
		{"participle as an adjective", "a.go", "package a\n\nvar knownHosts []string\n", nil},
		{"key of the contract", "a.go", "package a\n\ntype t struct {\n\tGiven int `json:\"given\"`\n}\n", nil},
		{"file", "twin.go", "package a\n", []string{`twin.go:1: file name contains "twin"`}},
		{"column 121", "a.go", "package a\n\nvar a = 1" + strings.Repeat(" + 1", 30) + "\n",
			[]string{"a.go:3: 129 columns"}},
		{"long word in code", "a.go", "package a\n\nvar a = \"" + strings.Repeat("word ", 10) +
			strings.Repeat("a", 70) + "\"\n", []string{"a.go:3: 130 columns"}},
		{"long word in a test", "a_test.go", "package a\n\nvar a = \"" + strings.Repeat("word ", 10) +
			strings.Repeat("a", 70) + "\"\n", nil},
		{"long URL", "a.go", "package a\n\n// See https://a.test/" + strings.Repeat("a", 120) + "\n", nil},
		{"clause as subject", "a.go", "package a\n\n// It reads. Whoever asks waits.\nvar a int\n",
			[]string{"a.go:3: a clause is the subject: Whoever asks waits."}},
		{"question", "a.md", "What does it cost?\n", nil},
		{"long sentence over lines", "a.md", "Short.\n\n" + strings.ReplaceAll(long, " ", "\n") + ".\n",
			[]string{"a.md:3: sentence of 36 words"}},
		{"sentences in a list", "a.md", "- " + long[:100] + "\n- " + long[:100] + "\n", nil},
		{"code in a document", "a.md", "```\nWhat is here\n```\n", nil},
		{"file that is elsewhere", "a.go", "package a\n\n// See x402.md §8.\nvar a int\n",
			[]string{"a.go:3: cites a file"}},
		{"comment in SQL", "a.sql", "-- Who waits is lost.\nSELECT 1;\n", []string{"a.sql:1: a clause is the subject"}},
	} {
		faults := check(test.file, test.text)
		if len(faults) != len(test.want) {
			t.Errorf("%s: got %q, want %q", test.about, faults, test.want)
			continue
		}
		for i, f := range faults {
			if got := f.where + ": " + f.fault; !strings.HasPrefix(got, test.want[i]) {
				t.Errorf("%s: got %q, want %q", test.about, got, test.want[i])
			}
		}
	}
}
