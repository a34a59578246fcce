package compiled

import (
	"encoding/json"
	"fmt"
	"html/template"
	"reflect"
	"strconv"
	"strings"
	"text/template/parse"
)

// The escapers of html/template, by the names that its trees call them by. What each does to a text is written here once
// more, for html/template doesn't give them away; FuzzCompiled holds them to the originals.
const prefix = "_html_template_"

// kind says what a value is by its type: text, or safe for some place.
type kind int

const (
	plain kind = iota
	safeHTML
	safeURL
)

var (
	htmlType = reflect.TypeFor[template.HTML]()
	urlType  = reflect.TypeFor[template.URL]()
	intType  = reflect.TypeFor[int]()
	int64T   = reflect.TypeFor[int64]()
)

func isEscaper(cmd *parse.CommandNode) bool {
	f, ok := cmd.Args[0].(*parse.IdentifierNode)
	return ok && len(cmd.Args) == 1 && strings.HasPrefix(f.Ident, prefix)
}

// transform is an escaper whose outcome is a text that another escapes.
type transform func(text string, k kind) string

// finish is an escaper that appends.
type finish func(b []byte, text string, k kind) []byte

var transforms = map[string]transform{
	"urlfilter":     filterURL,
	"urlnormalizer": func(text string, _ kind) string { return percent(text, true) },
	"urlescaper":    func(text string, k kind) string { return percent(text, k == safeURL) },
}

var finishes = map[string]finish{
	"htmlescaper": func(b []byte, text string, k kind) []byte {
		if k == safeHTML {
			return append(b, text...)
		}
		return appendEscaped(b, text, &entities)
	},
	"rcdataescaper": func(b []byte, text string, k kind) []byte {
		if k == safeHTML {
			return appendEscaped(b, text, &entitiesButAmp)
		}
		return appendEscaped(b, text, &entities)
	},
	"attrescaper": func(b []byte, text string, k kind) []byte {
		if k == safeHTML {
			panic(fmt.Errorf("HTML in an attribute: its tags are to be stripped"))
		}
		return appendEscaped(b, text, &entities)
	},
}

// escape is what the escapers of an action do together: those before the last change the text, the last writes it.
func escape(cmds []*parse.CommandNode) (func(*state, value), error) {
	names := make([]string, len(cmds))
	for i, cmd := range cmds {
		names[i] = strings.TrimPrefix(cmd.Args[0].(*parse.IdentifierNode).Ident, prefix)
	}
	if len(names) == 1 && names[0] == "jsvalescaper" {
		return escapeScript, nil
	}
	last := finishes[names[len(names)-1]]
	var before []transform
	for i, name := range names {
		if f := transforms[name]; f != nil && i < len(names)-1 {
			before = append(before, f)
		} else if i < len(names)-1 || last == nil {
			return nil, fmt.Errorf("escaper %s", name)
		}
	}
	return func(s *state, v value) {
		if len(before) == 0 && v.isText {
			s.out = last(s.out, v.text, plain)
			return
		}
		if len(before) == 0 && v.any.IsValid() {
			if t := v.any.Type(); t == intType || t == int64T {
				s.out = last(s.out, strconv.FormatInt(v.any.Int(), 10), plain)
				return
			}
		}
		text, k := textOf(v)
		for _, f := range before {
			text, k = f(text, k), plain
		}
		s.out = last(s.out, text, k)
	}, nil
}

// script is html/template's own escaper of values in scripts.
var script = template.Must(template.New("").Parse(`<script>{{.}}</script>`))

// Script is a list or an object that appends what json.Marshal makes of it.
type Script interface {
	AppendJSON(b []byte) ([]byte, error)
}

func escapeScript(s *state, v value) {
	if !v.isText && v.any.IsValid() && v.any.CanInterface() {
		if own, ok := v.any.Interface().(Script); ok {
			s.out = must(own.AppendJSON(s.out))
			return
		}
	}
	if text, ok := scriptOf(v); ok {
		s.out = append(s.out, text...)
		return
	}
	var b strings.Builder
	if err := script.Execute(&b, v.boxed()); err != nil {
		panic(err)
	}
	s.out = append(s.out, strings.TrimSuffix(strings.TrimPrefix(b.String(), "<script>"), "</script>")...)
}

