package compiled

import (
	"cmp"
	"fmt"
	"reflect"
	"text/template/parse"
)

// function is a call of one of the set's functions, or of a builtin.
func (c *compiler) function(name string, nodes []parse.Node, last *expr) (expr, error) {
	f, own := c.funcs[name]
	if !own {
		f = builtins[name]
	}
	if f == nil {
		return expr{}, fmt.Errorf("function %s is not known", name)
	}
	if raw, ok := f.(builtin); ok {
		return c.builtin(name, raw, nodes, last)
	}
	fn := reflect.ValueOf(f)
	t := fn.Type()
	count := len(nodes)
	if last != nil {
		count++
	}
	if fixed := t.NumIn(); count != fixed && !(t.IsVariadic() && count >= fixed-1) || t.NumOut() == 0 || t.NumOut() > 2 || t.NumOut() == 2 && t.Out(1) != errorType {
		return expr{}, fmt.Errorf("function %s with %d arguments", name, count)
	}
	args := make([]expr, 0, count)
	constant := true
	for i := range count {
		var e expr
		var err error
		if i < len(nodes) {
			e, err = c.argument(nodes[i], parameter(t, i))
		} else {
			e = *last
		}
		if err != nil {
			return expr{}, err
		}
		constant = constant && e.constant
		args = append(args, e)
	}
	return fold(expr{eval: call(f, fn, args), constant: constant}), nil
}

// parameter is the type of the ith argument.
func parameter(t reflect.Type, i int) reflect.Type {
	if t.IsVariadic() && i >= t.NumIn()-1 {
		return t.In(t.NumIn() - 1).Elem()
	}
	return t.In(i)
}

// argument is an operand for a parameter of a type, which says what a number or nil is.
func (c *compiler) argument(n parse.Node, t reflect.Type) (expr, error) {
	switch n := n.(type) {
	case *parse.NumberNode:
		if k := t.Kind(); k >= reflect.Int && k <= reflect.Int64 && n.IsInt {
			v := reflect.New(t).Elem()
			v.SetInt(n.Int64)
			return constant(value{any: v}), nil
		}
	case *parse.StringNode:
		if t.Kind() == reflect.String && t != textType {
			return constant(value{any: reflect.ValueOf(n.Text).Convert(t)}), nil
		}
	case *parse.NilNode:
		switch t.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
			return constant(value{any: reflect.Zero(t)}), nil
		}
	}
	return c.operand(n)
}

// call calls a function without reflect where its type is a common one.
func call(f any, fn reflect.Value, args []expr) evaluate {
	arg := func(s *state, i int) value { return args[i].eval(s) }
	switch f := f.(type) {
	case func() string:
		return func(*state) value { return value{text: f(), isText: true} }
	case func(string) string:
		return func(s *state) value { return value{text: f(asText(arg(s, 0))), isText: true} }
	case func(int) string:
		return func(s *state) value { return value{text: f(asInt(arg(s, 0))), isText: true} }
	case func(int64) string:
		return func(s *state) value { return value{text: f(asInt64(arg(s, 0))), isText: true} }
	case func(*int) string:
		return func(s *state) value { return value{text: f(as[*int](arg(s, 0))), isText: true} }
	case func(*bool) string:
		return func(s *state) value { return value{text: f(as[*bool](arg(s, 0))), isText: true} }
	case func(*float64) string:
		return func(s *state) value { return value{text: f(as[*float64](arg(s, 0))), isText: true} }
	case func(int, string, string) string:
		return func(s *state) value {
			return value{text: f(asInt(arg(s, 0)), asText(arg(s, 1)), asText(arg(s, 2))), isText: true}
		}
	case func(int64, string, string) string:
		return func(s *state) value {
			return value{text: f(asInt64(arg(s, 0)), asText(arg(s, 1)), asText(arg(s, 2))), isText: true}
		}
	case func(any) (string, error):
		return func(s *state) value { return value{text: must(f(arg(s, 0).boxed())), isText: true} }
	case func(any) (any, error):
		return func(s *state) value { return valueOf(reflect.ValueOf(must(f(arg(s, 0).boxed())))) }
	}
	t := fn.Type()
	return func(s *state) value {
		in := make([]reflect.Value, len(args))
		for i := range args {
			in[i] = convert(args[i].eval(s), parameter(t, i))
		}
		return results(fn.Call(in))
	}
}

// must is what a function gives that may fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// asInt is an argument of type int.
func asInt(v value) int {
	if !v.isText && v.any.IsValid() && v.any.Type() == intType {
		return int(v.any.Int())
	}
	return as[int](v)
}

// asInt64 is an argument of type int64.
func asInt64(v value) int64 {
	if !v.isText && v.any.IsValid() && v.any.Type() == int64T {
		return v.any.Int()
	}
	return as[int64](v)
}

// asText is an argument of type string.
func asText(v value) string {
	if v.isText {
		return v.text
	}
	return convert(v, textType).String()
}

