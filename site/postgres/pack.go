package postgres

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// payeeDay sums what one flow settled to a payee on a UTC day.
type payeeDay struct {
	day    int32 // since 1970
	n      int64
	amount amount
	last   int64 // microseconds since 1970
}

const (
	dayMicros = 24 * 60 * 60 * 1_000_000

	packedDays = 30 // what has left the window is packed by as many days, so that a pack is seldom written again
	packAtOnce = 500

	largeAmount = 1 << 63 // of the number that follows as bytes, whose length it stands before
)

// window is the first day of those that a build reads one by one.
func window(today int32) int32 { return today + 1 - int32(site.WindowDays["90d"]) }

// closed is the last day that packs hold, of those before the window.
func closed(today int32) int32 {
	return int32(floorDiv(int64(window(today)), packedDays))*packedDays - 1
}

// pack writes days, oldest first, in a few bytes each: days since the one before, settlements, atomic units, and when the
// last settlement was, in seconds of the day where it was a whole one.
func pack(days []payeeDay) []byte {
	b := make([]byte, 0, 10*len(days))
	before := int32(0)
	for _, d := range days {
		b = binary.AppendVarint(b, int64(d.day-before))
		b = binary.AppendUvarint(b, uint64(d.n))
		if d.amount.large == nil {
			b = binary.AppendUvarint(b, d.amount.small)
		} else {
			digits := d.amount.large.Bytes()
			b = append(binary.AppendUvarint(b, largeAmount|uint64(len(digits))), digits...)
		}
		at := uint64(d.last - int64(d.day)*dayMicros)
		if at%1_000_000 == 0 {
			b = binary.AppendUvarint(b, at/1_000_000<<1)
		} else {
			b = binary.AppendUvarint(b, at<<1|1)
		}
		before = d.day
	}
	return b
}

var errDamagedPack = errors.New("packed days are damaged: after DELETE FROM payee_packs they are packed anew from their rows")

// unpack adds what pack wrote to a list.
func unpack(b []byte, days []payeeDay) ([]payeeDay, error) {
	var bad bool
	next := func() uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			bad, b = true, nil
			return 0
		}
		b = b[size:]
		return n
	}
	before := int64(0)
	for len(b) > 0 {
		ago, size := binary.Varint(b)
		if size <= 0 {
			return nil, errDamagedPack
		}
		b = b[size:]
		before += ago
		d := payeeDay{day: int32(before), n: int64(next())}
		d.amount.small = next()
		if length := d.amount.small &^ largeAmount; d.amount.small >= largeAmount {
			if length > uint64(len(b)) {
				return nil, errDamagedPack
			}
			d.amount = amount{large: new(big.Int).SetBytes(b[:length])}
			b = b[length:]
		}
		at := next()
		d.last = before*dayMicros + int64(at>>1)
		if at&1 == 0 {
			d.last = before*dayMicros + int64(at>>1)*1_000_000
		}
		if bad {
			return nil, errDamagedPack
		}
		days = append(days, d)
	}
	return days, nil
}

// dropPacks is of a statement in which u names payees, flows and days that change. Where none of the days is old enough
// for any pack, none is looked for. Packs are found by their keys, whatever the planner thinks of it.
const dropPacks = `
	DELETE FROM payee_packs WHERE ctid = ANY (ARRAY(
		SELECT (SELECT p.ctid FROM payee_packs p WHERE p.payee_id = u.payee AND p.flow_id = u.flow AND p.through >= u.day)
		FROM u WHERE u.day <= (SELECT max(through) FROM payee_packs)
	))`

// payeeFlow is what one flow settles to a payee.
type payeeFlow struct {
	payee int64
	flow  int32
}

// payeeDayColumns are of a row d of payee_days. What no word holds comes as text: hardly ever.
const payeeDayColumns = `d.payee_id, d.flow_id, d.day - date '1970-01-01', d.settlements,
	CASE WHEN d.amount <= ` + maxWord + ` THEN d.amount::bigint ELSE -1 END, CASE WHEN d.amount <= ` + maxWord + ` THEN NULL ELSE d.amount::text END, d.last_at`

// maxWord is the largest amount that comes as a word.
const maxWord = `9223372036854775807`

// eachPayeeDay goes through rows of payeeDayColumns.
func eachPayeeDay(rows pgx.Rows, take func(payeeFlow, payeeDay) error) error {
	var of payeeFlow
	var d payeeDay
	var units int64
	var large *string
	var last time.Time
	_, err := pgx.ForEachRow(rows, []any{&of.payee, &of.flow, &d.day, &d.n, &units, &large, &last}, func() error {
		d.amount, d.last = amount{small: uint64(units)}, last.UnixMicro()
		if large != nil {
			var ok bool
			if d.amount, ok = parseAmount(*large); !ok {
				return fmt.Errorf("sum %.80q of a day is no integer", *large)
			}
		}
		return take(of, d)
	})
	return err
}

