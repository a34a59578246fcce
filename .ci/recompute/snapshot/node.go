package snapshot

import (
	"encoding/json"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// missing is the value of a member that does not exist.
type missing struct{}

// Node is one value of a JSON file, with the way to it. Reading a member that does not exist gives a missing node, so
// that a damaged snapshot leads to differences instead of errors.
type Node struct {
	File  string
	Value any // nil, bool, string, json.Number, []any, map[string]any or missing
	Up    *Node
	Key   string // name of the member of up, or "" for an element
	Index int    // number of the element of up
}

// Get returns a member of an object.
func (n Node) Get(key string) Node {
	m, _ := n.Value.(map[string]any)
	value, ok := m[key]
	if !ok {
		value = missing{}
	}
	return Node{File: n.File, Value: value, Up: &n, Key: key}
}

// At returns the member that is reached by several names, one after another.
func (n Node) At(keys ...string) Node {
	for _, key := range keys {
		n = n.Get(key)
	}
	return n
}

// Items returns the elements of a list; none of anything else.
func (n Node) Items() []Node {
	list, _ := n.Value.([]any)
	nodes := make([]Node, len(list))
	for i, value := range list {
		nodes[i] = Node{File: n.File, Value: value, Up: &n, Index: i}
	}
	return nodes
}

// Keys returns the names of an object's members, sorted.
func (n Node) Keys() []string {
	m, _ := n.Value.(map[string]any)
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Exists reports whether the value is there at all; null is there.
func (n Node) Exists() bool { _, gone := n.Value.(missing); return !gone }

// HasValue reports whether the value is neither null nor missing.
func (n Node) HasValue() bool { return n.Value != nil && n.Exists() }

// Text returns a string, or "".
func (n Node) Text() string { s, _ := n.Value.(string); return s }

// Texts returns the strings of a list.
func (n Node) Texts() []string {
	var texts []string
	for _, item := range n.Items() {
		texts = append(texts, item.Text())
	}
	return texts
}

// Bool returns a boolean, or false.
func (n Node) Bool() bool { b, _ := n.Value.(bool); return b }

// Int returns an integer, or 0.
func (n Node) Int() int {
	number, _ := n.Value.(json.Number)
	i, _ := strconv.Atoi(string(number))
	return i
}

// Number returns the exact value of a number or of a decimal in a string; nil of anything else.
func (n Node) Number() *big.Rat {
	text := n.Text()
	if number, ok := n.Value.(json.Number); ok {
		text = string(number)
	}
	if !decimal.MatchString(text) {
		return nil
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

var decimal = regexp.MustCompile(`^-?[0-9]{1,60}(\.[0-9]{1,60})?([eE][-+]?[0-9]{1,2})?$`)

// Time returns an instant, or the zero time.
func (n Node) Time() time.Time {
	t, _ := time.Parse(TimeLayout, n.Text())
	return t
}

// Path returns the way to the value: data.endpoints[0].pricing[1].price.
func (n Node) Path() string {
	return n.way(func(i int) string {
		return "[" + strconv.Itoa(i) + "]"
	}, func(key string) string { return "." + key })
}

// Kind returns the file and the path without what differs from service to service and from row to row. All figures of a
// kind follow from one rule.
func (n Node) Kind() string {
	return FileKind(n.File) + " " + n.way(func(int) string { return "[]" }, func(key string) string {
		if strings.Contains(key, "/") {
			return ".{name}" // such as the total of a list in v1/index.json
		}
		if n.Up.Up != nil && n.File == "v1/lookup.json" && key == n.Key {
			return ".{shard}"
		}
		return "." + key
	})
}

func (n Node) way(element func(int) string, member func(string) string) string {
	var steps []string
	for at := &n; at.Up != nil; at = at.Up {
		if at.Key == "" {
			steps = append(steps, element(at.Index))
		} else {
			steps = append(steps, member(at.Key))
		}
	}
	slices.Reverse(steps)
	return strings.TrimPrefix(strings.Join(steps, ""), ".")
}

// Set changes the value in the file's tree, for mutations.
func (n Node) Set(value any) {
	if n.Up == nil {
		return // a file has no place that could change
	}
	switch parent := n.Up.Value.(type) {
	case map[string]any:
		parent[n.Key] = value
	case []any:
		parent[n.Index] = value
	}
}

// Leaves calls visit for each value below n that is no object and no list, and for each empty one.
func (n Node) Leaves(visit func(Node)) {
	switch value := n.Value.(type) {
	case map[string]any:
		for _, key := range n.Keys() {
			n.Get(key).Leaves(visit)
		}
		if len(value) == 0 {
			visit(n)
		}
	case []any:
		for _, item := range n.Items() {
			item.Leaves(visit)
		}
		if len(value) == 0 {
			visit(n)
		}
	default:
		visit(n)
	}
}

// Parameters returns the parameters in the name of a file: v1/services/status=online/page=2.json has two. A byte that
// is no letter, digit, dot, underscore or hyphen is written as ~ and two hexadecimal digits.
func Parameters(name string) map[string]string {
	parameters := map[string]string{}
	for _, part := range strings.Split(strings.TrimSuffix(strings.TrimSuffix(name, ".html"), ".json"), "/") {
		if key, value, ok := strings.Cut(part, "="); ok {
			value, _ = url.PathUnescape(strings.ReplaceAll(value, "~", "%"))
			parameters[key] = value
		}
	}
	return parameters
}

// fileNames are the parts of file names that differ from service to service, from list to list and from block to block.
var fileNames = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`^v1/services/[^/]*=.*`), "v1/services/{list}"},
	{regexp.MustCompile(`^(v1/|)services/[^/.{]+`), "${1}services/{slug}"},
	{regexp.MustCompile(`^v1/facilitators/timeframe=[^/]*/(include=[^/]*)/.*`), "v1/facilitators/{list}/$1"},
	{regexp.MustCompile(`^v1/facilitators/timeframe=.*`), "v1/facilitators/{list}"},
	{regexp.MustCompile(`^(v1/|)facilitators/matrix\b`), "${1}facilitators/{matrix}"},
	{regexp.MustCompile(`^(v1/|)facilitators/[^/.{]+`), "${1}facilitators/{id}"},
	{regexp.MustCompile(`^v1/sources/[^/.{]+`), "v1/sources/{name}"},
	{regexp.MustCompile(`^discovery/resources/.*`), "discovery/resources/{list}"},
	{regexp.MustCompile(`^v1/rows/.*`), "v1/rows/{n}"},
	{regexp.MustCompile(`^v1/lookup/([^/]*)/.*`), "v1/lookup/$1/{hash}"},
	{regexp.MustCompile(`^v1/terms/.*`), "v1/terms/{letters}"},
	{regexp.MustCompile(`^v1/(best|search)/.*`), "v1/$1/{query}"},
	{regexp.MustCompile(`^discovery/columns/.*`), "discovery/columns/{name}"},
	{regexp.MustCompile(`^v1/rows/.*`), "v1/rows/{n}"},
	{regexp.MustCompile(`^(categories|networks)/[^/.{]+`), "$1/{slug}"},
	{regexp.MustCompile(`service=[^/]*`), "service={slug}"},
	{regexp.MustCompile(`type=[^/]*`), "type={type}"},
	{regexp.MustCompile(`block=[0-9]+`), "block={n}"},
	{regexp.MustCompile(`page=[0-9]+`), "page={n}"},
}

// fileKinds has the kinds of files that were asked for.
var fileKinds = map[string]string{}

func FileKind(name string) string {
	if kind, ok := fileKinds[name]; ok {
		return kind
	}
	file := name
	for _, f := range fileNames {
		file = f.pattern.ReplaceAllString(file, f.name)
	}
	fileKinds[name] = file
	return file
}

// TextOrNull returns nil for an empty text.
func TextOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
