package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const (
	maxColumns = 120 // a tab is four
	maxWords   = 35

	longWord = 60  // characters of a word that may end after the last column, in data and in documents
	fullLine = 100 // characters of a word that fills a line
)

// columns returns the width of a line.
func columns(line string) (n int) {
	for _, r := range line {
		if r == '\t' {
			n += 4
		} else {
			n++
		}
	}
	return n
}

// wide returns the lines that end after column 120. A line with a word that fills a line by itself, such as a URL, is
// allowed. So are the data of tests and of formats: lines with a long word, and raw strings of tests.
func wide(file, text string) (faults []finding) {
	number, isData, isTest := 0, false, strings.HasSuffix(file, "_test.go")
	mayBeLong := isTest || !strings.HasSuffix(file, ".go")
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		wasData := isData
		if isTest && strings.Count(line, "`")%2 == 1 {
			isData = !isData
		}
		longest := longestWord(line)
		if columns(line) <= maxColumns || longest > fullLine || mayBeLong && longest > longWord || wasData || isData {
			continue
		}
		n := columns(line)
		faults = append(faults, finding{file + ":" + strconv.Itoa(number), fmt.Sprintf("%d columns; at most 120", n)})
	}
	return faults
}

func longestWord(line string) (n int) {
	for word := range strings.FieldsSeq(line) {
		n = max(n, len([]rune(word)))
	}
	return n
}

// document returns the faults of a Markdown file. Code, tables and quoted output are left out.
func document(file, text string) (faults []finding) {
	var block []string
	first, number, fenced := 1, 0, false
	flush := func() {
		faults = append(faults, prose(file, first, block)...)
		block = nil
	}
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			fenced = !fenced
			flush()
			continue
		}
		isCode := strings.HasPrefix(line, "    ") && len(block) == 0 || strings.HasPrefix(line, "\t")
		if fenced || isCode || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "<") {
			flush()
			continue
		}
		if n := columns(line); n > maxColumns && longestWord(line) <= longWord {
			faults = append(faults,
				finding{file + ":" + strconv.Itoa(number), fmt.Sprintf("%d columns; at most 120", n)})
		}
		heading := strings.HasPrefix(trimmed, "#")
		item := listItem.MatchString(trimmed)
		if heading || item || trimmed == "" {
			flush()
		}
		if trimmed == "" {
			continue
		}
		if len(block) == 0 {
			first = number
		}
		block = append(block, listItem.ReplaceAllString(strings.TrimLeft(trimmed, "# "), ""))
		if heading {
			flush()
		}
	}
	flush()
	return faults
}

var listItem = regexp.MustCompile(`^([-*+]|\d+[.)])\s+`)

// comments returns the faults of the comments of a file in another language than Go: lines that begin with //, -- or #.
func comments(file, text string) (faults []finding) {
	var block []string
	first, number := 1, 0
	for line := range strings.Lines(text) {
		number++
		mark := commentMark.FindString(line)
		if mark == "" {
			faults = append(faults, prose(file, first, block)...)
			block = nil
			continue
		}
		if len(block) == 0 {
			first = number
		}
		block = append(block, strings.TrimRight(line[len(mark):], "\r\n"))
	}
	return append(faults, prose(file, first, block)...)
}

var commentMark = regexp.MustCompile(`^\s*(//|--|#+)`)

var (
	sentenceEnd = regexp.MustCompile("[.!?][)\"'`*_]*\\s+[A-Z`\"(*0-9\\[]|[.!?][)\"'`*_]*$")
	// clause matches a sentence whose subject is a clause, such as "What fails is kept". A question is none.
	clause = regexp.MustCompile(`^(Who|Whoever|Whose|What|Whatever|That which|Those who|He who)\s`)
	shared = regexp.MustCompile(`\b(design|x402\.md|chains\.md|api\.md|peers\.md|words\.md|performance\.md|shared)\s*§|` +
		`\b(x402|chains|peers|style|words|performance)\.md\b|\.\./shared\b`)
)

// prose returns the faults of consecutive lines of text, the first of which is at line first. Lines that begin with a
// tab or three spaces are code.
func prose(file string, first int, lines []string) (faults []finding) {
	var sentence strings.Builder
	begin := first
	end := func() {
		faults = append(faults, judge(file, begin, strings.TrimSpace(sentence.String()))...)
		sentence.Reset()
	}
	for i, line := range lines {
		if shared.MatchString(line) {
			faults = append(faults, finding{file + ":" + strconv.Itoa(first+i),
				"cites a file that is not in the repository; cite the public source"})
		}
		if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "   ") || strings.TrimSpace(line) == "" ||
			strings.HasPrefix(line, "go:") || listItem.MatchString(strings.TrimSpace(line)) {
			end()
			if !listItem.MatchString(strings.TrimSpace(line)) {
				continue
			}
		}
		rest := " " + strings.TrimSpace(line)
		for {
			if sentence.Len() == 0 {
				begin = first + i
			}
			where := sentenceEnd.FindStringIndex(rest)
			if where == nil {
				sentence.WriteString(rest)
				break
			}
			stop := where[0] + 1
			sentence.WriteString(rest[:stop])
			end()
			rest = " " + strings.TrimLeft(rest[stop:], ")\"'`*_ ")
			if strings.TrimSpace(rest) == "" {
				break
			}
		}
	}
	end()
	return faults
}

// judge returns the faults of one sentence.
func judge(file string, line int, sentence string) (faults []finding) {
	where := file + ":" + strconv.Itoa(line)
	if n := len(strings.Fields(sentence)); n > maxWords {
		faults = append(faults, finding{where, fmt.Sprintf("sentence of %d words; at most 35: %s", n, start(sentence))})
	}
	if clause.MatchString(strings.TrimLeft(sentence, "*_`\"(- ")) && !strings.HasSuffix(sentence, "?") {
		faults = append(faults, finding{where, "a clause is the subject: " + start(sentence)})
	}
	return faults
}

// start returns the first words of a sentence.
func start(sentence string) string {
	words := strings.Fields(sentence)
	if len(words) > 8 {
		return strings.Join(words[:8], " ") + " …"
	}
	return strings.Join(words, " ")
}