// readDaysOf reads the days of payees, each from the one after its own on, up to a day.
func readDaysOf(ctx context.Context, tx pgx.Tx, of []payeeFlow, after []int32, through int32, take func(payeeFlow, payeeDay) error) error {
	payees, flows := make([]int64, len(of)), make([]int32, len(of))
	for i, id := range of {
		payees[i], flows[i] = id.payee, id.flow
	}
	rows, err := tx.Query(ctx, `
		SELECT `+payeeDayColumns+` FROM unnest($1::bigint[], $2::integer[], $3::integer[]) u (payee, flow, after), LATERAL (
			SELECT * FROM payee_days d WHERE d.payee_id = u.payee AND d.flow_id = u.flow AND d.day > date '1970-01-01' + u.after AND d.day <= $4
			ORDER BY d.day OFFSET 0
		) d`, payees, flows, after, dayTime(through))
	if err != nil {
		return err
	}
	return eachPayeeDay(rows, take)
}

// Pack keeps those closed days of payees that takings found as rows of their own in one row for each payee and flow, so
// that the next reader finds them there. It takes them as they are by now, a few payees at a time: killed between, it
// leaves fewer packs. While a fill goes through days that are packed, each build packs them anew.
func (db *DB) Pack(ctx context.Context, t *Takings) error {
	for of := range slices.Chunk(t.loose, packAtOnce) {
		for len(of) > 0 {
			n := 1
			for n < len(of) && of[n].chain == of[0].chain {
				n++
			}
			if err := db.transact(ctx, func(tx pgx.Tx) error {
				if err := lock(ctx, tx, of[0].chain); err != nil {
					return err
				}
				return packDays(ctx, tx, of[:n], t.closed)
			}); err != nil {
				return fmt.Errorf("pack days of %d payees: %w", n, err)
			}
			of = of[n:]
		}
	}
	return nil
}

// looseDays names a payee and a flow of which closed days are not in a pack.
type looseDays struct {
	chain int16
	payeeFlow
}

func compareLoose(a, b looseDays) int {
	return cmp.Or(cmp.Compare(a.chain, b.chain), cmp.Compare(a.payee, b.payee), cmp.Compare(a.flow, b.flow))
}

// packDays adds to the packs of payees, or makes them. No day of theirs changes meanwhile.
func packDays(ctx context.Context, tx pgx.Tx, loose []looseDays, through int32) error {
	of, after := make([]payeeFlow, len(loose)), make([]int32, len(loose))
	payees, flows := make([]int64, len(loose)), make([]int32, len(loose))
	at := make(map[payeeFlow]int, len(loose))
	for i, l := range loose {
		of[i], payees[i], flows[i], after[i], at[l.payeeFlow] = l.payeeFlow, l.payee, l.flow, noDay, i
	}
	days := make([][]payeeDay, len(loose))
	rows, err := tx.Query(ctx, `
		SELECT p.payee_id, p.flow_id, p.through - date '1970-01-01', p.days FROM unnest($1::bigint[], $2::integer[]) u (payee, flow), LATERAL (
			SELECT * FROM payee_packs p WHERE p.payee_id = u.payee AND p.flow_id = u.flow OFFSET 0
		) p`, payees, flows)
	if err != nil {
		return err
	}
	var id payeeFlow
	var until int32
	var packed []byte
	_, err = pgx.ForEachRow(rows, []any{&id.payee, &id.flow, &until, &packed}, func() (err error) {
		after[at[id]] = until
		days[at[id]], err = unpack(packed, nil)
		return err
	})
	if err == nil {
		err = readDaysOf(ctx, tx, of, after, through, func(id payeeFlow, d payeeDay) error {
			days[at[id]] = append(days[at[id]], d)
			return nil
		})
	}
	if err != nil {
		return err
	}
	packs := make([][]byte, len(loose))
	for i := range days {
		packs[i] = pack(days[i])
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO payee_packs AS old (payee_id, flow_id, through, days) SELECT payee, flow, $3, days FROM unnest($1::bigint[], $2::integer[], $4::bytea[]) u (payee, flow, days)
		ON CONFLICT (payee_id, flow_id) DO UPDATE SET through = excluded.through, days = excluded.days WHERE old.through < excluded.through`,
		payees, flows, dayTime(through), packs)
	return err
}

// noDay is before all days of which there is something, and within those that the database has.
const noDay = -1_000_000
