package jsontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Limits of a document in YAML. Reading YAML takes far more time and memory than JSON.
const (
	maxYAML      = 2 << 20   // bytes of the document
	maxYAMLText  = 16 << 20  // bytes as JSON
	maxYAMLDepth = 64        // levels, through aliases too
	maxVisits    = 4_000_000 // nodes that are written, through aliases too
)

// FromYAML returns the first document of a text in YAML as JSON. Numbers become strings as they are written, so that no
// digit is lost. Aliases become what they stand for; the error says if that is too large, which it is for a circle.
func FromYAML(doc []byte) ([]byte, error) {
	if len(doc) > maxYAML {
		return nil, fmt.Errorf("it is YAML longer than %d MiB", maxYAML>>20)
	}
	var root yaml.Node // the values of mappings are never compared, which would take quadratic time
	if err := yaml.Unmarshal(doc, &root); err != nil {
		return nil, errors.New("it is not YAML")
	}
	w := jsonWriter{}
	if w.write(&root, 0); w.tooLarge {
		return nil, errors.New("it is YAML that is too large or too deeply nested")
	}
	return w.text, nil
}

// jsonWriter writes nodes of YAML as JSON. Aliases may make the text larger than the document.
type jsonWriter struct {
	text     []byte
	visited  int
	tooLarge bool
}

func (w *jsonWriter) visit(depth int) bool {
	w.visited++
	w.tooLarge = w.tooLarge || depth > maxYAMLDepth || len(w.text) > maxYAMLText || w.visited > maxVisits
	return !w.tooLarge
}

func (w *jsonWriter) write(n *yaml.Node, depth int) {
	if !w.visit(depth) {
		return
	}
	switch n.Kind {
	case yaml.DocumentNode:
		w.write(n.Content[0], depth)
	case yaml.AliasNode:
		w.write(n.Alias, depth+1)
	case yaml.SequenceNode:
		for i, of := range n.Content {
			w.separate(i, '[')
			w.write(of, depth+1)
		}
		w.end(len(n.Content), "[]")
	case yaml.MappingNode:
		w.end(w.members(n, 0, depth+1), "{}")
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!null":
			w.text = append(w.text, "null"...)
		case "!!bool":
			var is bool
			_ = n.Decode(&is) // its tag says that it is one
			w.text = strconv.AppendBool(w.text, is)
		default:
			w.quote(n.Value)
		}
	default:
		w.text = append(w.text, "null"...)
	}
}

// members writes the members of a mapping after count others, and returns how many there are then. Merged mappings come
// first, since the last member of a name counts.
func (w *jsonWriter) members(n *yaml.Node, count, depth int) int {
	if !w.visit(depth) {
		return count
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if from := n.Content[i+1]; n.Content[i].Value == "<<" {
			if from.Kind == yaml.AliasNode {
				from = from.Alias
			}
			if from.Kind == yaml.MappingNode {
				count = w.members(from, count, depth+1)
			}
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; key.Kind == yaml.ScalarNode && key.Value != "<<" {
			w.separate(count, '{')
			w.quote(key.Value)
			w.text = append(w.text, ':')
			w.write(n.Content[i+1], depth)
			count++
		}
	}
	return count
}

func (w *jsonWriter) quote(s string) {
	text, _ := json.Marshal(s) // a string can always be encoded
	w.text = append(w.text, text...)
}

// separate writes what comes before the i-th value of a list or an object.
func (w *jsonWriter) separate(i int, open byte) {
	if i > 0 {
		open = ','
	}
	w.text = append(w.text, open)
}

// end closes a list or an object with n values.
func (w *jsonWriter) end(n int, brackets string) {
	if n == 0 {
		w.text = append(w.text, brackets[0])
	}
	w.text = append(w.text, brackets[1])
}
