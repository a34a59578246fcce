package figure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"strconv"
	"strings"

	"tollbook/site"
	"tollbook/site/routes"
)

// A Query runs a statement and returns the names of its columns and its rows as texts, nil for NULL.
type Query func(ctx context.Context, sql string) (columns []string, rows [][]*string, err error)

// Difference is a published value that its proof does not give.
type Difference struct {
	Proof     string  `json:"proof"`
	Path      string  `json:"path"`
	Value     string  `json:"value"`     // its place in the JSON
	Published string  `json:"published"` // as JSON; "missing" if there is no such place
	Proved    *string `json:"proved"`    // as the query gives it
}

// Result is what a check found.
type Result struct {
	Kinds       int          `json:"kinds"`   // values by name that proofs give
	Figures     int          `json:"figures"` // values that were compared
	Differences []Difference `json:"differences"`
}

// Check runs proofs and compares their rows with the JSON of a snapshot. read returns a file of the snapshot by its key;
// its error is fs.ErrNotExist if there is none. An error means that a proof or a file could not be read.
func Check(ctx context.Context, proofs []site.DatasetProof, query Query, read func(key string) ([]byte, error)) (Result, error) {
	r := Result{Differences: []Difference{}}
	documents := map[string]any{} // by key; nil if the snapshot lacks it
	for _, p := range proofs {
		columns, rows, err := query(ctx, p.SQL)
		if err != nil {
			return r, fmt.Errorf("proof %s: %w", p.Name, err)
		}
		values := valuesOf(p.Path, columns)
		r.Kinds += len(values)
		if len(values) == 0 {
			return r, fmt.Errorf("proof %s: no column names a place in the JSON", p.Name)
		}
		for _, row := range rows {
			if err := ctx.Err(); err != nil {
				return r, err
			}
			path := fill(p.Path, columns, row)
			key, err := keyOf(path)
			if err != nil {
				return r, fmt.Errorf("proof %s: %s: %w", p.Name, path, err)
			}
			document, ok := documents[key]
			if !ok {
				if document, err = decode(read, key); err != nil {
					return r, fmt.Errorf("proof %s: %s: %w", p.Name, path, err)
				}
				documents[key] = document
			}
			for _, i := range values {
				r.Figures++
				place := fill(columns[i], columns, row)
				published, ok := lookUp(document, place)
				if ok && isEqual(published, row[i]) {
					continue
				}
				d := Difference{Proof: p.Name, Path: path, Value: place, Published: "missing", Proved: row[i]}
				if ok {
					text, err := json.Marshal(published)
					if err != nil {
						return r, err
					}
					d.Published = string(text)
				}
				r.Differences = append(r.Differences, d)
			}
		}
	}
	return r, nil
}

// valuesOf returns the columns that are values: neither the path nor another column names them in braces.
func valuesOf(path string, columns []string) (values []int) {
	all := path + " " + strings.Join(columns, " ")
	for i, c := range columns {
		if !strings.Contains(all, "{"+c+"}") {
			values = append(values, i)
		}
	}
	return values
}

// fill replaces columns in braces by the values of a row.
func fill(text string, columns []string, row []*string) string {
	for i, c := range columns {
		if row[i] != nil {
			text = strings.ReplaceAll(text, "{"+c+"}", *row[i])
		}
	}
	return text
}

// keyOf returns the key of the response to a GET of the API.
func keyOf(path string) (string, error) {
	path, query, _ := strings.Cut(path, "?")
	q, err := routes.ParseRequest(path, query)
	if err != nil {
		return "", err
	}
	return q.Key(), nil
}

func decode(read func(key string) ([]byte, error), key string) (document any, err error) {
	body, err := read(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return document, d.Decode(&document)
}

// lookUp returns the value at a place such as data.endpoints[id=5].price; false if there is none.
func lookUp(v any, place string) (any, bool) {
	for place != "" {
		var step string
		step, place = nextStep(place)
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		name, which, isElement := strings.Cut(strings.TrimSuffix(step, "]"), "[")
		if v, ok = object[name]; !ok {
			return nil, false
		}
		if !isElement {
			continue
		}
		list, ok := v.([]any)
		if !ok {
			return nil, false
		}
		if v, ok = element(list, which); !ok {
			return nil, false
		}
	}
	return v, true
}

// nextStep cuts a place after its first step; the name of an element may have points.
func nextStep(place string) (step, rest string) {
	depth := 0
	for i, c := range place {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		case '.':
			if depth == 0 {
				return place[:i], place[i+1:]
			}
		}
	}
	return place, ""
}

// element returns the element of a list whose members have the values of which: "id=5" or "a=1,b=2".
func element(list []any, which string) (any, bool) {
	for _, e := range list {
		object, ok := e.(map[string]any)
		for condition := range strings.SplitSeq(which, ",") {
			name, want, _ := strings.Cut(condition, "=")
			ok = ok && fmt.Sprint(object[name]) == want
		}
		if ok {
			return e, true
		}
	}
	return nil, false
}

// isEqual compares a published value with that of a query. Numbers are equal if they differ by at most a billionth of
// their size, because SQL divides and sums dollars as floating-point numbers.
func isEqual(published any, proved *string) bool {
	switch v := published.(type) {
	case nil:
		return proved == nil
	case bool:
		return proved != nil && (*proved == strconv.FormatBool(v) || *proved == map[bool]string{true: "1", false: "0"}[v])
	case string:
		return proved != nil && *proved == v
	case json.Number:
		if proved == nil {
			return false
		}
		a, ok := new(big.Rat).SetString(v.String())
		b, okB := new(big.Rat).SetString(*proved)
		if !ok || !okB {
			return false
		}
		size := new(big.Rat).Abs(a)
		return new(big.Rat).Abs(new(big.Rat).Sub(a, b)).Cmp(size.Mul(size, big.NewRat(1, 1e9))) <= 0
	}
	return false
}
