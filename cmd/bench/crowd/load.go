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

// Source is the source of the services of a crowd.
const Source = "generated"

// LogDelay is the time after which rows enter a log.
const LogDelay = 2 * time.Minute

// Report counts what was written.
type Report struct {
	Services int           `json:"services"`
	Rows     int64         `json:"rows"`
	Took     time.Duration `json:"-"`
}

// Connections returns the number of database connections that Load uses.
func Connections() int32 { return int32(runtime.GOMAXPROCS(0)) + 2 }

// Load fills an empty database with a crowd. It returns an error that wraps postgres.ErrNotEmpty if the database
// contains a directory. Its memory does not grow with the crowd. After an interruption, drop the database.
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

// load returns a loader, and creates the facilitator tokens and the accounts that belong to no block.
func (c *crowd) load(ctx context.Context, db *postgres.DB) (*load.Loader, error) {
	tokens := make([]ledger.FacilitatorToken, len(c.tokens))
	for i, f := range c.tokens {
		tokens[i] = f.FacilitatorToken
	}
	l, err := load.NewLoader(ctx, db, c.o.Moment, c.raw, LogDelay, tokens)
	if err != nil {
		return nil, err
	}
	accounts := c.roamers()
	for i, address := range settlers(c.tokens) {
		accounts = append(accounts, ledger.LoadedAccount{ID: int64(i) + 1, Address: address})
	}
	return l, l.Accounts(ctx, accounts)
}

// fill generates and writes blocks on all cores.
func (c *crowd) fill(ctx context.Context, l *load.Loader) (rows int64, err error) {
	g, ctx := errgroup.WithContext(ctx)
	var next, written atomic.Int64
	var mu sync.Mutex
	done := 0
	accounts := settlers(c.tokens)
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			for {
				from := int(next.Add(1)-1) * block
				if from >= c.o.Services {
					return nil
				}
				to := min(from+block, c.o.Services)
				n, err := c.fillBlock(ctx, l, accounts, from, to)
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

// make generates service k.
func (c *crowd) make(k int) *service {
	s := c.cast(k)
	if s.fate == unseen {
		for i := range s.endpoints {
			e := &s.endpoints[i]
			endpoint := s.endpoint(e)
			s.is.Endpoints = append(s.is.Endpoints, postgres.Endpoint{
				ID: endpoint.ID, ServiceID: endpoint.ServiceID, Method: endpoint.Method,
				MethodDeclared: endpoint.MethodDeclared,
				Path:           endpoint.Path, Description: endpoint.Description,
				Origin: endpoint.Origin, FirstSeenAt: endpoint.FirstSeenAt,
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

// index stores the state of indexers that have read all networks up to the moment. They have stored all settlements of
// listed settlers, and have seen half as many authorisations of others.
func (c *crowd) index(ctx context.Context, db *postgres.DB, l *load.Loader) error {
	indexed := map[string]bool{}
	for _, f := range c.tokens {
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
