package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// instead maps a forbidden word to the field's term.
var instead = map[string]string{
	"turn":     "say job, page parameters, step",
	"lately":   "say cache",
	"asked":    "say query, request, admission filter",
	"known":    "say what it is: index, set, list",
	"paging":   "say list template, pagination",
	"shelf":    "say buffer",
	"sheet":    "say buffer",
	"carry":    "say incremental, copy",
	"carried":  "say copied, reused",
	"basis":    "say input",
	"remains":  "say summary",
	"standing": "say rank",
	"sight":    "say state",
	"told":     "say index, report",
	"glance":   "say directory reader",
	"earlier":  "say previous",
	"kept":     "say stored, retained",
	"ahead":    "say read-ahead, future",
	"together": "say coalescer, batch",
	"joint":    "say batch",
	"given":    "say value, argument",
	"heard":    "say honoured headers",
	"unheard":  "say ignored headers",
	"wave":     "say batch",
	"found":    "say ok, result, match",
	"loose":    "say unpacked",
	"laid":     "say written",
	"made":     "say created",
	"twin":     "say Markdown page",
	"edition":  "say render context",
	"manners":  "say HTTP policy",
	"takings":  "say revenue",
	"flows":    "say settlement totals",
	"tally":    "say counter",
	"movers":   "say largest changes",
	"tells":    "say returns",
	"hears":    "say reads",
	"believes": "say accepts",
	"whoever":  "say who it is",
}

// parts are the words that may not even be a part of a name.
var parts = map[string]bool{
	"lately": true, "shelf": true, "carried": true, "told": true, "glance": true, "heard": true, "unheard": true,
	"laid": true, "twin": true, "manners": true, "takings": true, "movers": true, "tells": true, "hears": true,
	"believes": true, "edition": true, "whoever": true,
}

// forbidden returns the word of the table that a name is or contains, "" for none.
func forbidden(name string) string {
	words := split(name)
	for _, word := range words {
		if parts[word] || parts[strings.TrimSuffix(word, "s")] {
			if parts[word] {
				return word
			}
			return strings.TrimSuffix(word, "s")
		}
	}
	if len(words) == 1 && instead[words[0]] != "" {
		return words[0]
	}
	return ""
}

// split returns the words of a name in mixed caps or with underscores, in lower case.
func split(name string) (words []string) {
	word := ""
	runes := []rune(name)
	for i, r := range runes {
		begins := unicode.IsUpper(r) && (i > 0 && !unicode.IsUpper(runes[i-1]) ||
			i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if begins || r == '_' || r == '-' || r == '.' {
			if word != "" {
				words = append(words, word)
			}
			word = ""
		}
		if r != '_' && r != '-' && r != '.' {
			word += string(unicode.ToLower(r))
		}
	}
	if word != "" {
		words = append(words, word)
	}
	return words
}

// goFile returns the faults of the names and comments of a Go file.
func goFile(file, text string) (faults []finding) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return []finding{{file + ":1", err.Error()}}
	}
	at := func(p token.Pos) string { return file + ":" + strconv.Itoa(set.Position(p).Line) }
	name := func(id *ast.Ident) {
		if word := forbidden(id.Name); word != "" {
			faults = append(faults, finding{at(id.Pos()), fmt.Sprintf("name %s: %s", id.Name, instead[word])})
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			name(n.Name)
		case *ast.TypeSpec:
			name(n.Name)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				name(id)
			}
		case *ast.Field:
			for _, id := range n.Names {
				if !isContract(n, id.Name) {
					name(id)
				}
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if id, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					name(id)
				}
			}
		case *ast.RangeStmt:
			for _, left := range []ast.Expr{n.Key, n.Value} {
				if id, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					name(id)
				}
			}
		}
		return true
	})
	for _, group := range f.Comments {
		faults = append(faults, prose(file, set.Position(group.Pos()).Line, uncommented(group))...)
	}
	return faults
}

// isContract reports whether a field is named after its key in JSON, which is public.
func isContract(field *ast.Field, name string) bool {
	if field.Tag == nil {
		return false
	}
	tag, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return false
	}
	key, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return strings.EqualFold(strings.ReplaceAll(key, "_", ""), name)
}

// uncommented returns the lines of a comment without their marks.
func uncommented(group *ast.CommentGroup) (lines []string) {
	for _, c := range group.List {
		text := strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/")
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if line == c.Text {
				line = strings.TrimPrefix(line, "//")
			}
			lines = append(lines, line)
		}
	}
	return lines
}
