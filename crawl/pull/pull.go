// Package pull reads public sources of services that are due, and stores what each lists.
//
// It decides when a source is read, when an answer is believed, and which resources become services. It must never know
// how an answer is read (package source), how a service is listed (its Visitor), or judge a source.
package pull

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tollbook/crawl/facts"
	"tollbook/crawl/source"
	"tollbook/site/postgres/sources"
)

// Values of Source.Take: which resources of a source are listed.
const (
	TakeAll       = "all"       // every resource becomes an endpoint of a service
	TakeAnswering = "answering" // only those of hosts that ask to be paid when they are asked
	TakeNone      = "none"      // none: only the fact that the source lists them is stored
)

// Takes are the values of Source.Take.
var Takes = []string{TakeAll, TakeAnswering, TakeNone}

// Source is a configured source.
type Source struct {
	sources.Source
	Enabled bool          // unless the operator decided otherwise
	Period  time.Duration // from one pull to the next
	Take    string        // TakeAll, TakeAnswering or TakeNone
	Trust   bool          // whether its names and descriptions become those of new services
}

// Visitor sends requests to others, and lists services.
type Visitor interface {
	CheckURL(u *url.URL) error
	FetchSource(ctx context.Context, r facts.SourceRequest) (facts.SourceAnswer, error)
	AsksPayment(ctx context.Context, items []facts.Item) (bool, error)
	ListItems(ctx context.Context, items []facts.Item, source string) (Listed, error)
}

// Listed counts what a list of items added to the directory.
type Listed struct {
	Services, Endpoints, Refused int
	Removed                      int // services that stay unlisted, because the operator removed them
}

// Options are the settings of a Puller.
type Options struct {
	Sources []Source
	Logger  *slog.Logger // nil for none
	Now     func() time.Time
	Wait    func(context.Context, time.Duration) error // waits between two attempts; real time when nil
	Page    func(name string, rows int)                // called after each page; may be nil
}

// Puller reads sources. Several processes may have one each.
type Puller struct {
	store   *sources.Store
	visitor Visitor
	o       Options
	warn    sync.Once // about a contact that is missing
}

// New returns a puller. It stores the configured sources when it is first used.
func New(store *sources.Store, v Visitor, o Options) *Puller {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Puller{store: store, visitor: v, o: o}
}

// Report is the result of a pull.
type Report struct {
	Source  string         `json:"source"`
	Outcome string         `json:"outcome"` // as in package sources
	Error   string         `json:"error,omitempty"`
	Pages   int            `json:"pages"`
	Bytes   int64          `json:"bytes"`
	Rows    int            `json:"rows"`                      // different resources in the answer
	Skipped int            `json:"skipped"`                   // entries that name no resource that can be listed
	Reasons source.Reasons `json:"skipped_reasons,omitempty"` // skipped entries by reason
	Partial bool           `json:"partial"`                   // the source hides rows from readers who do not pay, so nothing is dropped
	sources.Counts
	Services  int `json:"services_added"`
	Endpoints int `json:"endpoints_added"` // of services that were listed before
	Refused   int `json:"services_refused"`
	Removed   int `json:"services_stay_removed"` // that the operator removed, and that are not listed again
}

// ErrBusy says that another process pulls the source.
var ErrBusy = errors.New("another process is pulling this source; try again when it has finished")

// ErrNoContact says that the settings forbid requests to hosts of others, because they name nobody who sends them. A
// Visitor returns it.
var ErrNoContact = errors.New("no contact")

// concurrentPulls is how many sources are read at once. Each needs memory for a whole answer.
const concurrentPulls = 2

