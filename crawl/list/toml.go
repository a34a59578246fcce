package list

import (
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"tollbook/site/display"
)

// tomlReader reads the tables of a list with their places.
type tomlReader struct {
	*reader
	places places
	parser unstable.Parser
	rows   []row
}

// readTOML reads the tables [[service]], or the inline tables of service = [ … ].
func (in *reader) readTOML(data []byte) []row {
	if err := toml.Unmarshal(data, new(map[string]any)); err != nil { // also finds what is defined twice
		var at position
		if wrong := (*toml.DecodeError)(nil); errors.As(err, &wrong) {
			at.line, at.column = wrong.Position()
		}
		in.fault(at, "%s", strings.TrimPrefix(err.Error(), "toml: "))
		return nil
	}
	t := &tomlReader{reader: in, places: places{data: data}}
	t.parser.Reset(data)
	inService := false
	for t.parser.NextExpression() {
		e := t.parser.Expression()
		name, at := t.key(e)
		switch {
		case e.Kind == unstable.ArrayTable && name == "service":
			t.rows = append(t.rows, row{at, map[string]field{}})
			inService = true
		case e.Kind == unstable.ArrayTable || e.Kind == unstable.Table:
			in.fault(at, "unknown table %s%s", name, display.Hint(name, []string{"service"}))
			inService = false
		case e.Kind != unstable.KeyValue:
		case inService:
			t.set(&t.rows[len(t.rows)-1], name, at, t.value(e.Value()))
		case name == "service":
			t.readInline(e.Value())
		default:
			in.fault(at, "unknown field %s; each service begins with [[service]]", name)
		}
	}
	return t.rows
}

// readInline reads service = [ {…}, … ].
func (t *tomlReader) readInline(v *unstable.Node) {
	if v.Kind != unstable.Array {
		t.fault(t.value(v).at, "want a list of tables, got %s", kindOf(v.Kind))
		return
	}
	for it := v.Children(); it.Next(); {
		n := it.Node()
		r := row{t.at(n), map[string]field{}}
		if n.Kind != unstable.InlineTable {
			t.fault(r.at, "want a table, got %s", kindOf(n.Kind))
			continue
		}
		for pairs := n.Children(); pairs.Next(); {
			name, at := t.key(pairs.Node())
			t.set(&r, name, at, t.value(pairs.Node().Value()))
		}
		t.rows = append(t.rows, r)
	}
}

// key returns the key of an expression, with dots, and its place.
func (t *tomlReader) key(n *unstable.Node) (string, position) {
	var parts []string
	var at position
	if n.Kind == unstable.Comment {
		return "", at
	}
	for it := n.Key(); it.Next(); {
		if len(parts) == 0 {
			at = t.at(it.Node())
		}
		parts = append(parts, string(it.Node().Data))
	}
	return strings.Join(parts, "."), at
}

// at returns the place of a node. A list has none, so its first element's is returned.
func (t *tomlReader) at(n *unstable.Node) position {
	for n.Raw.Length == 0 && n.Child() != nil {
		n = n.Child()
	}
	if n.Raw.Length == 0 {
		return position{}
	}
	return t.places.at(int(n.Raw.Offset))
}

func (t *tomlReader) value(n *unstable.Node) field {
	f := field{at: t.at(n), kind: kindOf(n.Kind)}
	switch n.Kind {
	case unstable.String:
		f.text = string(n.Data)
	case unstable.Array:
		for it := n.Children(); it.Next(); {
			f.list = append(f.list, t.value(it.Node()))
		}
	}
	return f
}

func kindOf(k unstable.Kind) string {
	switch k {
	case unstable.String:
		return "string"
	case unstable.Array:
		return "list"
	case unstable.InlineTable:
		return "table"
	case unstable.Bool:
		return "boolean"
	case unstable.Integer, unstable.Float:
		return "number"
	}
	return "date"
}
