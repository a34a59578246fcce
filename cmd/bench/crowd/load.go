package crowd

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tollbook/crawl"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/load"
)

// Source is what the directory says of itself.
const Source = "generated"

// LogDelay is how long after their time rows enter a log.
const LogDelay = 2 * time.Minute

// Report is what was written.
type Report struct {
	Services int           `json:"services"`
	Rows     int64         `json:"rows"`
	Took     time.Duration `json:"-"`
}

// Connections are how many Load uses of a database.
func Connections() int32 { return int32(runtime.GOMAXPROCS(0)) + 2 }

// Load fills an empty database with a crowd; one that is not answers postgres.ErrNotEmpty. What it holds in memory does
// not grow with the crowd. Broken off it leaves a database to throw away.
func Load(ctx context.Context, db *postgres.DB, o Options) (Report, error) {
	began := time.Now()
	if err := db.Empty(ctx); err != nil {
		return Report{}, err
	}
	if err := db.SetSetting(ctx, "source", Source); err != nil {
		return Report{}, err
	}
	facilitators, err := crawl.ShippedFacilitators()
	if err != nil {
		return Report{}, err
	}
	if _, err := db.ImportFacilitators(ctx, facilitators); err != nil {
		return Report{}, err
	}
	c := newCrowd(o, facilitators)
	l, err := c.load(ctx, db)
	if err != nil {
		return Report{}, err
	}
	report := Report{Services: o.Services}
	if report.Rows, err = c.fill(ctx, l); err != nil {
		return Report{}, err
	}
	if err := l.Finish(ctx); err != nil {
		return Report{}, err
	}
	if err := c.index(ctx, db, l); err != nil {
		return Report{}, err
	}
	report.Took = time.Since(began)
	return report, nil
}

// load names flows and the accounts that belong to no block.
func (c *crowd) load(ctx context.Context, db *postgres.DB) (*load.Loader, error) {
	flows := make([]ledger.FacilitatorToken, len(c.flows))
	for i, f := range c.flows {
		flows[i] = f.FacilitatorToken
	}
	l, err := load.NewLoader(ctx, db, c.o.Moment, c.raw, LogDelay, flows)
	if err != nil {
		return nil, err
	}
	accounts := c.roamers()
	for i, address := range settlers(c.flows) {
		accounts = append(accounts, ledger.LoadedAccount{ID: int64(i) + 1, Address: address})
	}
	return l, l.Accounts(ctx, accounts)
}

// fill makes and writes blocks on all cores.
func (c *crowd) fill(ctx context.Context, l *load.Loader) (rows int64, err error) {
	g, ctx := errgroup.WithContext(ctx)
	var next, written atomic.Int64
	var mu sync.Mutex
	done := 0
	known := settlers(c.flows)
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			for {
				from := int(next.Add(1)-1) * block
				if from >= c.o.Services {
					return nil
				}
				to := min(from+block, c.o.Services)
				n, err := c.fillBlock(ctx, l, known, from, to)
				if err != nil {
					return fmt.Errorf("services %d to %d: %w", from, to-1, err)
				}
				written.Add(n)
				mu.Lock()
				done += to - from
				if c.o.Progress != nil {
					c.o.Progress(done, c.o.Services)
				}
				mu.Unlock()
			}
		})
	}
	err = g.Wait()
	return written.Load(), err
}

func (c *crowd) fillBlock(ctx context.Context, l *load.Loader, settlers []string, from, to int) (rows int64,
	err error) {
	t := c.trade(settlers)
	list := make([]load.Service, 0, to-from)
	for k := from; k < to; k++ {
		s := c.make(k)
		t.of(s)
		list = append(list, s.is)
	}
	return l.Services(ctx, list, t.accounts(), t.list)
}

// make makes service k.
func (c *crowd) make(k int) *service {
	s := c.cast(k)
	if s.fate == unseen {
		for i := range s.endpoints {
			e := &s.endpoints[i]
			kept := s.endpoint(e)
			s.is.Endpoints = append(s.is.Endpoints, postgres.Endpoint{
				ID: kept.ID, ServiceID: kept.ServiceID, Method: kept.Method, MethodDeclared: kept.MethodDeclared,
				Path: kept.Path, Description: kept.Description,
				Origin: kept.Origin, FirstSeenAt: kept.FirstSeenAt,
			})
		}
		return s
	}
	s.past()
	s.ask()
	s.fail()
	s.look()
	return s
}

// index leaves the networks as indexers would that have read them to the moment: all that known settlers settled, and
// half as many authorisations by others.
func (c *crowd) index(ctx context.Context, db *postgres.DB, l *load.Loader) error {
	indexed := map[string]bool{}
	for _, f := range c.flows {
		if indexed[f.Network] {
			continue
		}
		indexed[f.Network] = true
		r := c.rails[railOf(c.rails, f.Network)]
		newest := int64(c.o.Moment.Sub(c.genesis()) / r.step())
		var err error
		if r.solana() {
			err = c.walk(ctx, db, r.id, newest)
		} else {
			err = c.scan(ctx, db, l, r.id, newest)
		}
		if err == nil {
			err = db.SetHead(ctx, ledger.Head{Network: r.id, Block: newest, Time: c.o.Moment, PolledAt: c.o.Moment})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func railOf(rails []rail, network string) int {
	for i := range rails {
		if rails[i].id == network {
			return i
		}
	}
	return 0
}

func (c *crowd) scan(ctx context.Context, db *postgres.DB, l *load.Loader, network string, newest int64) error {
	list, err := db.NewSettlers(ctx, network)
	if err != nil {
		return err
	}
	if err := db.OpenScans(ctx, network, list, 0, c.genesis(), newest); err != nil {
		return err
	}
	seen, err := l.Authorizations(ctx, network)
	if err != nil {
		return err
	}
	for i := range seen {
		seen[i].Authorizations += seen[i].Authorizations / 2
	}
	scans, err := db.Scans(ctx, network)
	if err != nil {
		return err
	}
	for _, s := range scans {
		r := ledger.Range{Scan: s.ID, Network: network, First: s.Next, Last: newest, Hash: "0x" + code(int(newest)),
			Time: c.o.Moment}
		if s.End != nil {
			r.Last, r.Authorizations = *s.End-1, seen
		}
		if _, err := db.CommitRanges(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) walk(ctx context.Context, db *postgres.DB, network string, newest int64) error {
	walks, err := db.Walks(ctx, network)
	if err != nil {
		return err
	}
	genesis := c.genesis()
	for _, was := range walks {
		is := was
		is.NewestSlot, is.NewestTime, is.HistoryStart = newest, &c.o.Moment, &genesis
		if _, err := db.CommitWalk(ctx, network, was, is, nil); err != nil {
			return err
		}
	}
	return nil
}
