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
	HeldBack      *SourceAnswer   `json:"held_back"`       // that shrank by more than half; null without one
	ResourceCount int             `json:"resource_count"`  // different URLs that it lists now
	UniqueCount   int             `json:"unique_count"`    // of these, URLs that no other source lists
	ServiceCount  int             `json:"service_count"`   // listed services with one of its resources
	Overlap       []SourceOverlap `json:"overlap"`         // with each other source, by name
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
