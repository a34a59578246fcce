package data

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/bulk"
	"tollbook/site/postgres/ledger"
)

// Store stores data files; *output.Build does.
type Store interface {
	Add(name string, data []byte) error
	AddDataFile(name string, write func(io.Writer) error) (archive.DataFile, error)
	AddDataDay(table, day string, write func(io.Writer) error) error
	RewriteDataDay(table, day string,
		change func(old io.ReaderAt, size int64, w io.Writer) (changed bool, err error)) error
	DataDays() ([]archive.DataFile, error)
	ReadPrevious(name string) ([]byte, error)
}

// SetOptions are the options of a Set.
type SetOptions struct {
	Now      time.Time
	Title    string // of the directory
	Homepage string // "" if not known
	DayRows  int64  // of days that are over, after which a build begins no further day; 0 for the default
	Again    bool   // write the files of all days again: those that exist may be of rows that the database lost
}

// maxDayRows is the default of SetOptions.DayRows. The past of a large directory is written by several builds, the
// newest days first.
const maxDayRows = 500_000

// Set is the data files of a snapshot while they are written.
type Set struct {
	options SetOptions
	path    func(name string) string // of a temporary file
	sqlite  *SQLiteFile
	spools  map[string]*spool
	slugs   map[string]bool // of services with a row
	row     Row
	index   *Package
	answers []site.DatasetAnswer // to the questions, from the SQLite file
}

// NewSet begins a data set. path returns the path of a temporary file, which may be left behind.
func NewSet(ctx context.Context, path func(name string) string, o SetOptions) (*Set, error) {
	if o.DayRows == 0 {
		o.DayRows = maxDayRows
	}
	if o.Title == "" {
		o.Title = "Tollbook"
	}
	s := &Set{options: o, path: path, spools: map[string]*spool{}, slugs: map[string]bool{},
		index: NewPackage(o.Title, o.Homepage, o.Now)}
	var tables []*Table
	for _, t := range Tables() {
		if !t.Days || t.Recent {
			tables = append(tables, t)
		}
	}
	var err error
	if s.sqlite, err = CreateSQLite(ctx, s.path("sqlite"), tables); err != nil {
		return nil, err
	}
	for _, t := range ofServices {
		if _, err := s.begin(t); err != nil {
			s.Discard()
			return nil, err
		}
	}
	return s, nil
}

// ofServices are the tables whose rows AddService writes.
var ofServices = []*Table{&Services.Table, &ServiceNetworks.Table, &Endpoints.Table, &Buyers.Table}

// begin begins the files of a table.
func (s *Set) begin(t *Table) (*spool, error) {
	appender := s.sqlite.Appender(t)
	if t.Days {
		appender = nil // its rows are those of more days
	}
	of, err := newSpool(t, appender, s.path)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", t.Name, err)
	}
	s.spools[t.Name] = of
	return of, nil
}

// Discard removes the temporary files.
func (s *Set) Discard() {
	for _, of := range s.spools {
		of.discard()
	}
	if s.sqlite != nil {
		s.sqlite.Abort()
		_ = os.Remove(s.path("sqlite")) // the next build removes what is left
	}
}

// AddService adds the rows of a service. Services are added in the order of slugs. The row of a service whose facts
// cannot be read is what was published of it last.
func (s *Set) AddService(ctx context.Context, l *site.Listing, facts []postgres.EndpointFacts) error {
	s.slugs[l.Detail.Slug] = true
	if err := addRows(ctx, s, Services, []*site.Listing{l}); err != nil {
		return err
	}
	if err := addRows(ctx, s, ServiceNetworks, NetworksOf(l)); err != nil {
		return err
	}
	if err := addRows(ctx, s, Endpoints, EndpointsOf(l, facts)); err != nil {
		return err
	}
	return addRows(ctx, s, Buyers, BuyersOf(l))
}

// addRows writes rows of a service.
func addRows[T any](ctx context.Context, s *Set, m *Maker[T], list []T) error {
	for _, v := range list {
		s.row = m.Append(s.row[:0], v)
		if err := s.spools[m.Name].write(ctx, s.row); err != nil {
			return err
		}
	}
	return nil
}

// Write writes all other rows and adds every file to the store. tokens are those whose settlements count in dollars.
func (s *Set) Write(ctx context.Context, r *bulk.Reader, snapshot *site.Snapshot, tokens []ledger.CountedToken,
	to Store) error {
	w := &writer{Set: s, reader: r, to: to, decimals: countDecimals(tokens), stale: map[string]string{}}
	if err := w.writeTables(ctx, snapshot); err != nil {
		return err
	}
	if err := w.writeDays(ctx); err != nil {
		return err
	}
	if err := w.writeSQLite(ctx); err != nil {
		return err
	}
	text, err := json.MarshalIndent(s.index, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", archive.DataIndex, err)
	}
	return to.Add(archive.DataIndex, append(text, '\n'))
}

// token is a token of a facilitator.
type token struct{ facilitator, network, token string }

// countDecimals returns the number of decimals of each token that counts in dollars.
func countDecimals(tokens []ledger.CountedToken) map[token]int {
	decimals := make(map[token]int, len(tokens))
	for _, t := range tokens {
		decimals[token{t.Facilitator, t.Network, t.Token}] = Decimals(t.Unit)
	}
	return decimals
}