// PullDue reads each source that is enabled and due. A source that fails is logged and tried again later; the error is
// that of the database or of ctx.
func (p *Puller) PullDue(ctx context.Context) error {
	if err := p.configure(ctx); err != nil {
		return err
	}
	states, err := p.store.List(ctx)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrentPulls)
	for _, s := range states {
		of, ok := p.find(s.Name)
		if !ok || !IsEnabled(of, s) || p.o.Now().Before(s.DueAt) {
			continue
		}
		g.Go(func() error {
			_, err := p.pull(ctx, of)
			switch {
			case errors.Is(err, ErrNoContact): // it stays due
				p.warn.Do(func() { p.o.Logger.WarnContext(ctx, "source not pulled", "source", of.Name, "error", err) })
				return nil
			case errors.Is(err, ErrBusy):
				return nil
			}
			return err
		})
	}
	return g.Wait()
}

// IsEnabled reports whether a configured source is read: as the operator decided, else as it is configured.
func IsEnabled(of Source, s sources.State) bool {
	if s.Enabled != nil {
		return *s.Enabled
	}
	return of.Enabled
}

// Pull reads a configured source now, whether it is due and enabled or not. It returns ErrBusy while another process
// reads it, sources.ErrUnknown for a name that is not configured, and ErrNoContact if the settings forbid it. A source
// that fails is a report with an Error.
func (p *Puller) Pull(ctx context.Context, name string) (Report, error) {
	of, ok := p.find(name)
	if !ok {
		return Report{}, sources.ErrUnknown
	}
	if err := p.configure(ctx); err != nil {
		return Report{}, err
	}
	return p.pull(ctx, of)
}

func (p *Puller) find(name string) (Source, bool) {
	i := slices.IndexFunc(p.o.Sources, func(s Source) bool { return s.Name == name })
	if i < 0 {
		return Source{}, false
	}
	return p.o.Sources[i], true
}

func (p *Puller) configure(ctx context.Context) error {
	list := make([]sources.Source, len(p.o.Sources))
	for i, s := range p.o.Sources {
		list[i] = s.Source
	}
	slices.SortFunc(list, func(a, b sources.Source) int { return cmp.Compare(a.Name, b.Name) })
	return p.store.Configure(ctx, list)
}

// pull reads a source while no other process does.
func (p *Puller) pull(ctx context.Context, of Source) (r Report, err error) {
	lock, err := p.store.TryLock(ctx, of.Name)
	if err != nil {
		return r, err
	}
	if lock == nil {
		return r, ErrBusy
	}
	defer lock.Release()
	state, err := p.store.Find(ctx, of.Name)
	if err != nil {
		return r, err
	}
	number, err := p.store.Begin(ctx, state.ID, p.o.Now())
	if err != nil {
		return r, err
	}
	// A crash from here on leaves a pull without an end. The next one begins again, and nothing of this one counts.
	j := &job{Puller: p, of: of, state: state, number: number, lock: lock,
		report: Report{Source: of.Name, Counts: sources.Counts{Resources: state.Listed}}}
	err = j.run(ctx)
	if err == nil {
		p.log(ctx, j.report)
	}
	return j.report, err
}

func (p *Puller) log(ctx context.Context, r Report) {
	level, text := slog.LevelInfo, "source pulled"
	switch r.Outcome {
	case sources.Failed:
		level, text = slog.LevelWarn, "source not pulled; nothing that it listed is dropped"
	case sources.Held:
		level, text = slog.LevelWarn, "answer held back: it lacks more than half of the list; tollbook sources accept "+
			r.Source+" believes it"
	}
	attrs := []slog.Attr{slog.String("source", r.Source), slog.String("outcome", r.Outcome),
		slog.Int("rows", r.Rows), slog.Int("new", r.New), slog.Int("merged", r.Merged),
		slog.Int("dropped", r.Dropped), slog.Int("services", r.Services), slog.Int("endpoints", r.Endpoints),
		slog.Int("stay_removed", r.Removed)}
	if r.Error != "" {
		attrs = append(attrs, slog.String("error", r.Error))
	}
	p.o.Logger.LogAttrs(ctx, level, text, attrs...)
}

// hostOf returns the host of a resource.
func hostOf(r sources.Resource) string {
	host, _, _ := strings.Cut(r.Resource, "/")
	return host
}
