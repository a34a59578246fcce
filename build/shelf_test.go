package build

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
	"tollbook/site/postgres"
)

// TestShelfKeepsEveryField puts values away whose every field is set, and empty ones: what comes back is the same.
func TestShelfKeepsEveryField(t *testing.T) {
	t.Parallel()
	known := site.Known{Detail: site.ServiceDetail{Endpoints: []site.Endpoint{}, Networks: []string{}}, Terms: []site.Terms{{}}}
	fill(reflect.ValueOf(&known.Detail).Elem(), 0)
	fill(reflect.ValueOf(&known.Terms).Elem(), 0)
	known.Changes = []site.ChangeRecord{{Type: site.PriceChanged, ObservedAt: site.NewTime(now)}, {}}
	var facts postgres.EndpointFacts
	fill(reflect.ValueOf(&facts.Endpoint).Elem(), 0)
	fill(reflect.ValueOf(&facts.Prices).Elem(), 0)
	facts.HeadFree, facts.Prices[0].Since = new(false), now.Add(time.Nanosecond)
	kept(t, known, site.Known{}, known)
	kept(t, nil, []postgres.EndpointFacts{}, []postgres.EndpointFacts{facts, {}, facts})
}

// kept holds a shelf to what is put there.
func kept[T any](t *testing.T, values ...T) {
	t.Helper()
	s := newShelf[T](len(values))
	for i := range values {
		s.put(i, &values[i])
	}
	for i := range values {
		if diff := cmp.Diff(values[i], s.get(i)); diff != "" {
			t.Errorf("value %d of %T (-want +got):\n%s", i, values[i], diff)
		}
	}
}

// TestShelf puts and drops values of any sizes, with texts that come once and texts that come again.
func TestShelf(t *testing.T) {
	t.Parallel()
	type value struct {
		Text  string
		Texts []*string
		Price postgres.Price
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.StringN(0, 3, -1).Draw(t, "text"), rapid.SampledFrom([]int{1, 30, shelfPiece / 2}).Draw(t, "times"))
		})
		n := rapid.IntRange(1, 12).Draw(t, "values")
		want, s := make([]value, n), newShelf[value](n)
		for i := range want {
			want[i] = value{text.Draw(t, "own"), []*string{nil, new(text.Draw(t, "listed"))}, postgres.Price{Scheme: "exact", Amount: text.Draw(t, "amount")}}
			s.put(i, &want[i])
		}
		order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range n {
				if !yield(i) {
					return
				}
			}
		})).Draw(t, "order")
		for _, i := range order {
			if diff := cmp.Diff(want[i], s.get(i)); diff != "" {
				t.Fatalf("value %d (-want +got):\n%s", i, diff)
			}
			s.drop(i)
			if diff := cmp.Diff(value{}, s.get(i)); diff != "" {
				t.Fatalf("value %d, dropped (-want +got):\n%s", i, diff)
			}
		}
		for i, p := range s.pieces[:len(s.pieces)-1] {
			if p.data != nil {
				t.Errorf("piece %d of %d is still there", i, len(s.pieces))
			}
		}
	})
}
