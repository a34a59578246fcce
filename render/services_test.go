package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPageNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		current, total int
		want           []int
	}{
		{1, 1, []int{1}},
		{1, 3, []int{1, 2, 3}},
		{1, 9, []int{1, 2, 0, 9}},
		{5, 9, []int{1, 0, 4, 5, 6, 0, 9}},
		{9, 9, []int{1, 0, 8, 9}},
		{1, 0, nil},
		{12, 3, []int{1, 0, 3}},
	} {
		if diff := cmp.Diff(c.want, pageNumbers(c.current, c.total)); diff != "" {
			t.Errorf("page %d of %d (-want +got):\n%s", c.current, c.total, diff)
		}
	}
}
