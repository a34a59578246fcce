package compiled

import (
	"errors"
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// compiler makes bodies of the trees of one set.
type compiler struct {
	set    *template.Template
	funcs  template.FuncMap
	bodies map[string]*body // by name; one that is being made is there already, for those that call themselves
	scope  []string         // names of variables, at their places
	most   int              // that were in scope at once
}

// expr gives a value.
type expr struct {
	eval     evaluate
	constant bool   // the same in every run
	last     *field // of a chain; nil for any other
}

func (c *compiler) template(name string) (*body, error) {
	if b := c.bodies[name]; b != nil {
		return b, nil
	}
	t := c.set.Lookup(name)
	if t == nil || t.Tree == nil || t.Tree.Root == nil {
		return nil, fmt.Errorf("template %q: html/template keeps it to itself", name)
	}
	b := new(body)
	c.bodies[name] = b
	scope, most := c.scope, c.most
	c.scope, c.most = []string{"$"}, 1
	var p program
	err := c.list(&p, t.Tree.Root)
	b.ops, b.vars = p.finish(), c.most
	c.scope, c.most = scope, most
	if err != nil {
		return nil, fmt.Errorf("template %q: %w", name, err)
	}
	return b, nil
}

// program is ops in the making; text waits until something else follows.
type program struct {
	ops  []op
	text strings.Builder
}

func (p *program) add(o op) { p.ops = append(p.finish(), o) }

func (p *program) finish() []op {
	if text := p.text.String(); text != "" {
		p.text.Reset()
		p.ops = append(p.ops, func(s *state) { s.out = append(s.out, text...) })
	}
	return p.ops
}

func (c *compiler) list(p *program, l *parse.ListNode) error {
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		if err := c.node(p, n); err != nil {
			return err
		}
	}
	return nil
}

// nested is a list by itself, with variables of its own.
func (c *compiler) nested(l *parse.ListNode) ([]op, error) {
	scope := len(c.scope)
	var p program
	err := c.list(&p, l)
	c.scope = c.scope[:scope]
	return p.finish(), err
}

func (c *compiler) node(p *program, n parse.Node) error {
	switch n := n.(type) {
	case *parse.TextNode:
		p.text.Write(n.Text)
		return nil
	case *parse.CommentNode:
		return nil
	case *parse.ActionNode:
		return c.action(p, n)
	case *parse.IfNode:
		return c.branch(p, &n.BranchNode, false)
	case *parse.WithNode:
		return c.branch(p, &n.BranchNode, true)
	case *parse.RangeNode:
		return c.loop(p, &n.BranchNode)
	case *parse.TemplateNode:
		return c.invoke(p, n)
	}
	return fmt.Errorf("unknown: %s", n)
}

func (c *compiler) action(p *program, n *parse.ActionNode) error {
	if len(n.Pipe.Decl) > 0 {
		e, err := c.pipe(n.Pipe)
		if err == nil {
			p.add(func(s *state) { e.eval(s) })
		}
		return err
	}
	// The escapers that html/template has added are the last commands.
	cmds := n.Pipe.Cmds
	end := len(cmds)
	for end > 0 && isEscaper(cmds[end-1]) {
		end--
	}
	e, err := c.commands(cmds[:end])
	if err != nil {
		return err
	}
	if end == len(cmds) || end == 0 {
		return fmt.Errorf("no escaper: %s", n)
	}
	write, err := escape(cmds[end:])
	if err != nil {
		return err
	}
	if e.constant {
		var s state
		if attempt(func() { write(&s, e.eval(&s)) }) {
			p.text.Write(s.out)
			return nil
		}
	}
	if of, ok := drawn(cmds); ok {
		p.add(func(s *state) {
			if draw, ok := of.eval(s).drawing(); ok {
				s.out = draw(s.out)
			} else {
				write(s, e.eval(s))
			}
		})
		return nil
	}
	p.add(func(s *state) { write(s, e.eval(s)) })
	return nil
}

// drawn is what may be a drawing in an action that is but {{.Chart.HTML}}, where HTML stands as it is.
func drawn(cmds []*parse.CommandNode) (expr, bool) {
	n, ok := cmds[0].Args[0].(*parse.FieldNode)
	if !ok || len(cmds) != 2 || cmds[1].String() != prefix+"htmlescaper" || len(n.Ident) < 2 || n.Ident[len(n.Ident)-1] != "HTML" {
		return expr{}, false
	}
	return ofDot(n.Ident[:len(n.Ident)-1]), true
}

// branch is an if or a with.
func (c *compiler) branch(p *program, n *parse.BranchNode, with bool) error {
	scope := len(c.scope)
	defer func() { c.scope = c.scope[:scope] }()
	e, err := c.pipe(n.Pipe)
	if err != nil {
		return err
	}
	yes, err := c.nested(n.List)
	if err != nil {
		return err
	}
	no, err := c.nested(n.ElseList)
	if err != nil {
		return err
	}
	p.add(func(s *state) {
		v := e.eval(s)
		if !v.truth() {
			s.do(no)
			return
		}
		if !with {
			s.do(yes)
			return
		}
		outer := s.dot
		s.dot = v
		s.do(yes)
		s.dot = outer
	})
	return nil
}

