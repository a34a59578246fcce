package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// packedSize is what a check takes in a pack: its id, its microseconds after the hour, flags, the numbers of its status and its error
// among the words, its status code, response time, endpoints and failures. Migration 023 reads it by SQL.
const packedSize = 41

const (
	packedID        = 0
	packedAfter     = 16
	packedFlags     = 20
	packedStatus    = 21
	packedError     = 23
	packedCode      = 25
	packedResponse  = 29
	packedEndpoints = 33
	packedFailures  = 37
)

// flags of a packed check
const (
	flagCounted = 1 << iota
	flagUp
	flagCode
	flagTimed
)

// commonWords are those that most checks have. Word 0 is none, then come these, then the texts of the pack.
var commonWords = [...]string{"online", "degraded", "offline"}

// maxWords is how many a pack may number: a smallint of SQL.
const maxWords = math.MaxInt16

var errDamagedChecks = errors.New("packed checks are damaged")

// checkPack is checks of an hour: a row of check_batches or of check_packs.
type checkPack struct {
	id       int64 // of a batch
	hour     time.Time
	services []int64 // of each check
	service  int64   // of all of them, where there is no list
	checks   []byte
	texts    []string
}

// hourOf is the hour that a time is of.
func hourOf(t time.Time) time.Time { return t.UTC().Truncate(time.Hour) }

