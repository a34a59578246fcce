package main

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// missing is the value of a member that does not exist.
type missing struct{}

// node is one value of a JSON file, with the way to it. Reading a member that does not exist gives a missing node, so
// that a damaged snapshot leads to differences instead of errors.
type node struct {
	file  string
	value any // nil, bool, string, json.Number, []any, map[string]any or missing
	up    *node
	key   string // name of the member of up, or "" for an element
	index int    // number of the element of up
}

// get returns a member of an object.
func (n node) get(key string) node {
	m, _ := n.value.(map[string]any)
	value, ok := m[key]
	if !ok {
		value = missing{}
	}
	return node{file: n.file, value: value, up: &n, key: key}
}

// at returns the member that is reached by several names, one after another.
func (n node) at(keys ...string) node {
	for _, key := range keys {
		n = n.get(key)
	}
	return n
}

// items returns the elements of a list; none of anything else.
func (n node) items() []node {
	list, _ := n.value.([]any)
	nodes := make([]node, len(list))
	for i, value := range list {
		nodes[i] = node{file: n.file, value: value, up: &n, index: i}
	}
	return nodes
}

// keys returns the names of an object's members, sorted.
func (n node) keys() []string {
	m, _ := n.value.(map[string]any)
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// exists reports whether the value is there at all; null is there.
func (n node) exists() bool { _, gone := n.value.(missing); return !gone }

// hasValue reports whether the value is neither null nor missing.
func (n node) hasValue() bool { return n.value != nil && n.exists() }

// text returns a string, or "".
func (n node) text() string { s, _ := n.value.(string); return s }

// texts returns the strings of a list.
func (n node) texts() []string {
	var texts []string
	for _, item := range n.items() {
		texts = append(texts, item.text())
	}
	return texts
}

// bool returns a boolean, or false.
func (n node) bool() bool { b, _ := n.value.(bool); return b }

// int returns an integer, or 0.
func (n node) int() int {
	number, _ := n.value.(json.Number)
	i, _ := strconv.Atoi(string(number))
	return i
}

// number returns the exact value of a number or of a decimal in a string; nil of anything else.
func (n node) number() *big.Rat {
	text := n.text()
	if number, ok := n.value.(json.Number); ok {
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

// time returns an instant, or the zero time.
func (n node) time() time.Time {
	t, _ := time.Parse(timeLayout, n.text())
	return t
}

// path returns the way to the value: data.endpoints[0].pricing[1].price.
func (n node) path() string {
	return n.way(func(i int) string {
		return "[" + strconv.Itoa(i) + "]"
	}, func(key string) string { return "." + key })
}

// kind returns the file and the path without what differs from service to service and from row to row. All figures of a
// kind follow from one rule.
func (n node) kind() string {
	return fileKind(n.file) + " " + n.way(func(int) string { return "[]" }, func(key string) string {
		if strings.Contains(key, "/") {
			return ".{name}" // such as the total of a list in v1/index.json
		}
		if n.up.up != nil && (n.file == "v1/lookup.json" || n.file == "v1/search.json") && key == n.key {
			return ".{shard}"
		}
		return "." + key
	})
}

func (n node) way(element func(int) string, member func(string) string) string {
	var steps []string
	for at := &n; at.up != nil; at = at.up {
		if at.key == "" {
			steps = append(steps, element(at.index))
		} else {
			steps = append(steps, member(at.key))
		}
	}
	slices.Reverse(steps)
	return strings.TrimPrefix(strings.Join(steps, ""), ".")
}

// set changes the value in the file's tree, for mutations.
func (n node) set(value any) {
	if n.up == nil {
		return // a file has no place that could change
	}
	switch parent := n.up.value.(type) {
	case map[string]any:
		parent[n.key] = value
	case []any:
		parent[n.index] = value
	}
}

// leaves calls visit for each value below n that is no object and no list, and for each empty one.
func (n node) leaves(visit func(node)) {
	switch value := n.value.(type) {
	case map[string]any:
		for _, key := range n.keys() {
			n.get(key).leaves(visit)
		}
		if len(value) == 0 {
			visit(n)
		}
	case []any:
		for _, item := range n.items() {
			item.leaves(visit)
		}
		if len(value) == 0 {
			visit(n)
		}
	default:
		visit(n)
	}
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
	{regexp.MustCompile(`^(v1/|)facilitators/[^/.{]+`), "${1}facilitators/{id}"},
	{regexp.MustCompile(`^discovery/resources/.*`), "discovery/resources/{list}"},
	{regexp.MustCompile(`^v1/search/.*`), "v1/search/{word}"},
	{regexp.MustCompile(`^v1/lookup/([^/]*)/.*`), "v1/lookup/$1/{hash}"},
	{regexp.MustCompile(`^(categories|networks)/[^/.{]+`), "$1/{slug}"},
	{regexp.MustCompile(`service=[^/]*`), "service={slug}"},
	{regexp.MustCompile(`type=[^/]*`), "type={type}"},
	{regexp.MustCompile(`block=[0-9]+`), "block={n}"},
	{regexp.MustCompile(`page=[0-9]+`), "page={n}"},
}

// fileKinds has the kinds of files that were asked for.
var fileKinds = map[string]string{}

func fileKind(name string) string {
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
