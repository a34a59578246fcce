package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"tollbook/site/jsontext"
)

// maxYAML is the largest list in YAML that is read, in bytes. Reading YAML takes far more time and memory than JSON.
const maxYAML = 2 << 20

// listNames are the members under which lists have their entries, and entries their endpoints.
var listNames = []string{"services", "resources", "endpoints", "items", "apis", "listings", "entries", "data"}

// addressNames are the members that name an entry's URL or path.
var addressNames = []string{"url", "resource", "endpoint", "base_url", "baseUrl", "serviceUrl", "path", "href"}

// readJSONList reads a list of URLs or of services, perhaps under one of listNames.
func readJSONList(doc []byte) (Page, error) {
	doc, err := readJSON(doc)
	if err != nil {
		return Page{}, err
	}
	list := json.RawMessage(doc)
	if top := objectOf(doc); !top.isAbsent() {
		if list = top.list(listNames...); list == nil {
			if top.text(addressNames...) == "" {
				return Page{}, fmt.Errorf("%w: it has no list of services", ErrShape)
			}
			list = slices.Concat([]byte("["), doc, []byte("]")) // a file with one service
		}
	}
	if jsontext.Kind(list) != '[' {
		return Page{}, fmt.Errorf("%w: it is no list", ErrShape)
	}
	return readList(list, readListed), nil
}

// readYAMLList reads the same shapes in YAML.
func readYAMLList(doc []byte) (Page, error) {
	if len(doc) > maxYAML {
		return Page{}, fmt.Errorf("%w: it is longer than %d MiB", ErrShape, maxYAML>>20)
	}
	var root yaml.Node // the values of mappings are never compared, which would take quadratic time
	if err := yaml.Unmarshal(doc, &root); err != nil {
		return Page{}, fmt.Errorf("%w: it is not YAML", ErrShape)
	}
	w := jsonWriter{}
	if w.write(&root, 0); w.tooLarge {
		return Page{}, fmt.Errorf("%w: it is too large or too deeply nested", ErrShape)
	}
	return readJSONList(w.text)
}

// jsonWriter writes nodes of YAML as JSON. Aliases may make the text larger than the document.
type jsonWriter struct {
	text     []byte
	visited  int
	tooLarge bool
}

// maxVisits is the most nodes that are written, through aliases too.
const maxVisits = 4_000_000

func (w *jsonWriter) visit(depth int) bool {
	w.visited++
	w.tooLarge = w.tooLarge || depth > MaxDepth || len(w.text) > MaxBytes || w.visited > maxVisits
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
		if n.ShortTag() == "!!null" {
			w.text = append(w.text, "null"...)
			return
		}
		w.quote(n.Value)
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

// readListed reads an entry of a list: a service with endpoints, or one URL.
func readListed(e *entries, o object) {
	of := serviceRow(o, protocolOf(o.text("protocol")))
	of.Service = cmp.Or(o.line(MaxName, "provider"), of.Service)
	method, base := splitMethod(o.text(addressNames...))
	endpoints := o.list("endpoints", "resources", "routes", "paths")
	if endpoints == nil {
		of.URL, of.Method = base, cmp.Or(methodOf(o.text("method", "http_method")), method)
		of.Name, of.MimeType = o.line(MaxName, "name"), o.line(MaxName, "mimeType")
		of.Price = cmp.Or(o.line(MaxPrice, "price"), price(o, "price_usd", "USD", "price_sats", "sats"))
		e.add(of)
		return
	}
	for raw := range jsontext.Elements(endpoints) {
		row, ep := of, objectOf(raw)
		if ep.isAbsent() && jsontext.Kind(raw) != '"' {
			e.skip(NotObject, base)
			continue
		}
		own, path := splitMethod(cmp.Or(jsontext.Unquote(raw), ep.text(addressNames...)))
		row.URL, row.Method = join(base, placeholders(path)), cmp.Or(methodOf(ep.text("method")), own)
		row.Description = cmp.Or(ep.line(MaxText, "description", "summary"), of.Description)
		row.Name, row.Price = ep.line(MaxName, "name"),
			cmp.Or(ep.line(MaxPrice, "price"), ep.line(MaxPrice, "price_usd"))
		e.add(row)
	}
}
