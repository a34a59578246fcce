package openapi

import (
	"regexp"
	"strings"

	"tollbook/site/routes"
)

// exampleFile selects an example among the files that a pattern matches: the one about the service of the examples, or
// else the first by name.
type exampleFile struct {
	pattern        string         // of the operation
	ext            string         // that follows the pattern in the name of a file
	prefix, suffix string         // of the names of the files
	own, any       *regexp.Regexp // files of the service of the examples, and all
	key            string         // of the file selected so far; "" if there is none
	isOwn          bool
	body           []byte
}

// newExampleFiles returns an exampleFile for each operation whose path does not follow from Segments: of files at paths
// of their own, and of routes with a variable part that no segment has.
func newExampleFiles(x Examples) []*exampleFile {
	var files []*exampleFile
	add := func(pattern, ext string) {
		path := strings.TrimPrefix(pattern, "/") + ext
		f := &exampleFile{pattern: pattern, ext: ext, any: pathExpression(path, nil),
			own: pathExpression(path, x.Segments)}
		f.prefix, _, _ = strings.Cut(path, "{")
		f.suffix = path[strings.LastIndex(path, "}")+1:]
		files = append(files, f)
	}
	for i := range routes.All {
		r := &routes.All[i]
		if _, ok := x.fill(r.Pattern); !ok && r.Ext == ".json" && r.Rule == routes.RuleLiteral {
			add(r.Pattern, r.Ext)
		}
	}
	for _, f := range routes.Files {
		add(f.Pattern, "")
	}
	for _, t := range routes.CSVs {
		add(t.Pattern, "")
	}
	return files
}

// pathExpression returns an expression for the paths of a pattern, with a group for each variable part. A part with a
// value has no other.
func pathExpression(pattern string, values map[string]string) *regexp.Regexp {
	var b strings.Builder
	for rest := pattern; ; {
		before, after, variable := strings.Cut(rest, "{")
		b.WriteString(regexp.QuoteMeta(before))
		if !variable {
			return regexp.MustCompile("^" + b.String() + "$")
		}
		name, tail, _ := strings.Cut(after, "}")
		form := "[^/]+"
		if s := routes.SegmentByName(name); s != nil {
			form = strings.Trim(s.Pattern, "^$")
		}
		if values[name] != "" {
			form = regexp.QuoteMeta(values[name])
		}
		b.WriteString("(?P<" + name + ">" + form + ")")
		rest = tail
	}
}

// isBetter reports whether the file with a key replaces the one selected so far.
func (f *exampleFile) isBetter(key string) bool {
	if !strings.HasPrefix(key, f.prefix) || !strings.HasSuffix(key, f.suffix) || !f.any.MatchString(key) {
		return false
	}
	isOwn := f.own.MatchString(key)
	return f.key == "" || isOwn && !f.isOwn || isOwn == f.isOwn && key <= f.key
}

// path returns the path of the request that the selected file answers.
func (f *exampleFile) path() string { return "/" + strings.TrimSuffix(f.key, f.ext) }
