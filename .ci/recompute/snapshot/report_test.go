package snapshot

import (
	"math/big"
	"testing"
	"time"

	"tollbook/site/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// parsedFile returns a file with this JSON text.
func parsedFile(text string) Node {
	return Node{File: "v1/services/acme.json", Value: ParseJSON([]byte(text))}
}

// TestFigure checks which published values are equal to a recomputed one.
func TestFigure(t *testing.T) {
	at := time.Date(2026, 11, 22, 23, 4, 5, 6e6, time.UTC)
	for _, test := range []struct {
		published  string
		recomputed any
		equal      bool
	}{
		{`null`, nil, true},
		{`0`, nil, false},
		{`null`, 0, false},
		{`12`, 12, true},
		{`12.50`, big.NewRat(25, 2), true},
		{`12.51`, big.NewRat(25, 2), false},
		{`1e-7`, big.NewRat(1, 10_000_000), true},
		{`0.3333`, big.NewRat(1, 3), false},
		{`null`, (*big.Rat)(nil), true},
		{`"12"`, 12, false},
		{`"a"`, "a", true},
		{`true`, true, true},
		{`"2026-11-22T23:04:05.006Z"`, at, true},
		{`"2026-11-22T23:04:05.007Z"`, at, false},
		{`null`, time.Time{}, true},
		{`["a","b"]`, []string{"a", "b"}, true},
		{`["b","a"]`, []string{"a", "b"}, false},
		{`["a"]`, []string{"a", "b"}, false},
		{`[]`, []string{}, true},
		{`null`, []string{}, false},
		{`{"a":1,"b":[2]}`, map[string]any{"a": 1, "b": []any{2}}, true},
		{`{"a":1,"b":[2],"c":3}`, map[string]any{"a": 1, "b": []any{2}}, false},
		{`{"a":1}`, parsedFile(`{"a":1.0}`), true},
		{`{"a":1}`, parsedFile(`{"a":2}`), false},
	} {
		r := &Report{Kinds: map[string]*Kind{}, Explained: map[string]bool{}}
		r.Figure("a rule", parsedFile(`{"data":`+test.published+`}`).Get("data"), test.recomputed)
		if equal := len(r.Differences) == 0; equal != test.equal {
			t.Errorf("%s compared with %v: equal %v, want %v", test.published, test.recomputed, equal, test.equal)
		}
	}
}

// TestKind checks that figures of the same rule have the same kind.
func TestKind(t *testing.T) {
	for file, want := range map[string]string{
		"v1/services/acme.json":                                "v1/services/{slug}.json",
		"v1/services/acme/checks/block=86.json":                "v1/services/{slug}/checks/block={n}.json",
		"v1/services/status=online/sort=uptime/page=1.json":    "v1/services/{list}",
		"v1/lookup/url/0f.json":                                "v1/lookup/url/{hash}",
		"v1/changes/service=a/type=price_changed/block=0.json": "v1/changes/service={slug}/type={type}/block={n}.json",
		"v1/facilitators/acme.json":                            "v1/facilitators/{id}.json",
	} {
		if got := FileKind(file); got != want {
			t.Errorf("FileKind(%q) = %q, want %q", file, got, want)
		}
	}
	price := parsedFile(`{"data":{"endpoints":[{"pricing":[{"price":"1"}]}]}}`).At("data", "endpoints").Items()[0].
		Get("pricing").Items()[0].Get("price")
	if got, want := price.Path(), "data.endpoints[0].pricing[0].price"; got != want {
		t.Errorf("path %q, want %q", got, want)
	}
	if got, want := price.Kind(), "v1/services/{slug}.json data.endpoints[].pricing[].price"; got != want {
		t.Errorf("kind %q, want %q", got, want)
	}
}