// scriptOf is what that escaper makes of a list or an object: encoding/json's words, which hold no character that ends a
// script, and which no blank need keep from its neighbours.
func scriptOf(v value) ([]byte, bool) {
	if v.isText || !v.any.IsValid() || !v.any.CanInterface() {
		return nil, false
	}
	t := v.any.Type()
	if k := t.Kind(); k != reflect.Map && k != reflect.Slice || t.NumMethod() > 0 && !t.Implements(marshalerType) {
		return nil, false
	}
	text, err := json.Marshal(v.any.Interface())
	return text, err == nil && (text[0] == '{' || text[0] == '[')
}

var marshalerType = reflect.TypeFor[json.Marshaler]()

// textOf is what a value reads as.
func textOf(v value) (string, kind) {
	if v.isText {
		return v.text, plain
	}
	r := v.any
	for r.Kind() == reflect.Pointer && !r.IsNil() && r.Type().NumMethod() == 0 {
		r = r.Elem()
	}
	switch {
	case !r.IsValid():
		return "", plain
	case r.Type() == textType:
		return r.String(), plain
	case r.Type() == htmlType:
		return r.String(), safeHTML
	case r.Type() == urlType:
		return r.String(), safeURL
	case r.Type().PkgPath() == htmlType.PkgPath():
		panic(fmt.Errorf("text of %s", r.Type()))
	case r.Kind() == reflect.Interface && r.IsNil():
		return "", plain
	}
	for r.Kind() == reflect.Pointer && !r.IsNil() && !r.Type().Implements(stringerType) && !r.Type().Implements(errorType) {
		r = r.Elem()
	}
	return fmt.Sprint(r.Interface()), plain
}

var stringerType = reflect.TypeFor[fmt.Stringer]()

// entities are what characters of HTML's own are written as.
var entities = [256]string{0: "\uFFFD", '"': "&#34;", '&': "&amp;", '\'': "&#39;", '+': "&#43;", '<': "&lt;", '>': "&gt;"}

// entitiesButAmp leave entities in the text as they are.
var entitiesButAmp = [256]string{0: "\uFFFD", '"': "&#34;", '\'': "&#39;", '+': "&#43;", '<': "&lt;", '>': "&gt;"}

func appendEscaped(b []byte, text string, table *[256]string) []byte {
	written := 0
	for i := range len(text) {
		if e := table[text[i]]; e != "" {
			b = append(append(b, text[written:i]...), e...)
			written = i + 1
		}
	}
	return append(b, text[written:]...)
}

// unsafeURL is what html/template writes in place of an address that could run.
const unsafeURL = "#ZgotmplZ"

// filterURL lets through addresses without a scheme, or with one that can't run.
func filterURL(text string, k kind) string {
	if k == safeURL {
		return text
	}
	if scheme, _, ok := strings.Cut(text, ":"); ok && !strings.Contains(scheme, "/") &&
		!strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "mailto") {
		return unsafeURL
	}
	return text
}

// percent writes each byte that may not stand in a URL, or in a part of one, by its number.
func percent(text string, whole bool) string {
	var b []byte
	written := 0
	for i := range len(text) {
		c := text[i]
		if isOfURL[c] || whole && (isBetween[c] || c == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2])) {
			continue
		}
		b = fmt.Appendf(append(b, text[written:i]...), "%%%02x", c)
		written = i + 1
	}
	if written == 0 {
		return text
	}
	return string(append(b, text[written:]...))
}

// What stands in any part of a URL as it is, and what between its parts.
var (
	isOfURL   = setOf("-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
	isBetween = setOf("!#$&*+,/:;=?@[]")
)

func setOf(chars string) (set [256]bool) {
	for i := range len(chars) {
		set[chars[i]] = true
	}
	return set
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
