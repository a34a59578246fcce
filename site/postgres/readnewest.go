package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// newestRows are the newest rows of the log of all services, oldest first, packed as they came: nothing has them in order, and a
// fraction of what they are unpacked is sorted.
type newestRows struct {
	packs    []checkPack
	rows     []newestRow
	unpacker unpacker
}

// newestRow is check i of a pack.
type newestRow struct {
	at      int64 // microseconds
	pack, i int32
}

// newest reads the newest checks of all services before t, the end of an hour: so many at least, where they are kept. It looks back as
// far as they may be expected first, then further, until keptSince.
func (r *Reader) newest(ctx context.Context, t, keptSince time.Time, back time.Duration, wanted int64) (*newestRows, error) {
	for ; ; back *= 4 {
		since := t.Add(-back)
		all := !since.After(keptSince)
		if all {
			since = time.Time{}
		}
		n := &newestRows{rows: make([]newestRow, 0, wanted+wanted/16), unpacker: unpacker{once{}}}
		hour := hourOf(since)
		after := binary.BigEndian.AppendUint32(nil, uint32(since.Sub(hour).Microseconds()))
		err := servicePacks(ctx, r.tx, `
			SELECT service_id, hour, checks, texts FROM check_packs
			WHERE hour >= $1 AND hour < $2 AND (hour > $1 OR substring(checks FROM length(checks) - $3 FOR 4) >= $4) -- of a pack's last check`,
			func(p *checkPack) error {
				n.add(p, since.UnixMicro())
				return nil
			}, hour, t, packedSize-packedAfter-1, after)
		if err != nil {
			return nil, fmt.Errorf("read checks: %w", err)
		}
		if all || int64(len(n.rows)) >= wanted {
			slices.SortFunc(n.rows, n.compare)
			return n, nil
		}
	}
}

// add adds the checks of a pack since a time.
func (n *newestRows) add(p *checkPack, since int64) {
	hour, before := p.hour.UnixMicro(), len(n.rows)
	for i := range p.len() {
		if at := hour + p.at(i).after().Microseconds(); at >= since {
			n.rows = append(n.rows, newestRow{at, int32(len(n.packs)), int32(i)})
		}
	}
	if len(n.rows) > before {
		n.packs = append(n.packs, *p)
		n.packs[len(n.packs)-1].checks = bytes.Clone(p.checks)
	}
}

// compare orders rows as compareRows does.
func (n *newestRows) compare(a, b newestRow) int {
	if a.at != b.at {
		return cmp.Compare(a.at, b.at)
	}
	one, other := n.packs[a.pack].at(int(a.i)).id(), n.packs[b.pack].at(int(b.i)).id()
	return bytes.Compare(one[:], other[:])
}

// unpack unpacks count rows from one on, and leaves room for more behind them.
func (n *newestRows) unpack(from, count, more int) ([]Check, error) {
	checks := make([]Check, count, count+more)
	for k, row := range n.rows[from : from+count] {
		var err error
		if checks[k], err = n.unpacker.check(&n.packs[row.pack], int(row.i)); err != nil {
			return nil, err
		}
	}
	return checks, nil
}
