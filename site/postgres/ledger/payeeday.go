package ledger

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// payeeDay is what one token settled to a payee on a UTC day.
type payeeDay struct {
	day         int32 // since 1970
	n           int64
	amount      amount
	first, last int64 // microseconds since 1970
}

// microTime returns a time of a payeeDay.
func microTime(micro int64) time.Time { return time.UnixMicro(micro).UTC() }

// windowStart returns the first of the 90 days, ending today, that a build reads day by day.
func windowStart(today int32) int32 { return today + 1 - int32(site.WindowDays["90d"]) }

// payeeToken identifies the settlements of one token to one payee.
type payeeToken struct {
	payee   int64
	tokenID int32
}

// payeeDayColumns are the columns of a row d of payee_days. An amount that does not fit into a bigint is returned as
// text, which is rare.
const payeeDayColumns = `d.payee_id, d.token_id, d.day - date '1970-01-01', d.settlements,
	CASE WHEN d.amount <= ` + maxWord + ` THEN d.amount::bigint ELSE -1 END,
	CASE WHEN d.amount <= ` + maxWord + ` THEN NULL ELSE d.amount::text END, d.first_at, d.last_at`

// maxWord is the largest bigint.
const maxWord = `9223372036854775807`

// eachPayeeDay calls take with each row of payeeDayColumns.
func eachPayeeDay(rows pgx.Rows, take func(payeeToken, payeeDay) error) error {
	var of payeeToken
	var d payeeDay
	var units int64
	var large *string
	var first, last time.Time
	_, err := pgx.ForEachRow(rows, []any{&of.payee, &of.tokenID, &d.day, &d.n, &units, &large, &first, &last}, func() error {
		d.amount, d.first, d.last = amount{small: uint64(units)}, first.UnixMicro(), last.UnixMicro()
		if large != nil {
			var ok bool
			if d.amount, ok = parseAmount(*large); !ok {
				return fmt.Errorf("amount %.80q of a row of payee_days (payee_id %d, token_id %d) is no whole number", *large,
					of.payee, of.tokenID)
			}
		}
		return take(of, d)
	})
	return err
}
