package schema

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// sources are the packages with types of the contract, by their import paths.
var sources = map[string]fs.FS{
	reflect.TypeFor[site.Time]().PkgPath():      site.GoFiles,
	reflect.TypeFor[routes.Route]().PkgPath():   routes.GoFiles,
	reflect.TypeFor[encode.Framing]().PkgPath(): encode.GoFiles,
}

// isContract reports whether a type is one of the contract. Others, such as the health of a server, have schemas without
// descriptions.
func isContract(t reflect.Type) bool { return sources[t.PkgPath()] != nil }

// readComments returns the first paragraph of the comment above each type and each field, on one line. Its keys are
// "site.ServiceDetail" and "site.ServiceDetail.Slug".
var readComments = sync.OnceValues(func() (map[string]string, error) {
	comments := map[string]string{}
	for pkg, source := range sources {
		names, err := fs.Glob(source, "*.go")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := fs.ReadFile(source, name)
			if err != nil {
				return nil, err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, fmt.Errorf("read the comments of %s: %w", pkg, err)
			}
			addComments(comments, path.Base(pkg), file)
		}
	}
	return comments, nil
})

// addComments adds the comments of the struct types in a file.
func addComments(comments map[string]string, pkg string, file *ast.File) {
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			named, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			object, ok := named.Type.(*ast.StructType)
			if !ok {
				continue
			}
			key := pkg + "." + named.Name.Name
			doc := named.Doc
			if doc == nil {
				doc = group.Doc
			}
			comments[key] = firstParagraph(doc)
			for _, field := range object.Fields.List {
				for _, name := range field.Names {
					comments[key+"."+name.Name] = firstParagraph(field.Doc)
				}
			}
		}
	}
}

func firstParagraph(comment *ast.CommentGroup) string {
	text, _, _ := strings.Cut(comment.Text(), "\n\n")
	return strings.Join(strings.Fields(text), " ")
}

// describeType returns the description of a type: the comment without the name of the type, "" without a comment.
// "Tag is a category" and "Tag: a category" both describe a Tag as "A category".
func describeType(t reflect.Type) (string, error) {
	comments, err := readComments()
	if err != nil {
		return "", err
	}
	text := comments[t.String()]
	for _, verb := range []string{" is ", " says ", ": "} {
		if phrase, ok := strings.CutPrefix(text, t.Name()+verb); ok {
			return Sentence(phrase), nil
		}
	}
	return "", fmt.Errorf("type %s has no description; write one above it, such as: // %s is a …", t, t.Name())
}

// likePattern matches the comment of a field that has the description of another one.
var likePattern = regexp.MustCompile(`^As \[([A-Za-z0-9_.]+)\]\.$`)

// field is a field of a published type.
type field struct {
	reflect.StructField
	owner reflect.Type // that declares the field
}

func (f field) String() string { return f.owner.String() + "." + f.Name }

// name returns the name of the field in JSON.
func (f field) name() string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// own is the comment of a field that describes it.
type own struct {
	field
	text string
}

// ownComments contains the fields with a description of their own, by "site.Tag.Tag" and by their names in JSON.
type ownComments struct {
	byField map[string]own
	byName  map[string][]own
}

var readOwn = sync.OnceValues(func() (ownComments, error) {
	out := ownComments{map[string]own{}, map[string][]own{}}
	comments, err := readComments()
	for _, f := range publishedFields() {
		key := f.String()
		if text := comments[key]; text != "" && !likePattern.MatchString(text) {
			out.byField[key] = own{f, Sentence(text)}
			out.byName[f.name()] = append(out.byName[f.name()], out.byField[key])
		}
	}
	return out, err
})

// describe returns the description of a field, and the field above which it is written. That is the field itself, the
// field that its comment names ("As [ServiceListItem.Slug]."), or the only other one of its name in JSON with a comment.
func describe(f field) (string, field, error) {
	comments, err := readComments()
	if err != nil {
		return "", f, err
	}
	descriptions, err := readOwn()
	if err != nil {
		return "", f, err
	}
	key := f.String()
	if d, ok := descriptions.byField[key]; ok {
		return d.text, d.field, nil
	}
	if like := likePattern.FindStringSubmatch(comments[key]); like != nil {
		pkg, _, _ := strings.Cut(key, ".")
		d, ok := descriptions.byField[like[1]]
		if !ok {
			d, ok = descriptions.byField[pkg+"."+like[1]]
		}
		if !ok {
			return "", f, fmt.Errorf("field %s: %q names no published field with a description of its own", f, like[0])
		}
		return d.text, d.field, nil
	}
	switch same := descriptions.byName[f.name()]; len(same) {
	case 0:
		return "", f, fmt.Errorf("field %s (%s) has no description; write it above the field", f, f.name())
	case 1:
		return same[0].text, same[0].field, nil
	default:
		var fields []field
		for _, d := range same {
			fields = append(fields, d.field)
		}
		return "", f, fmt.Errorf("field %s (%s) has no description, and those of %s differ; write it above the field, or "+
			"name one of them there, as in: // As [%s]", f, f.name(), fields, fields[0])
	}
}

// publishedFields returns the fields of all types in responses, requests and files.
var publishedFields = sync.OnceValue(func() []field {
	w := walk{seen: map[reflect.Type]bool{}}
	for _, body := range routes.Responses {
		w.add(reflect.TypeOf(body))
	}
	for _, f := range routes.Files {
		w.add(reflect.TypeOf(f.Body))
	}
	for _, c := range routes.Calls {
		w.add(reflect.TypeOf(c.Body))
		w.add(reflect.TypeOf(c.Response))
	}
	for _, body := range append(site.ChangeSummaries, site.ErrorBody{}, site.CatalogueErrorBody{}) {
		w.add(reflect.TypeOf(body))
	}
	slices.SortFunc(w.fields, func(a, b field) int { return strings.Compare(a.String(), b.String()) })
	return w.fields
})

// walk collects the fields of named types.
type walk struct {
	seen   map[reflect.Type]bool
	fields []field
}

func (w *walk) add(t reflect.Type) {
	if t == nil {
		return
	}
	t = elementOf(t)
	if t.Kind() != reflect.Struct || w.seen[t] || known[t] != nil {
		return
	}
	w.seen[t] = true
	for i := range t.NumField() {
		f := field{t.Field(i), t}
		w.add(f.Type)
		if isNamed(t) && isMember(f) {
			w.fields = append(w.fields, f)
		}
	}
}
