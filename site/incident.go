package site

import "time"

// Incident: checks of a service that failed in a row, at least two.
//
// It is a row of /v1/incidents.
type Incident struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// As [ServiceListItem.Name].
	Name string `json:"name"`
	// Id of its page /incidents/{id}, which is removed with the incident; null for all but the newest 1000 of a service.
	ID *string `json:"id"`
	// The first failed check, or the beginning of its UTC day if precision is day.
	StartedAt Time `json:"started_at"`
	// The first successful check after it, or the beginning of its UTC day if that check is not stored; null before, and
	// if nobody looked when it may have ended.
	EndedAt *Time `json:"ended_at"`
	// From started_at to ended_at; null before the end.
	DurationSeconds *int64 `json:"duration_seconds"`
	// Whether the checks still fail; false if it is not known, because the service was not checked as planned.
	Ongoing bool `json:"ongoing"`
	// What the status became: degraded after two failed checks, offline from the third one on.
	Kind string `json:"kind" enum:"IncidentKinds"` // StatusOffline or StatusDegraded
	// Number of counted checks that failed.
	FailedChecks int `json:"failed_checks"`
	// Longest time between two checks of the incident; null if not all of them are stored.
	LongestGapSeconds *int64 `json:"longest_gap_seconds"`
	// Whether single checks are known, or only UTC days on which every check failed.
	Precision string `json:"precision" enum:"Precisions"`
	// Own, unless many services of a host, facilitator or network failed at the same time; measurement if most services
	// of the directory did, which is a fault of its own.
	Cause string `json:"cause" enum:"Causes"`
	// The services that failed at the same time; null if the cause is own.
	Shared *SharedOutage `json:"shared"`
	// The first failed check; null if it was not stored.
	FirstFailure *IncidentFailure `json:"first_failure"`
	// The last failed check so far.
	LastFailure *IncidentFailure `json:"last_failure"`
}

// IncidentFailure is what went wrong in a failed check.
type IncidentFailure struct {
	// As [CheckEntry.StatusCode].
	StatusCode *int `json:"status_code"`
	// As [CheckEntry.ErrorMessage].
	ErrorMessage *string `json:"error_message"`
}

// IncidentDetail is an incident with the endpoints of its service.
//
// It is the data of /v1/incidents/{id}.
type IncidentDetail struct {
	// The incident.
	Incident Incident `json:"incident"`
	// Up to 25 that were listed then.
	Endpoints []string `json:"endpoints"`
	// Number of other incidents at the same time.
	OtherIncidents int `json:"other_incidents"`
	// Up to ten of them, newest first.
	Others []IncidentBeside `json:"others"`
}

// IncidentBeside is another incident.
type IncidentBeside struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// As [ServiceListItem.Name].
	Name string `json:"name"`
	// As [Incident.ID].
	ID *string `json:"id"`
	// As [Incident.StartedAt].
	StartedAt Time `json:"started_at"`
}

// IncidentID returns the id of an incident of a service: the slug and the UTC second when it began.
func IncidentID(slug string, startedAt Time) string {
	return slug + startedAt.UTC().Format(incidentSecond)
}

// IncidentSlug returns the slug of the service that an incident belongs to.
func IncidentSlug(id string) (string, bool) {
	at := len(id) - len(incidentSecond)
	if at < 1 {
		return "", false
	}
	_, err := time.Parse(incidentSecond, id[at:])
	return id[:at], err == nil
}

// incidentSecond is the layout of the end of an incident's id.
const incidentSecond = "-20060102-150405"

// SharedOutage says how many services of a group failed at the same time.
type SharedOutage struct {
	// The host, the id of the facilitator or the network; null for measurement.
	Name *string `json:"name"`
	// Services of the group with an incident that began from from to to.
	Failed int `json:"failed"`
	// Services of the group that are visited and had no incident before.
	Services int `json:"services"`
	// When the first of these incidents began.
	From Time `json:"from"`
	// When the last of these incidents began.
	To Time `json:"to"`
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

// IncidentPages is the maximum number of incidents of a service that have pages. A service that fails in turn at each
// visit could have 9,000 incidents in 90 days.
const IncidentPages = 1000
