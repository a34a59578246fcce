package rows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site/postgres/rows"
)

// TestUnnest checks the statement of rows and its arrays: columns have the names and the order of the fields.
func TestUnnest(t *testing.T) {
	t.Parallel()
	type row struct {
		ID     uuid.UUID  `db:"id,uuid"`
		At     *time.Time `db:"at,timestamptz"`
		Amount string     `db:"amount,text[]::numeric"`
		Note   string     // in no statement
		Hidden int        `db:"-"`
	}
	id, at := uuid.MustParse("0190b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1"), time.Unix(1, 0)
	from, args := rows.Unnest([]row{{ID: id, At: &at, Amount: "1", Note: "a"}, {Amount: "2"}})
	want := "unnest($1::uuid[], $2::timestamptz[], $3::text[]::numeric[]) AS v (id, at, amount)"
	if from != want {
		t.Errorf("source of rows = %s, want %s", from, want)
	}
	if diff := cmp.Diff([]any{[][16]byte{id, {}}, []*time.Time{&at, nil}, []string{"1", "2"}}, args); diff != "" {
		t.Errorf("arrays (-want +got):\n%s", diff)
	}
	if got, want := rows.Columns[row](), "id, at, amount"; got != want {
		t.Errorf("columns = %s, want %s", got, want)
	}
	var r row
	if got := rows.Pointers(&r); !slices.Equal(got, []any{&r.ID, &r.At, &r.Amount}) {
		t.Errorf("pointers = %v", got)
	}
}