// add packs a check of the pack's hour; known is where the numbers of words are looked up.
func (p *checkPack) add(c *Check, known map[string]int) error {
	status, err := p.word(c.Status, known)
	if err != nil {
		return err
	}
	message, err := p.word(c.ErrorMessage, known)
	if err != nil {
		return err
	}
	flags := byte(0)
	if c.Counted {
		flags |= flagCounted
	}
	if c.IsUp {
		flags |= flagUp
	}
	code, response := 0, 0
	if c.StatusCode != nil {
		flags, code = flags|flagCode, *c.StatusCode
	}
	if c.ResponseTimeMS != nil {
		flags, response = flags|flagTimed, *c.ResponseTimeMS
	}
	b := append(p.checks, c.ID[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(c.CheckedAt.UnixMicro()-p.hour.UnixMicro()))
	b = binary.BigEndian.AppendUint16(append(b, flags), status)
	b = binary.BigEndian.AppendUint16(b, message)
	for _, n := range [...]int{code, response, c.EndpointsFound, c.ConsecutiveFailures} {
		if n != int(int32(n)) {
			return fmt.Errorf("%w: %d", errInteger, n)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	p.checks = b
	return nil
}

// word numbers a text.
func (p *checkPack) word(s *string, known map[string]int) (uint16, error) {
	if s == nil {
		return 0, nil
	}
	for i, w := range commonWords {
		if *s == w {
			return uint16(i + 1), nil
		}
	}
	n, again := known[*s]
	if !again {
		p.texts = append(p.texts, *s)
		if n = len(commonWords) + len(p.texts); n > maxWords {
			return 0, fmt.Errorf("more than %d texts in a pack of checks", maxWords)
		}
		known[*s] = n
	}
	return uint16(n), nil
}

// packs packs checks by hour, no more than so many in each, in their order. services says whose each is.
func packs(checks []*Check, most int) (list []*checkPack, err error) {
	type filling struct {
		*checkPack
		known map[string]int
		left  int // checks of the hour that are not packed yet
	}
	hours := map[time.Time]*filling{}
	var of *filling
	hourly := func(do func(c *Check) error) error {
		var hour time.Time
		for _, c := range checks {
			if since := c.CheckedAt.Sub(hour); of == nil || since < 0 || since >= time.Hour { // most are of the hour of the one before
				hour = hourOf(c.CheckedAt)
				if of = hours[hour]; of == nil {
					of = &filling{checkPack: &checkPack{hour: hour}}
					hours[hour] = of
				}
			}
			if err := do(c); err != nil {
				return err
			}
		}
		of = nil
		return nil
	}
	_ = hourly(func(*Check) error {
		of.left++
		return nil
	})
	err = hourly(func(c *Check) error {
		if len(of.services) == 0 || len(of.services) == most {
			room := min(most, of.left)
			of.checkPack = &checkPack{hour: of.hour, services: make([]int64, 0, room), checks: make([]byte, 0, room*packedSize)}
			of.known = map[string]int{}
			list = append(list, of.checkPack)
		}
		of.left--
		of.services = append(of.services, c.ServiceID)
		return of.add(c, of.known)
	})
	return list, err
}

// len is how many checks are packed.
func (p *checkPack) len() int { return len(p.checks) / packedSize }

// sound says whether the pack is as one that was written.
func (p *checkPack) sound() error {
	if len(p.checks)%packedSize != 0 || p.services != nil && len(p.services) != p.len() {
		return fmt.Errorf("%w: %d bytes of %d services' checks of %s", errDamagedChecks, len(p.checks), len(p.services), p.hour.Format(time.RFC3339))
	}
	return nil
}

// packed is one check of a pack, not unpacked.
type packed []byte

func (p *checkPack) at(i int) packed { return packed(p.checks[i*packedSize : (i+1)*packedSize]) }

func (p *checkPack) serviceOf(i int) int64 {
	if p.services == nil {
		return p.service
	}
	return p.services[i]
}

func (c packed) id() (id uuid.UUID) { return uuid.UUID(c[packedID:packedAfter]) }
func (c packed) after() time.Duration {
	return time.Duration(binary.BigEndian.Uint32(c[packedAfter:])) * time.Microsecond
}
func (c packed) has(flag byte) bool         { return c[packedFlags]&flag != 0 }
func (c packed) integer(at int) int         { return int(int32(binary.BigEndian.Uint32(c[at:]))) }
func (c packed) number(at int) uint16       { return binary.BigEndian.Uint16(c[at:]) }
func (c packed) setNumber(at int, n uint16) { binary.BigEndian.PutUint16(c[at:], n) }

// integers are those that most checks tell: checks share them, and nobody changes them.
var integers = func() (n [1024]int) {
	for i := range n {
		n[i] = i
	}
	return n
}()

func shared(n int) *int {
	if n >= 0 && n < len(integers) {
		return &integers[n]
	}
	return new(n)
}

// unpacker unpacks checks of one pack after another, of which a few texts repeat themselves.
type unpacker struct{ texts once }

// check unpacks check i.
func (u unpacker) check(p *checkPack, i int) (c Check, err error) {
	b := p.at(i)
	c = Check{ServiceID: p.serviceOf(i), CheckedAt: p.hour.Add(b.after()), ID: b.id(), Counted: b.has(flagCounted), IsUp: b.has(flagUp),
		EndpointsFound: b.integer(packedEndpoints), ConsecutiveFailures: b.integer(packedFailures)}
	if b.has(flagCode) {
		c.StatusCode = shared(b.integer(packedCode))
	}
	if b.has(flagTimed) {
		c.ResponseTimeMS = shared(b.integer(packedResponse))
	}
	if c.Status, err = u.word(p, b.number(packedStatus)); err == nil {
		c.ErrorMessage, err = u.word(p, b.number(packedError))
	}
	return c, err
}

// each unpacks every check of a pack.
func (u unpacker) each(p *checkPack, do func(Check)) error {
	for i := range p.len() {
		c, err := u.check(p, i)
		if err != nil {
			return err
		}
		do(c)
	}
	return nil
}

func (u unpacker) word(p *checkPack, number uint16) (*string, error) {
	switch n := int(number) - 1; {
	case n < 0:
		return nil, nil
	case n < len(commonWords):
		return &commonWords[n], nil
	case n-len(commonWords) < len(p.texts):
		return u.texts.orNil(&p.texts[n-len(commonWords)]), nil
	}
	return nil, fmt.Errorf("%w: word %d of %d texts", errDamagedChecks, number, len(p.texts))
}

// batches takes each row of check_batches that a condition chooses; its checks are there until the next row.
func batches(ctx context.Context, q querier, condition string, take func(*checkPack) error, args ...any) error {
	var p checkPack
	rows, err := q.Query(ctx, `SELECT id, hour, services, checks, texts FROM check_batches `+condition, args...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, []any{&p.id, &p.hour, &p.services, (*pgtype.DriverBytes)(&p.checks), &p.texts}, func() error {
		if err := p.sound(); err != nil {
			return err
		}
		return take(&p)
	})
	return err
}

// servicePacks takes each row that a query answers with service_id, hour, checks and texts of check_packs; its checks are there until
// the next row.
func servicePacks(ctx context.Context, q querier, sql string, take func(*checkPack) error, args ...any) error {
	var p checkPack
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, []any{&p.service, &p.hour, (*pgtype.DriverBytes)(&p.checks), &p.texts}, func() error {
		if err := p.sound(); err != nil {
			return err
		}
		return take(&p)
	})
	return err
}
