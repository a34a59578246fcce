package compiled

import (
	"errors"
	"fmt"
	"html/template"
	"reflect"
	"sync/atomic"
)

// value is what an expression gives. Most are texts, and a reflect.Value of one would be an allocation.
type value struct {
	text   string
	any    reflect.Value // anything else; not valid is nothing at all
	isText bool
}

var (
	textType    = reflect.TypeFor[string]()
	errorType   = reflect.TypeFor[error]()
	drawingType = reflect.TypeFor[Drawing]()
	errNil      = errors.New("nothing is there")
)

// valueOf is a value that was read from another: of an empty interface what it holds. One that holds nothing stays what it is: it has
// no fields and fits no parameter, where nothing at all has any field, and nil for a pointer.
func valueOf(v reflect.Value) value {
	if v.Kind() == reflect.Interface && v.NumMethod() == 0 && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() == reflect.String && v.Type() == textType {
		return value{text: v.String(), isText: true}
	}
	return value{any: v}
}

// held is the value at the end of a command, where an empty interface that holds nothing is nothing.
func (v value) held() value {
	if !v.isText && v.any.Kind() == reflect.Interface && v.any.NumMethod() == 0 {
		return value{}
	}
	return v
}

// concrete is what any interface holds.
func (v value) concrete() value {
	if !v.isText && v.any.Kind() == reflect.Interface {
		return valueOf(v.any.Elem())
	}
	return v
}

// reflected is the value for reflect.
func (v value) reflected() reflect.Value {
	if v.isText {
		return reflect.ValueOf(v.text)
	}
	return v.any
}

// boxed is the value as an argument of type any.
func (v value) boxed() any {
	if v.isText {
		return v.text
	}
	if !v.any.IsValid() {
		return nil
	}
	return v.any.Interface()
}

// Drawing is markup that appends itself: in an action that is {{.Chart.HTML}} it does so where it stands.
type Drawing func(b []byte) []byte

// HTML is the markup by itself.
func (d Drawing) HTML() template.HTML { return template.HTML(d(nil)) }

// drawing is the value if it is one.
func (v value) drawing() (Drawing, bool) {
	if v.isText || !v.any.IsValid() || v.any.Type() != drawingType {
		return nil, false
	}
	draw, ok := v.any.Interface().(Drawing)
	return draw, ok && draw != nil
}

// truth is what if and with make of a value.
func (v value) truth() bool {
	if v.isText {
		return v.text != ""
	}
	r := v.concrete()
	if r.isText {
		return r.text != ""
	}
	switch r := r.any; r.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Bool:
		return r.Bool()
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return r.Len() > 0
	case reflect.Pointer, reflect.Interface, reflect.Func, reflect.Chan:
		return !r.IsNil()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return r.Int() != 0
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return r.Uint() != 0
	case reflect.Float32, reflect.Float64:
		return r.Float() != 0
	case reflect.Struct:
		return true
	default:
		panic(fmt.Errorf("the truth of %s", r.Type()))
	}
}

// list is what a loop goes over, not valid for nothing.
func (v value) list() reflect.Value {
	if v.isText {
		panic(errors.New("a loop over a text"))
	}
	r := v.any
	for r.Kind() == reflect.Pointer || r.Kind() == reflect.Interface {
		if r.IsNil() {
			panic(errNil)
		}
		r = r.Elem()
	}
	switch r.Kind() {
	case reflect.Slice, reflect.Array, reflect.Invalid:
		return r
	}
	panic(fmt.Errorf("a loop over %s", r.Type()))
}

// ofDot is a chain that begins with a field of the dot.
func ofDot(names []string) expr {
	f := &field{name: names[0]}
	return chain(expr{eval: func(s *state) value { return f.read(&s.dot) }, last: f}, names[1:])
}

// chain is a field of a field, or a method that takes nothing.
func chain(e expr, names []string) expr {
	for _, name := range names {
		f, of := &field{name: name}, e.eval
		e = expr{eval: func(s *state) value {
			v := of(s)
			return f.read(&v)
		}, last: f}
	}
	return e
}

// field reads a name of whatever has it. It remembers where it found the name last: a template is mostly given the same type.
type field struct {
	name  string
	ends  bool // a command
	found atomic.Pointer[place]
}

// place is where a type has a name.
type place struct {
	of        reflect.Type
	addressed bool
	index     []int // of a field, through those that it is embedded in
	method    int   // where index is nil
	text      bool  // the field is a string
	empty     bool  // it is an empty interface
}

func (f *field) read(v *value) value {
	if v.isText {
		panic(fmt.Errorf("%s of a text", f.name))
	}
	r := v.any
	if !r.IsValid() {
		return value{}
	}
	for r.Kind() == reflect.Pointer || r.Kind() == reflect.Interface {
		if r.IsNil() {
			panic(errNil)
		}
		r = r.Elem()
	}
	if r.Kind() == reflect.Map {
		return f.entry(r)
	}
	at := f.found.Load()
	if at == nil || at.of != r.Type() || at.addressed != r.CanAddr() {
		at = f.find(r)
		f.found.Store(at)
	}
	if at.index == nil {
		if at.addressed {
			r = r.Addr()
		}
		return f.give(results(r.Method(at.method).Call(nil)))
	}
	for i, n := range at.index {
		if i > 0 && r.Kind() == reflect.Pointer {
			r = r.Elem() // one that is nil panics in the next line
		}
		r = r.Field(n)
	}
	switch {
	case at.text:
		return value{text: r.String(), isText: true}
	case at.empty:
		return f.give(valueOf(r))
	}
	return value{any: r}
}

func (f *field) give(v value) value {
	if f.ends {
		return v.held()
	}
	return v
}

// find looks a name up as html/template does: methods first, of the pointer where there is one.
func (f *field) find(r reflect.Value) *place {
	at := &place{of: r.Type(), addressed: r.CanAddr()}
	methods := r.Type()
	if at.addressed {
		methods = reflect.PointerTo(methods)
	}
	if m, ok := methods.MethodByName(f.name); ok {
		if m.Type.NumIn() != 1 {
			panic(fmt.Errorf("%s wants arguments", f.name))
		}
		at.method = m.Index
		return at
	}
	if r.Kind() != reflect.Struct {
		panic(fmt.Errorf("%s of %s", f.name, r.Type()))
	}
	field, ok := r.Type().FieldByName(f.name)
	if !ok || !field.IsExported() {
		panic(fmt.Errorf("%s of %s", f.name, r.Type()))
	}
	at.index, at.text = field.Index, field.Type == textType
	at.empty = field.Type.Kind() == reflect.Interface && field.Type.NumMethod() == 0
	return at
}

// entry is a key of a map; a map with methods is left to html/template.
func (f *field) entry(m reflect.Value) value {
	if m.NumMethod() > 0 || m.CanAddr() || !textType.AssignableTo(m.Type().Key()) {
		panic(fmt.Errorf("%s of %s", f.name, m.Type()))
	}
	return f.give(valueOf(m.MapIndex(reflect.ValueOf(f.name))))
}

// results are those of a call: one value, and an error maybe.
func results(out []reflect.Value) value {
	if len(out) == 2 && !out[1].IsNil() {
		panic(out[1].Interface())
	}
	return valueOf(out[0])
}