// as is an argument of another type.
func as[T any](v value) T {
	return convert(v, reflect.TypeFor[T]()).Interface().(T)
}

// convert makes an argument of a value as html/template does: as it is, what its interface holds, or what it points to.
func convert(v value, t reflect.Type) reflect.Value {
	r := v.reflected()
	if !r.IsValid() {
		switch t.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
			return reflect.Zero(t)
		}
		panic(errNil)
	}
	if r.Type().AssignableTo(t) {
		return r
	}
	if r.Kind() == reflect.Interface && !r.IsNil() {
		if r = r.Elem(); r.Type().AssignableTo(t) {
			return r
		}
	}
	if r.Kind() == reflect.Pointer && r.Type().Elem().AssignableTo(t) {
		if r.IsNil() {
			panic(errNil)
		}
		return r.Elem()
	}
	if r.CanAddr() && reflect.PointerTo(r.Type()).AssignableTo(t) {
		return r.Addr()
	}
	panic(fmt.Errorf("%s for %s", r.Type(), t))
}

// builtin is a function on one value or two as they are; of more it is asked with the first and each other, until one holds.
type builtin func(a, b value) value

// builtins are those of text/template that are known here.
var builtins = map[string]any{
	"not": builtin(func(a, _ value) value { return truth(!a.truth()) }),
	"eq":  builtin(func(a, b value) value { return truth(order(a, b, true) == 0) }),
	"ne":  builtin(func(a, b value) value { return truth(order(a, b, true) != 0) }),
	"lt":  builtin(func(a, b value) value { return truth(order(a, b, false) < 0) }),
	"le":  builtin(func(a, b value) value { return truth(order(a, b, false) <= 0) }),
	"gt":  builtin(func(a, b value) value { return truth(order(a, b, false) > 0) }),
	"ge":  builtin(func(a, b value) value { return truth(order(a, b, false) >= 0) }),
	"len": builtin(func(a, _ value) value { return value{any: reflect.ValueOf(length(a))} }),

	"and":   builtin(nil), // they end early
	"or":    builtin(nil),
	"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
}

// arities of builtins, least and most.
var arities = map[string][2]int{"not": {1, 1}, "len": {1, 1}, "eq": {2, 99}, "ne": {2, 2}, "lt": {2, 2}, "le": {2, 2}, "gt": {2, 2}, "ge": {2, 2}, "and": {1, 99}, "or": {1, 99}}

func (c *compiler) builtin(name string, f builtin, nodes []parse.Node, last *expr) (expr, error) {
	var args []expr
	constant := true
	for _, n := range nodes {
		e, err := c.operand(n)
		if err != nil {
			return expr{}, err
		}
		args = append(args, e)
	}
	if last != nil {
		args = append(args, *last)
	}
	for _, e := range args {
		constant = constant && e.constant
	}
	if n := arities[name]; len(args) < n[0] || len(args) > n[1] {
		return expr{}, fmt.Errorf("function %s with %d arguments", name, len(args))
	}
	if f == nil {
		return fold(expr{eval: shortCircuit(args, name == "or"), constant: constant}), nil
	}
	if len(args) == 1 {
		return fold(expr{eval: func(s *state) value { return f(args[0].eval(s), value{}) }, constant: constant}), nil
	}
	return fold(expr{eval: func(s *state) value {
		a := args[0].eval(s)
		v := f(a, args[1].eval(s))
		for _, e := range args[2:] {
			if b := e.eval(s); !v.truth() {
				v = f(a, b)
			}
		}
		return v
	}, constant: constant}), nil
}

// shortCircuit is and, or: the first argument that decides, else the last.
func shortCircuit(args []expr, or bool) evaluate {
	return func(s *state) (v value) {
		for i := range args {
			if v = args[i].eval(s); v.truth() == or {
				break
			}
		}
		return v
	}
}

func truth(b bool) value { return value{any: reflect.ValueOf(b)} }

// order compares what html/template would: values of a kind. Anything else is left to it.
func order(a, b value, equality bool) int {
	a, b = a.concrete(), b.concrete()
	if a.isText && b.isText {
		return cmp.Compare(a.text, b.text)
	}
	x, y := a.reflected(), b.reflected()
	switch {
	case x.Kind() == reflect.String && y.Kind() == reflect.String:
		return cmp.Compare(x.String(), y.String())
	case x.CanInt() && y.CanInt():
		return cmp.Compare(x.Int(), y.Int())
	case equality && x.Kind() == reflect.Bool && y.Kind() == reflect.Bool:
		if x.Bool() == y.Bool() {
			return 0
		}
		return 1
	}
	panic(fmt.Errorf("compare %v and %v", x.Kind(), y.Kind()))
}

// length is len of what has one.
func length(v value) int {
	if v.isText {
		return len(v.text)
	}
	r := v.any
	for r.Kind() == reflect.Pointer || r.Kind() == reflect.Interface {
		if r.IsNil() {
			panic(errNil)
		}
		r = r.Elem()
	}
	return r.Len() // panics where there is none
}
