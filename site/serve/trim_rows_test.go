package serve

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/output/archive"
)

func TestTrimRow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		row  string
		n    int
		want string
	}{
		{`{"id":"a"}`, 3, `{"id":"a"}`},
		{`{"timeseries":[]}`, 1, `{"timeseries":[]}`},
		{`{"timeseries":[{"n":1}],"x":1}`, 1, `{"timeseries":[{"n":1}],"x":1}`},
		{`{"timeseries":[{"n":1},{"n":2}],"x":1}`, 1, `{"timeseries":[{"n":2}],"x":1}`},
		{`{"timeseries":[1,22,-3.5e6,null,true]}`, 3, `{"timeseries":[-3.5e6,null,true]}`},
		{`{"timeseries":[[1,2],["],",{}],{"a":[{}]}],"x":[1,2]}`, 2, `{"timeseries":[["],",{}],{"a":[{}]}],"x":[1,2]}`},
		{`{"name":"\"timeseries\":[1,2,3]","timeseries":[4,5]}`, 1,
			`{"name":"\"timeseries\":[1,2,3]","timeseries":[5]}`},
		{`{"timeseries":["a\\","\"]","b"]}`, 2, `{"timeseries":["\"]","b"]}`},
	} {
		got, err := trimRow([]byte(c.row), c.n)
		if diff := cmp.Diff(c.want, string(got)); err != nil || diff != "" {
			t.Errorf("the last %d of %s, error %v (-want +got):\n%s", c.n, c.row, err, diff)
		}
	}
	for _, row := range []string{`{"timeseries":[`, `{"timeseries":[{"a":1}`, `{"timeseries":["]`,
		`{"timeseries":[1,2,"\`} {
		if got, err := trimRow([]byte(row), 1); !errors.Is(err, archive.ErrDamaged) {
			t.Errorf("%s is cut to %s, error %v", row, got, err)
		}
	}
}

// TestTrimRowIsSlice checks that cutting the bytes of a series gives the same result as cutting its list, for any
// elements.
func TestTrimRowIsSlice(t *testing.T) {
	t.Parallel()
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaves := []*rapid.Generator[any]{rapid.String().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(),
			rapid.Just[any](nil)}
		if depth > 0 {
			deeper := rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) })
			leaves = append(leaves, rapid.SliceOfN(deeper, 0, 4).AsAny(),
				rapid.MapOfN(rapid.String(), deeper, 0, 4).AsAny())
		}
		return rapid.OneOf(leaves...)
	}
	type row struct {
		Name       string `json:"name"`
		Timeseries []any  `json:"timeseries"`
		After      any    `json:"zz"`
	}
	rapid.Check(t, func(t *rapid.T) {
		full := row{rapid.String().Draw(t, "name"), rapid.SliceOfN(value(2), 0, 12).Draw(t, "series"),
			value(2).Draw(t, "after")}
		n := rapid.IntRange(1, 12).Draw(t, "n")
		short := full
		short.Timeseries = full.Timeseries[max(0, len(full.Timeseries)-n):]
		data, err := json.Marshal(full)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(short)
		if err != nil {
			t.Fatal(err)
		}
		got, err := trimRow(data, n)
		if diff := cmp.Diff(string(want), string(got)); err != nil || diff != "" {
			t.Fatalf("error %v (-want +got):\n%s", err, diff)
		}
	})
}
