package site

// Snapshot contains everything that one build publishes. Each field is published under the keys in its comment. The
// builder computes it from facts; package render writes it.
type Snapshot struct {
	Now  Time // when the facts were read; every judgment is as of this time
	Next Time // when the next build is due

	Previous []PublishedSnapshot // v1/snapshots.json, newest first

	Services   []Listing             // by slug: v1/services.json and v1/services/…
	Status     StatusSummary         // v1/status.json
	Incidents  []Incident            // v1/incidents.json and IncidentsFile, newest first
	Networks   []Network             // v1/networks.json, by service count, then id
	Tags       []Tag                 // v1/tags.json, by service count, then tag
	Stats      AggregateStats        // v1/stats.json
	Categories []string              // v1/categories.json, sorted
	Checks     Log[GlobalCheckEntry] // v1/checks.json and v1/checks/…
	Changes    Changes               // v1/changes.json, v1/changes/… and feed.xml

	Facilitators []FacilitatorDetail // by id, with all embedded members: v1/facilitators.json and v1/facilitators/…
	Coverage     CoverageReport      // v1/coverage.json
	Matrix       FacilitatorMatrix   // v1/facilitators/matrix.json
	Flow         Flow                // v1/flow.json
	Assets       AssetTables         // v1/assets.json
	Sources      []SourceDetail      // v1/sources…, by name
	Dataset      *Dataset            // v1/data.json and data.html; nil before the data files are written
}

// Listed returns the services that lists, counts and averages are about: all but those that are gone.
func (s *Snapshot) Listed() []*Listing {
	list := make([]*Listing, 0, len(s.Services))
	for i := range s.Services {
		if s.Services[i].Item.GoneSince == nil {
			list = append(list, &s.Services[i])
		}
	}
	return list
}

// ListedItems returns the rows of Listed.
func (s *Snapshot) ListedItems() []*ServiceListItem {
	listed := s.Listed()
	items := make([]*ServiceListItem, len(listed))
	for i, l := range listed {
		items[i] = &l.Item
	}
	return items
}

// Listing is one service in a snapshot.
type Listing struct {
	Item           ServiceListItem // the row in each list that contains the service
	Days           UptimeDays      // shown on the status page
	Trend          Trend           // selects the largest changes on the home page
	Uptime30d      *float64        // shown by pages that list the service; nil if nothing is known
	*ListingDetail                 // nil until the service's own files are rendered
}

// Trend is the change in volume of a measured service. Its fields are nil for any other service.
type Trend struct {
	VolumeUSD30d *Decimal
	TxCount30d   *int64
	Trend7dVs30d *float64
	Buyers30d    *int64 // different payers that settlements name
}

// TrendOf returns the trend of a service.
func TrendOf(t *Traction) Trend {
	if t.Status != TractionMeasured {
		return Trend{}
	}
	return Trend{t.VolumeUSD30d, t.TxCount30d, t.Trend7dVs30d, t.UniqueBuyers30d}
}

// ListingDetail contains what a snapshot publishes about one service in addition to its row. A build creates it to
// render the service's own files and then drops it, because a large directory does not fit into memory. For services in
// Changes.Feed it keeps Detail.Slug and Detail.Endpoints, which contain the units of changed prices.
type ListingDetail struct {
	Operator string         // slug of the first service of its operator; "" if it is not known
	Detail   ServiceDetail  // v1/services/{slug}.json
	Changes  []ChangeRecord // newest first: on the service's page, and in the service's log of changes
	Terms    []Terms        // one for each of Detail.Endpoints: v1/lookup/… and discovery/resources…
	// Incidents of the last 90 days that have pages, newest first: v1/incidents/{id}.json.
	Incidents     []IncidentDetail
	*ServiceFiles // nil unless the service's own files are being rendered
}

// ServiceFiles contains what only a service's own files show.
type ServiceFiles struct {
	Uptime   []UptimeDataPoint // v1/services/{slug}/uptime…, 90 days, oldest first
	Checks   Log[CheckEntry]   // v1/services/{slug}/checks…
	Evidence Evidence          // v1/services/{slug}/evidence.json, and on the service's page

	ChangeLogs Changes      // v1/changes/service={slug}/…; no logs if there are no records
	Prices     []PricePoint // v1/services/{slug}/price…, all history, oldest first
	Scores     []ScorePoint // v1/services/{slug}/scores…

	Volume []VolumePoint // v1/services/{slug}/volume…, SeriesDays, oldest first; days without a settlement are left out
	Buyers []BuyersPoint // v1/services/{slug}/buyers…, BuyersDays

	// Rows of the tables buyers and service_networks, the latter of networks with a counted price without a condition.
	AllBuyers     []NumberedBuyer
	NetworkPrices []NetworkPrice

	Settlements Settlements // v1/services/{slug}/settlements.json

	// OlderVolume returns the days before Volume, back to the first settlement; nil if there are none.
	OlderVolume func() ([]VolumePoint, error)
}

// AllVolume returns the days of OlderVolume and Volume.
func (f *ServiceFiles) AllVolume() ([]VolumePoint, error) {
	if f.OlderVolume == nil {
		return f.Volume, nil
	}
	older, err := f.OlderVolume()
	return append(older, f.Volume...), err
}

// Log is the part of a log that the snapshot contains: its index and the blocks that are in no pack.
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
