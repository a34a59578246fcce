package postgres_test

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/bulk"
	"tollbook/site/postgres/ledger"
)

// checkPayments compares the published rows of payments with the list. Redemptions are the rows of payer 0.
func checkPayments(t *testing.T, conn *pgx.Conn, list []ledger.Settlement) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	kinds := map[bool]string{true: "redeemed", false: "paid"}
	key := func(isBatch bool, day time.Time, facilitator, network, token, payee string) string {
		return fmt.Sprint(kinds[isBatch], day.Format(" 2006-01-02 "), facilitator, " ", network, " ", token, " ", payee)
	}
	sums, counts := map[string]*big.Int{}, map[string]int64{}
	if err := bulk.NewReader(tx).Settlements(t.Context(), start.AddDate(0, -2, 0), start.AddDate(0, 1, 0),
		func(s *bulk.Settlement) error {
			k := key(s.Payer == 0, s.Day, s.Facilitator, s.Network, s.Token, s.Payee)
			if sums[k] == nil {
				sums[k] = new(big.Int)
			}
			amount, _ := new(big.Int).SetString(s.Amount, 10)
			sums[k].Add(sums[k], amount)
			counts[k] += s.Settlements
			return nil
		}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for k, sum := range sums {
		got = append(got, fmt.Sprintf("%s: %d, %s", k, counts[k], sum))
	}
	slices.Sort(got)
	want := sumBy(list, func(s ledger.Settlement) string {
		return key(s.Method == ledger.MethodBatch, s.Time, s.Facilitator, s.Network, s.Token, s.Payee)
	})
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("rows of payments (-want +got):\n%s", diff)
	}
}
