package site

// Source is an element of /v1/sources: a public directory or catalogue that is read, and what it lists.
type Source struct {
	Source        string          `json:"source"` // its name
	Kind          string          `json:"kind"`   // how its answers are read
	Address       string          `json:"address"`
	LastAttemptAt Time            `json:"last_attempt_at"`
	LastSuccessAt *Time           `json:"last_success_at"` // null if it was never read to its end
	Failures      int             `json:"failures"`        // attempts that failed since the last success
	Answer        *SourceAnswer   `json:"answer"`          // that is believed; null before the first
	Partial       *bool           `json:"partial"`         // whether the source hid rows of it; null before the first
	HeldBack      *SourceAnswer   `json:"held_back"`       // that lacks more than half of the list; null for none
	ResourceCount int             `json:"resource_count"`  // different URLs that it lists now
	UniqueCount   int             `json:"unique_count"`    // of these, URLs that no other source lists
	ServiceCount  int             `json:"service_count"`   // listed services with one of its resources
	Overlap       []SourceOverlap `json:"overlap"`         // with each other source, by name
}

// HidesRows reports whether the source hid rows of the answer that is believed.
func (s *Source) HidesRows() bool { return s.Partial != nil && *s.Partial }

// SourceDetail is the data of /v1/sources/{source}: a source with its newest answers, and what it listed and dropped.
type SourceDetail struct {
	Source
	Pulls    []SourcePull    `json:"pulls"`    // that are stored, newest first; about 100
	Days     []SourceDay     `json:"days"`     // of the last SeriesDays those with a change, oldest first
	Services []SourceService `json:"services"` // the first SourceServices by slug
	Dropped  []SourceDrop    `json:"dropped"`  // resources of listed services, newest first; 1,000 at most
}

// SourceServices is the maximum number of services in a SourceDetail.
const SourceServices = 10_000

// Outcomes of a pull.
const (
	PullAccepted  = "accepted"  // the answer is believed
	PullUnchanged = "unchanged" // the source says that nothing changed since the last accepted answer
	PullHeld      = "held"      // the answer lacks more than half of the list and is held back
	PullFailed    = "failed"
)

// SourcePull is one reading of a source. A pull that failed changes nothing.
type SourcePull struct {
	EndedAt    Time    `json:"ended_at"`
	Outcome    string  `json:"outcome"`
	StatusCode *int    `json:"status_code"` // of the last response; null if none came
	Resources  *int    `json:"resources"`   // different resources in the answer; null if the pull failed
	Skipped    *int    `json:"skipped"`     // entries that name no resource; null without a whole answer
	Partial    *bool   `json:"partial"`     // whether the source hid rows of it; null without a whole answer
	SHA256     *string `json:"sha256"`      // of the answer; null if the pull failed
}

// SourceDay is a UTC day on which a source began to list resources or dropped some.
type SourceDay struct {
	Date      string `json:"date"`      // YYYY-MM-DD
	Resources int    `json:"resources"` // that it listed at the end of the day
	Listed    int    `json:"listed"`
	Dropped   int    `json:"dropped"`
}

// SourceService is a listed service that a source lists.
type SourceService struct {
	Slug          string `json:"slug"`
	Name          string `json:"name"`
	Since         Time   `json:"since"`
	ResourceCount int    `json:"resource_count"`
}

// SourceDrop is a resource of a listed service that a source dropped.
type SourceDrop struct {
	Slug     string `json:"slug"`
	Name     string `json:"name"`
	Endpoint string `json:"endpoint"`
	Since    Time   `json:"since"`
	Until    Time   `json:"until"` // when the answer that lacks it was accepted
}

// SourceOverlap is the number of resources that two sources list.
type SourceOverlap struct {
	Source        string `json:"source"`
	ResourceCount int    `json:"resource_count"`
}

// ListedBy says since when a public source lists resources of a service.
type ListedBy struct {
	Source        string `json:"source"`
	Since         Time   `json:"since"` // when the directory first saw one there
	Until         *Time  `json:"until"` // when the source dropped the last one; null while it lists one
	ResourceCount int    `json:"resource_count"`
}
