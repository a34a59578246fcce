package site

// Snapshot is everything that one build publishes, as a value: its fields are the endpoints, the comments say under
// which keys. The builder makes it from facts; writing it is rendering each field under its key.
type Snapshot struct {
	Now  Time // when the facts were read; every judgment is as of then
	Next Time // when the next build is due

	Previous []PublishedSnapshot // v1/snapshots.json, newest first

	Services   []Listing             // by slug: v1/services.json and v1/services/…
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
	Item           ServiceListItem // a row of each list that the service belongs to
	Trend          Trend           // the largest changes on the home page are chosen by it
	*ListingDetail                 // nil before the service's own files are rendered, so that none shows another service
}

// Trend is how the volume of a service that is measured moved; all null for any other.
type Trend struct {
	VolumeUSD30d *Decimal
	TxCount30d   *int64
	Trend7dVs30d *float64
}

// TrendOf is the trend of a service with this traction.
func TrendOf(t *Traction) Trend {
	if t.Status != TractionMeasured {
		return Trend{}
	}
	return Trend{t.VolumeUSD30d, t.TxCount30d, t.Trend7dVs30d}
}

// ListingDetail is everything that a snapshot contains about one service beyond its row. A build makes it to render the
// service's own files and then drops it, since a large directory does not fit into memory. For services of
// Changes.Feed it keeps Detail.Slug and Detail.Endpoints, which tell the units of changed prices.
type ListingDetail struct {
	Detail        ServiceDetail  // v1/services/{slug}.json
	Changes       []ChangeRecord // on the service's page, newest first; published by the service's log of changes
	Terms         []Terms        // of each of Detail.Endpoints: v1/lookup/… and discovery/resources…
	*ServiceFiles                // nil unless the service's own files are rendered
}

// ServiceFiles is what only a service's own files show.
type ServiceFiles struct {
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
