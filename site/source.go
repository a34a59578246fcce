package site

// Source is a public directory or catalogue that is read, and what it lists.
type Source struct {
	// Name of the source.
	Source string `json:"source"`
	// How its answers are read.
	Kind string `json:"kind"`
	// URL of its first page, without its query.
	Address string `json:"address"`
	// When it was last read, or could not be.
	LastAttemptAt Time `json:"last_attempt_at"`
	// When it was last read to its end; null if it never was.
	LastSuccessAt *Time `json:"last_success_at"`
	// Attempts that failed since the last success; a failure drops nothing.
	Failures int `json:"failures"`
	// The answer that counts; null before the first.
	Answer *SourceAnswer `json:"answer"`
	// Whether it hid rows of the answer that counts; then nothing counts as dropped.
	Partial *bool `json:"partial"`
	// A newer answer that does not count yet, because it lacks more than half of the list; null for none.
	HeldBack *SourceAnswer `json:"held_back"`
	// Different URLs that the source lists.
	ResourceCount int `json:"resource_count"`
	// Of these, URLs that no other source lists.
	UniqueCount int `json:"unique_count"`
	// Listed services with one of its resources.
	ServiceCount int `json:"service_count"`
	// How many resources it has in common with each other source, by name.
	Overlap []SourceOverlap `json:"overlap"`
}

// HidesRows reports whether the source hid rows of the answer that is believed.
func (s *Source) HidesRows() bool { return s.Partial != nil && *s.Partial }

// SourceDetail is a public source with its newest answers, and what it listed and dropped.
//
// It is the data of /v1/sources/{source}.
type SourceDetail struct {
	Source
	// Its newest answers and failures, newest first; about a hundred are stored.
	Pulls []SourcePull `json:"pulls"`
	// UTC days of the last 90 on which it began to list resources or dropped some, oldest first.
	Days []SourceDay `json:"days"`
	// The listed services with one of its resources, by slug; the first 10,000.
	Services []SourceService `json:"services"`
	// Resources of listed services that it dropped, newest first; at most 1,000.
	Dropped []SourceDrop `json:"dropped"`
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

// SourcePull is one reading of a source.
//
// It is one reading of a source. A pull that failed changes nothing.
type SourcePull struct {
	// When the answer was received, or the attempt ended.
	EndedAt Time `json:"ended_at"`
	// Accepted if the answer is believed, unchanged if the source says that it has nothing new, held if the answer
	// lacks more than half of the list, failed if there is no whole answer.
	Outcome string `json:"outcome"`
	// HTTP status of the last response; null if none came.
	StatusCode *int `json:"status_code"`
	// Different resources in the answer; null if there is none.
	Resources *int `json:"resources"`
	// Entries that name no resource; null without a new answer.
	Skipped *int `json:"skipped"`
	// Whether it hid rows of the answer; null without a new answer.
	Partial *bool `json:"partial"`
	// SHA-256 of the bytes of all its pages, in hex; null if there is no answer.
	SHA256 *string `json:"sha256"`
}

// SourceDay is a UTC day on which a source began to list resources or dropped some.
type SourceDay struct {
	// UTC day.
	Date string `json:"date" format:"date"` // YYYY-MM-DD
	// Different resources that it listed at the end of the day.
	Resources int `json:"resources"`
	// Resources that it began to list.
	Listed int `json:"listed"`
	// Resources that it dropped.
	Dropped int `json:"dropped"`
}

// SourceService is a listed service that a source lists.
type SourceService struct {
	// Slug of the service.
	Slug string `json:"slug"`
	// Name of the service.
	Name string `json:"name"`
	// When this directory first saw a resource of the service in the source.
	Since Time `json:"since"`
	// Resources of the service that the source lists.
	ResourceCount int `json:"resource_count"`
}

// SourceDrop is a resource of a listed service that a source dropped.
type SourceDrop struct {
	// As [SourceService.Slug].
	Slug string `json:"slug"`
	// As [SourceService.Name].
	Name string `json:"name"`
	// Method and path of the resource, or its path if the source names no method.
	Endpoint string `json:"endpoint"`
	// As [SourceSummary.Since].
	Since Time `json:"since"`
	// When the answer that lacks it was accepted.
	Until Time `json:"until"`
}

// SourceOverlap says what two sources have in common.
type SourceOverlap struct {
	// Name of the other source.
	Source string `json:"source"`
	// Different URLs that both list.
	ResourceCount int `json:"resource_count"`
}

// ListedBy is a public source that lists a service or did.
type ListedBy struct {
	// As [SourceSummary.Source].
	Source string `json:"source"`
	// As [SourceService.Since].
	Since Time `json:"since"`
	// When the source dropped the last one; null while it lists one.
	Until *Time `json:"until"`
	// Resources of the service that the source lists now.
	ResourceCount int `json:"resource_count"`
}

// CatalogueListing says which paid endpoints of a service a public source lists, and which of its documented rules
// keep the others out.
type CatalogueListing struct {
	// As [Source.Source].
	Source string `json:"source"`
	// Whether it lists a resource of the service; null if it is not read, was last read more than three days ago, or hides
	// rows.
	Listed *bool `json:"listed"`
	// As [Source.LastSuccessAt].
	ReadAt *Time `json:"read_at"`
	// How a resource gets into it, in words; null if that is not known.
	How *string `json:"how"`
	// Paid endpoints that it does not list, or of which that is unknown while they break a rule, by path, then method; at
	// most MissingEndpoints.
	Missing []CatalogueMissing `json:"missing"`
	// Number of these endpoints.
	MissingCount int `json:"missing_count"`
}

// State returns in words what the source lists.
func (c *CatalogueListing) State() string {
	switch {
	case c.Listed == nil:
		return "not known"
	case !*c.Listed:
		return "not listed"
	case c.MissingCount > 0:
		return "listed in part"
	}
	return "listed"
}

// MissingEndpoints is the most endpoints that a CatalogueListing names.
const MissingEndpoints = 10

// CatalogueMissing is a paid endpoint that a public source does not list.
type CatalogueMissing struct {
	// As [PayToChange.Endpoint].
	Endpoint string `json:"endpoint"`
	// The documented rules of the source that the endpoint breaks; empty if none is known.
	Rules []CatalogueRule `json:"rules"`
}

// CatalogueRule is a documented rule of a public source that an endpoint breaks.
type CatalogueRule struct {
	// As [RiskFlag.Code].
	Code string `json:"code"`
	// What the source asks for, in words.
	Meaning string `json:"meaning"`
	// As [EvidenceWarning.Detail].
	Detail *string `json:"detail"`
	// URL of the document that says so.
	Document string `json:"document" format:"uri"`
}
