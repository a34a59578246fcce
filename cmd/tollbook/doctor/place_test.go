package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// conditionless is a folder that treats the conditions of writes as some stores do.
type conditionless struct {
	*objects.StoreDir
	change func(*objects.PutOptions) error
}

func (c conditionless) Put(ctx context.Context, name string, body objects.Body, o objects.PutOptions) (string, error) {
	if err := c.change(&o); err != nil {
		return "", err
	}
	return c.StoreDir.Put(ctx, name, body, o)
}

// TestTryStore checks what is said of stores that do not keep conditions, and that nothing is left there.
func TestTryStore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*objects.PutOptions) error
		state  string
		found  string
	}{
		"keeps conditions": {func(*objects.PutOptions) error { return nil }, Good, "supports conditional writes"},
		"ignores both": {func(o *objects.PutOptions) error { o.IfMatch, o.IfNone = "", false; return nil }, Warning,
			"ignores If-None-Match in silence"},
		"ignores If-Match": {func(o *objects.PutOptions) error { o.IfMatch = ""; return nil }, Warning,
			"ignores If-Match in silence"},
		"refuses If-Match": {func(o *objects.PutOptions) error {
			if o.IfMatch != "" {
				return errors.ErrUnsupported
			}
			return nil
		}, Warning, "refuses writes with If-Match"},
		"never matches": {func(o *objects.PutOptions) error {
			if o.IfMatch != "" {
				return archive.ErrCondition
			}
			return nil
		}, Warning, "refuses a write with If-Match and the ETag that it returned"},
	} {
		dir, err := objects.OpenStoreDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		got := tryStore(t.Context(), conditionless{dir, test.change})
		if got.State != test.state || !strings.Contains(got.Found, test.found) || (got.Do == "") != (test.state == Good) {
			t.Errorf("a store that %s: %+v, want %s, %q", name, got, test.state, test.found)
		}
		if left, err := dir.List(t.Context(), ""); err != nil || len(left) > 0 {
			t.Errorf("a store that %s: %v is left, %v", name, left, err)
		}
	}
}