func (c *compiler) loop(p *program, n *parse.BranchNode) error {
	if n.Pipe.IsAssign {
		return fmt.Errorf("assigns: %s", n.Pipe)
	}
	scope := len(c.scope)
	defer func() { c.scope = c.scope[:scope] }()
	e, err := c.commands(n.Pipe.Cmds)
	if err != nil {
		return err
	}
	index, elem := -1, -1
	switch d := n.Pipe.Decl; len(d) {
	case 1:
		elem = c.declare(d[0].Ident[0])
	case 2:
		index, elem = c.declare(d[0].Ident[0]), c.declare(d[1].Ident[0])
	}
	body, err := c.nested(n.List)
	if err != nil {
		return err
	}
	none, err := c.nested(n.ElseList)
	if err != nil {
		return err
	}
	p.add(func(s *state) {
		list := e.eval(s).list()
		if !list.IsValid() || list.Len() == 0 {
			s.do(none)
			return
		}
		outer := s.dot
		for i := range list.Len() {
			s.dot = valueOf(list.Index(i))
			if elem >= 0 {
				s.vars[s.base+elem] = s.dot
			}
			if index >= 0 {
				s.vars[s.base+index] = value{any: reflect.ValueOf(i)}
			}
			s.do(body)
		}
		s.dot = outer
	})
	return nil
}

func (c *compiler) invoke(p *program, n *parse.TemplateNode) error {
	b, err := c.template(n.Name)
	if err != nil {
		return err
	}
	if n.Pipe == nil {
		p.add(func(s *state) { s.call(b, value{}) })
		return nil
	}
	e, err := c.pipe(n.Pipe)
	if err != nil {
		return err
	}
	if e.constant {
		var s state // what it gives is text like any
		if attempt(func() { s.call(b, e.eval(&s)) }) && c.made(b) {
			p.text.Write(s.out)
			return nil
		}
	}
	p.add(func(s *state) { s.call(b, e.eval(s)) })
	return nil
}

// made says whether a body is whole: one that is being made calls itself.
func (c *compiler) made(b *body) bool { return b.vars > 0 }

// declare gives a variable its place.
func (c *compiler) declare(name string) int {
	c.scope = append(c.scope, name)
	c.most = max(c.most, len(c.scope))
	return len(c.scope) - 1
}

// place is where a variable is.
func (c *compiler) place(name string) (int, error) {
	for i, known := range slices.Backward(c.scope) {
		if known == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("variable %s is not known", name)
}

// pipe is a pipeline with the variables that it declares or sets.
func (c *compiler) pipe(n *parse.PipeNode) (expr, error) {
	e, err := c.commands(n.Cmds)
	if err != nil || len(n.Decl) == 0 {
		return e, err
	}
	if len(n.Decl) > 1 {
		return expr{}, fmt.Errorf("declares several: %s", n)
	}
	var at int
	if n.IsAssign {
		at, err = c.place(n.Decl[0].Ident[0])
	} else {
		at = c.declare(n.Decl[0].Ident[0])
	}
	return expr{eval: func(s *state) value {
		v := e.eval(s)
		s.vars[s.base+at] = v
		return v
	}}, err
}

// commands are those of a pipeline: what one gives is the last argument of the next.
func (c *compiler) commands(cmds []*parse.CommandNode) (expr, error) {
	var last *expr
	for _, cmd := range cmds {
		e, err := c.command(cmd, last)
		if err != nil {
			return expr{}, err
		}
		if e.last != nil {
			e.last.ends = true
		} else if of := e.eval; !e.constant {
			e.eval = func(s *state) value { return of(s).held() }
		}
		last = &e
	}
	if last == nil {
		return expr{}, errors.New("an empty pipeline")
	}
	return *last, nil
}

func (c *compiler) command(cmd *parse.CommandNode, last *expr) (expr, error) {
	if f, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		return c.function(f.Ident, cmd.Args[1:], last)
	}
	if len(cmd.Args) > 1 || last != nil {
		return expr{}, fmt.Errorf("arguments of what is no function: %s", cmd)
	}
	return c.operand(cmd.Args[0])
}

// operand is a value that stands by itself.
func (c *compiler) operand(n parse.Node) (expr, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return expr{eval: func(s *state) value { return s.dot }}, nil
	case *parse.FieldNode:
		return ofDot(n.Ident), nil
	case *parse.VariableNode:
		at, err := c.place(n.Ident[0])
		return chain(expr{eval: func(s *state) value { return s.vars[s.base+at] }}, n.Ident[1:]), err
	case *parse.ChainNode:
		e, err := c.operand(n.Node)
		return chain(e, n.Field), err
	case *parse.PipeNode:
		if len(n.Decl) > 0 {
			return expr{}, fmt.Errorf("declares within: %s", n)
		}
		return c.commands(n.Cmds)
	case *parse.IdentifierNode:
		return c.function(n.Ident, nil, nil)
	case *parse.StringNode:
		return constant(value{text: n.Text, isText: true}), nil
	case *parse.BoolNode:
		return constant(value{any: reflect.ValueOf(n.True)}), nil
	case *parse.NumberNode:
		if n.IsInt && int64(int(n.Int64)) == n.Int64 && !strings.ContainsAny(n.Text, ".eEpPxXi'") {
			return constant(value{any: reflect.ValueOf(int(n.Int64))}), nil
		}
	}
	return expr{}, fmt.Errorf("unknown: %s", n)
}

func constant(v value) expr {
	return expr{eval: func(*state) value { return v }, constant: true}
}

// fold works out what depends on nothing; what fails is left to the run.
func fold(e expr) expr {
	if !e.constant {
		return e
	}
	var v value
	if !attempt(func() { v = e.eval(new(state)) }) {
		return expr{eval: e.eval}
	}
	return constant(v)
}

// attempt says whether f came to its end.
func attempt(f func()) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	f()
	return true
}
