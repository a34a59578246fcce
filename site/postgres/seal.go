package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// packHours packs the checks of hours that are about to be sealed by service and hour, and gives them their numbers. The batches that
// held them go.
func packHours(ctx context.Context, tx pgx.Tx, from, to time.Time) error {
	places := logPlaces{}
	var full []filled
	for hour := from; hour.Before(to); hour = hour.Add(time.Hour) {
		s := sealing{hour: hour.UTC()}
		if err := batches(ctx, tx, `WHERE hour = $1`, s.take, hour); err != nil {
			return fmt.Errorf("read checks of %s: %w", hour.Format(time.RFC3339), err)
		}
		if len(s.rows) == 0 {
			continue
		}
		s.sort()
		if err := places.read(ctx, tx, append([]int64{0}, s.services()...)); err != nil {
			return fmt.Errorf("read log positions: %w", err)
		}
		full = s.number(places, full)
		if err := s.keep(ctx, tx); err != nil {
			return err
		}
	}
	if err := copyBlocks(ctx, tx, full); err != nil {
		return err
	}
	if err := places.keep(ctx, tx); err != nil {
		return fmt.Errorf("keep log positions: %w", err)
	}
	if _, err := tx.Exec(ctx, `DELETE FROM check_batches WHERE hour < $1`, to); err != nil {
		return fmt.Errorf("drop packed batches: %w", err)
	}
	return nil
}

// sealing is an hour on its way from batches to the packs of services.
type sealing struct {
	hour time.Time
	rows []sealedCheck
	log  []logged // in the order of services, and of each as its log is
	of   []int32  // where in log each service's rows begin, and where the last one's end
}

// sealedCheck is a check with the texts that it names.
type sealedCheck struct {
	check packed
	texts []string
}

// logged is what rows are sorted by.
type logged struct {
	service int64
	after   uint32 // microseconds of the hour
	row     int32
}

func (s *sealing) take(p *checkPack) error {
	p.checks = bytes.Clone(p.checks)
	s.rows, s.log = slices.Grow(s.rows, p.len()), slices.Grow(s.log, p.len())
	for i, service := range p.services {
		c := p.at(i)
		s.log = append(s.log, logged{service, binary.BigEndian.Uint32(c[packedAfter:]), int32(len(s.rows))})
		s.rows = append(s.rows, sealedCheck{c, p.texts})
	}
	return nil
}

// sort puts the log in order.
func (s *sealing) sort() {
	slices.SortFunc(s.log, func(a, b logged) int {
		switch {
		case a.service != b.service:
			return cmp.Compare(a.service, b.service)
		case a.after != b.after:
			return cmp.Compare(a.after, b.after)
		}
		return bytes.Compare(s.rows[a.row].check[:packedAfter], s.rows[b.row].check[:packedAfter]) // ids
	})
	for i := range s.log {
		if i == 0 || s.log[i].service != s.log[i-1].service {
			s.of = append(s.of, int32(i))
		}
	}
	s.of = append(s.of, int32(len(s.log)))
}

func (s *sealing) services() []int64 {
	ids := make([]int64, len(s.of)-1)
	for i := range ids {
		ids[i] = s.log[s.of[i]].service
	}
	return ids
}

// number numbers the hour's rows in the log of each service and in that of all.
func (s *sealing) number(places logPlaces, full []filled) []filled {
	for i := range len(s.of) - 1 {
		full = places.number(full, s.log[s.of[i]].service, s.hour, int(s.of[i+1]-s.of[i]))
	}
	return places.number(full, 0, s.hour, len(s.rows))
}

// keep writes the pack of each service.
func (s *sealing) keep(ctx context.Context, tx pgx.Tx) error {
	if err := makePartition(ctx, tx, s.hour.Truncate(24*time.Hour)); err != nil {
		return err
	}
	var p checkPack
	return copyPacks(ctx, tx, len(s.of)-1, func(i int) *checkPack {
		log := s.log[s.of[i]:s.of[i+1]]
		p = checkPack{hour: s.hour, service: log[0].service, checks: p.checks[:0]}
		for _, l := range log {
			p.move(s.rows[l.row])
		}
		return &p
	})
}

func copyPacks(ctx context.Context, tx pgx.Tx, n int, of func(i int) *checkPack) error {
	return copyBinary(ctx, tx, "check_packs", "service_id, hour, checks, texts", n, func(w *binaryRow, i int) {
		p := of(i)
		w.bigint(p.service)
		w.timestamptz(p.hour)
		w.bytea(p.checks)
		w.maybeTexts(p.texts)
	})
}

// move adds a check of another pack of the hour.
func (p *checkPack) move(r sealedCheck) {
	p.checks = append(p.checks, r.check...)
	c := p.at(p.len() - 1)
	for _, at := range [...]int{packedStatus, packedError} {
		n := int(c.number(at)) - 1 - len(commonWords)
		if n < 0 || n >= len(r.texts) {
			continue
		}
		known := slices.Index(p.texts, r.texts[n])
		switch {
		case known >= 0:
		case len(p.texts)+len(commonWords) == maxWords: // thirty thousand different errors of a service within an hour
			c.setNumber(at, 0)
			continue
		default:
			known, p.texts = len(p.texts), append(p.texts, r.texts[n])
		}
		c.setNumber(at, uint16(known+1+len(commonWords)))
	}
}
