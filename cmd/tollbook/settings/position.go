package settings

import (
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// position is the place of a key in a file, counted from 1.
type position struct{ line, column int }

// place returns the file, line and column of a key, or the file alone if the line is unknown.
func (c *Configuration) place(key string) string {
	if p, ok := c.positions[key]; ok {
		return fmt.Sprintf("%s:%d:%d", c.Path, p.line, p.column)
	}
	return c.Path
}

// positions are the places of all keys. Those of the second [[network]] are named network.2.rpc.
type positions struct {
	keys  []string // in the order of the file
	byKey map[string]position

	parser unstable.Parser
	counts map[string]int // of the tables [[name]] so far
}

// readPositions returns the positions of the keys of a file.
func readPositions(data []byte) (*positions, error) {
	p := &positions{byKey: map[string]position{}, counts: map[string]int{}}
	p.parser.Reset(data)
	section := ""
	for p.parser.NextExpression() {
		e := p.parser.Expression()
		switch e.Kind {
		case unstable.KeyValue:
			p.addValue(section, e)
		case unstable.Table:
			name, at := p.keyOf(e)
			section = p.numbered(name)
			p.add(section, at)
			section += "."
		case unstable.ArrayTable:
			name, at := p.keyOf(e)
			name = p.numbered(name)
			if p.counts[name] == 0 {
				p.byKey[name] = at
			}
			p.counts[name]++
			section = fmt.Sprintf("%s.%d", name, p.counts[name])
			p.add(section, at)
			section += "."
		}
	}
	return p, p.parser.Error()
}

// numbered returns the name of a table below the newest table [[parent]]: network.token is network.2.token.
func (p *positions) numbered(name string) string {
	parent, child, isNested := strings.Cut(name, ".")
	if isNested && p.counts[parent] > 0 {
		return fmt.Sprintf("%s.%d.%s", parent, p.counts[parent], child)
	}
	return name
}

// keyOf returns the dotted key of an expression and the position of its first part.
func (p *positions) keyOf(e *unstable.Node) (key string, at position) {
	for it := e.Key(); it.Next(); {
		if at.line == 0 {
			start := p.parser.Shape(it.Node().Raw).Start
			at = position{start.Line, start.Column}
		}
		key += "." + string(it.Node().Data)
	}
	return strings.TrimPrefix(key, "."), at
}

// addValue adds the key of a value and, if that is an inline table, the keys in it.
func (p *positions) addValue(section string, e *unstable.Node) {
	key, at := p.keyOf(e)
	p.add(section+key, at)
	p.addInline(section+key+".", e.Value())
}

func (p *positions) addInline(section string, value *unstable.Node) {
	switch value.Kind {
	case unstable.InlineTable:
		for it := value.Children(); it.Next(); {
			p.addValue(section, it.Node())
		}
	case unstable.Array:
		for it := value.Children(); it.Next(); {
			p.addInline(section, it.Node())
		}
	}
}

func (p *positions) add(key string, at position) {
	if _, ok := p.byKey[key]; !ok {
		p.byKey[key] = at
	}
	p.keys = append(p.keys, key)
}

// withoutNumbers returns a key as the table of settings has it: network.rpc for network.2.rpc.
func withoutNumbers(key string) string {
	var parts []string
	for part := range strings.SplitSeq(key, ".") {
		if strings.Trim(part, "0123456789") != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ".")
}
