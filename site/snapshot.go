package site

// Snapshot is everything that one build publishes, as a value: its fields are the endpoints, the comments say under
// which keys. The builder makes it from facts; writing it is rendering each field under its key.
type Snapshot struct {
	Now  Time // when the facts were read; every judgment is as of then
	Next Time // when the next build is due

	Earlier []PublishedSnapshot // v1/snapshots.json, newest first

	Services   []Listing             // by slug: v1/services.json and v1/services/…
	Recall     Recall                // what is known of services whose Known is nil
	Status     StatusSummary         // v1/status.json
	Networks   []Network             // v1/networks.json, by service count, then id
	Tags       []Tag                 // v1/tags.json, by service count, then tag
	Stats      AggregateStats        // v1/stats.json
	Categories []string              // v1/categories.json, sorted
	Checks     Log[GlobalCheckEntry] // v1/checks.json and v1/checks/…
	Changes    Changes               // v1/changes.json, v1/changes/… and feed.xml

	Facilitators []FacilitatorDetail // by id, with every embed: v1/facilitators.json and v1/facilitators/…
	Coverage     CoverageReport      // v1/coverage.json
}

// Listing is one service's part of a snapshot.
type Listing struct {
	Item   ServiceListItem // a row of each list that the service belongs to
	*Known                 // nil where the snapshot recalls it
}

// Known is what a snapshot knows of a service beyond its row. A build makes Own and all of Detail when it renders the service's own
// files, and recalls what the fields beside Own say for those that come after: memory holds no more of a large directory.
// Before, nothing is known; so no service's own file may show another's.
type Known struct {
	Detail  ServiceDetail  // v1/services/{slug}.json
	Changes []ChangeRecord // on the service's page, newest first
	Terms   []Terms        // of each of Detail.Endpoints: v1/lookup/… and discovery/resources…
	*Own                   // nil but while the service's own files are rendered
}

// Recall makes anew what is known of a service, and of its endpoints one by one: most of what is known is of them.
type Recall interface {
	Service(i int) *Known // without its endpoints
	Endpoint(i, j int) (Endpoint, Terms)
}

// Brief is the ith service with what is known of it but for its endpoints, which are there where they need not be recalled.
func (s *Snapshot) Brief(i int) *Listing {
	if l := &s.Services[i]; l.Known != nil {
		return l
	}
	return &Listing{s.Services[i].Item, s.Recall.Service(i)}
}

// Listing is the ith service with all that is known of it.
func (s *Snapshot) Listing(i int) *Listing {
	l := s.Brief(i)
	if s.Services[i].Known == nil {
		n := l.Item.EndpointCount
		l.Detail.Endpoints, l.Terms = make([]Endpoint, n), make([]Terms, n)
		for j := range n {
			l.Detail.Endpoints[j], l.Terms[j] = s.Recall.Endpoint(i, j)
		}
	}
	return l
}

// Endpoint is the jth endpoint of the ith service.
func (s *Snapshot) Endpoint(i, j int) (Endpoint, Terms) {
	if l := &s.Services[i]; l.Known != nil {
		return l.Detail.Endpoints[j], l.Terms[j]
	}
	return s.Recall.Endpoint(i, j)
}

// Own is what only a service's own files show.
type Own struct {
	Uptime   []UptimeDataPoint // v1/services/{slug}/uptime…, 90 days, oldest first
	Checks   Log[CheckEntry]   // v1/services/{slug}/checks…
	Evidence Evidence          // v1/services/{slug}/evidence.json, and on the service's page

	ChangeLogs Changes      // v1/changes/service={slug}/…; without logs where there is no record
	Prices     []PricePoint // v1/services/{slug}/price…, all history, oldest first
	Scores     []ScorePoint // v1/services/{slug}/scores…

	Volume []VolumePoint // v1/services/{slug}/volume…, SeriesDays, oldest first; days without a settlement are left out
	Buyers []BuyersPoint // v1/services/{slug}/buyers…, BuyersDays

	// OlderVolume makes the days of that file before Volume, as many as history has; nil without any.
	OlderVolume func() ([]VolumePoint, error)
}

// Log is the part of a log that lies in the snapshot: its index and the blocks that no pack holds.
type Log[T any] struct {
	Index  LogIndex
	Blocks []Block[T] // ascending; the last is the open one
	Newest []T        // the default window, newest first
}

// Block is up to BlockSize rows of a log, oldest first.
type Block[T any] struct {
	Number int64
	First  int64 // number of Rows[0]
	Rows   []T
}
