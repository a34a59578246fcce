// Package compiled runs the templates of html/template in a fraction of their time: it makes closures of the trees that
// html/template has escaped, so that names are resolved once, text between values is copied whole, and what does not depend
// on data is worked out beforehand.
//
// It decides nothing about escaping: which escapers a value passes stands in the tree. What it does not know (an escaper, a
// builtin, a break) leaves a template to html/template, and so does whatever fails while it runs: then html/template runs
// again from the start and tells the fault in its own words. The same template and data give the same bytes either way;
// TestCompiled of package render and FuzzCompiled hold it to that.
//
// It must never know what a page is.
package compiled

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"sync"
)

// A Template may be run by several goroutines.
type Template struct {
	original *template.Template
	body     *body // nil where html/template does it all
	why      error
}

// Compile prepares the template of this name in t's set. The functions are those that t was parsed with; they must depend
// on their arguments alone, for one whose arguments are constant is called here. From here on t can't be cloned or added to.
func Compile(t *template.Template, name string, funcs template.FuncMap) (*Template, error) {
	original := t.Lookup(name)
	if original == nil {
		return nil, fmt.Errorf("compile template %q: it is not defined", name)
	}
	c := &Template{original: original}
	// Running it, on whatever data, has html/template escape it. What is wrong with it is told when it runs.
	_ = original.Execute(io.Discard, nil)
	compiler := compiler{set: t, funcs: funcs, bodies: map[string]*body{}}
	c.body, c.why = compiler.template(name)
	if c.why != nil {
		c.body = nil
	}
	return c, nil
}

// Why says what html/template has to do itself, nil when nothing.
func (t *Template) Why() error { return t.why }

// Interpreted is the same template run by html/template.
func (t *Template) Interpreted() *Template {
	return &Template{original: t.original, why: errInterpreted}
}

var errInterpreted = errors.New("it is to be interpreted")

// Append appends what the template makes of data.
func (t *Template) Append(b []byte, data any) ([]byte, error) {
	if t.body != nil {
		if out, ok := t.run(b, data); ok {
			return out, nil
		}
	}
	buffer := bytes.NewBuffer(b)
	if err := t.original.Execute(buffer, data); err != nil {
		return b, err
	}
	return buffer.Bytes(), nil
}

// states are the stacks of templates that are not running.
var states = sync.Pool{New: func() any { return new(state) }}

// run is Append by closures; not ok is whatever they can't do.
func (t *Template) run(b []byte, data any) (out []byte, ok bool) {
	s := states.Get().(*state)
	defer func() {
		if recover() != nil {
			out, ok = b, false // html/template tells why
		}
		*s = state{vars: s.vars[:cap(s.vars)]}
		clear(s.vars) // what they held is to be forgotten
		s.vars = s.vars[:0]
		states.Put(s)
	}()
	s.out = b
	s.call(t.body, value{any: reflect.ValueOf(data)})
	return s.out, true
}

// state is a run.
type state struct {
	out   []byte
	dot   value
	vars  []value // of the bodies under way, one's after its caller's
	base  int     // where those of the innermost begin
	depth int
}

// maxDepth is how deep bodies may call each other here: html/template allows more.
const maxDepth = 1000

// body is a template.
type body struct {
	ops  []op
	vars int // at once, with $
}

type (
	op       func(*state)
	evaluate func(*state) value
)

func (s *state) call(b *body, dot value) {
	if s.depth++; s.depth > maxDepth {
		panic(errors.New("templates call each other too deep"))
	}
	outer, base := s.dot, s.base
	s.base = len(s.vars)
	for range b.vars {
		s.vars = append(s.vars, value{})
	}
	s.dot, s.vars[s.base] = dot, dot
	s.do(b.ops)
	s.vars = s.vars[:s.base]
	s.dot, s.base = outer, base
	s.depth--
}

func (s *state) do(ops []op) {
	for _, op := range ops {
		op(s)
	}
}
