package site

// Incident is a row of /v1/incidents: counted checks of a service that failed in a row.
type Incident struct {
	Slug              string        `json:"slug"`
	Name              string        `json:"name"`
	StartedAt         Time          `json:"started_at"` // first failed check
	EndedAt           *Time         `json:"ended_at"`   // first success after it; null before
	DurationSeconds   *int64        `json:"duration_seconds"`
	Ongoing           bool          `json:"ongoing"`
	Kind              string        `json:"kind"` // StatusOffline or StatusDegraded
	FailedChecks      int           `json:"failed_checks"`
	LongestGapSeconds *int64        `json:"longest_gap_seconds"` // between two checks; null for PrecisionDay
	Precision         string        `json:"precision"`
	Cause             string        `json:"cause"`
	Shared            *SharedOutage `json:"shared"` // null if Cause is CauseOwn
}

// SharedOutage says how many services of a group failed at the same time.
type SharedOutage struct {
	Name     *string `json:"name"`     // of the host, facilitator or network; null if Cause is CauseMeasurement
	Failed   int     `json:"failed"`   // services whose incident began from From to To
	Services int     `json:"services"` // of the group that had no incident before From
	From     Time    `json:"from"`
	To       Time    `json:"to"`
}

// Precisions of incidents: PrecisionDay is for UTC days whose single checks were not stored.
const (
	PrecisionCheck = "check"
	PrecisionDay   = "day"
)

// Causes of incidents. The directory's own measurement is the cause if most of its services fail at once.
const (
	CauseOwn         = "own"
	CauseHost        = "host"
	CauseFacilitator = "facilitator"
	CauseNetwork     = "network"
	CauseMeasurement = "measurement"
)

// Causes lists them.
var Causes = []string{CauseOwn, CauseHost, CauseFacilitator, CauseNetwork, CauseMeasurement}

// IncidentsFile is the key of the incidents as a JSON Feed.
const IncidentsFile = "incidents.json"

// ServiceIncidents is the maximum number of incidents in the detail of a service.
const ServiceIncidents = 20
