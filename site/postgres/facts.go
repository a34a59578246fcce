package postgres

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// Service is a row of services.
type Service struct {
	ID          int64
	Slug        string
	Name        string
	Description string
	BaseURL     string
	WebsiteURL  *string
	Category    string
	Source      string
	CreatedAt   time.Time
	VerifiedAt  *time.Time

	CheckInterval       time.Duration
	NextCheckAt         time.Time
	LastCheckedAt       *time.Time // last visit, inconclusive ones too
	LastStatus          *string    // of the last conclusive visit
	LastSuccessAt       *time.Time // last usable 402
	ConsecutiveFailures int        // conclusive offline visits in a row
	FailingSince        *time.Time // first of them
}

// Endpoint is a row of endpoints: one address of a service.
type Endpoint struct {
	ID             uuid.UUID
	ServiceID      int64
	Method         string // as declared, else the one that answered; "" while unknown
	MethodDeclared bool
	Path           string
	Description    *string
	MimeType       *string
	Origin         string // who told of it: import, submission, sample
	FirstSeenAt    time.Time
	LastPaidAt     *time.Time // last usable 402
	LastProbedAt   *time.Time
	Verdict        *string // latest conclusive answer
	VerdictAt      *time.Time
	Class          *string // of the latest answer, conclusive or not
	Reason         *string
	ResponseTimeMS *int
	Fingerprint    *string        // of the current requirement set
	HeadAt         *time.Time     // last HEAD that was sent
	HeadFree       *bool          // it was served without payment; nil until an answer told
	DeclaredPrice  *DeclaredPrice // nil when the origin's OpenAPI document says nothing of the price
}

// DeclaredPrice is what a document says that an endpoint costs. It is never taken for the price.
type DeclaredPrice struct {
	Mode     string `json:"mode,omitempty"`     // fixed, dynamic, offer, or "" when it is not said
	Currency string `json:"currency,omitempty"` // as written; "" for US dollars by convention
	Amount   string `json:"amount,omitempty"`   // decimal text; base units in an offer
	Min      string `json:"min,omitempty"`      // of a dynamic price
	Max      string `json:"max,omitempty"`
}

// Envelope is the newest answer of an endpoint that held one, as received.
type Envelope struct {
	EndpointID  uuid.UUID
	ReceivedAt  time.Time
	Method      string
	URL         string
	StatusCode  int
	Header      http.Header // without cookies
	Body        []byte
	Truncated   bool
	TLSVerified bool
	SHA256      []byte // of status, payment headers and body
	Exchange    Exchange
}

// Price is one way to pay an endpoint, while it was asked.
type Price struct {
	EndpointID        uuid.UUID
	Since             time.Time
	Position          int // row of accepts
	Until             *time.Time
	Scheme            string
	Network           string // as received
	NetworkCAIP2      *string
	Asset             string
	PayTo             string
	Amount            string // atomic units
	MaxTimeoutSeconds *int
	Extra             *string // JSON text as received; nil when absent
	X402Version       int
}

// Change is a row of changes.
type Change struct {
	ServiceID   int64
	Type        string
	ObservedAt  time.Time
	Summary     json.RawMessage
	OldSnapshot json.RawMessage
	NewSnapshot json.RawMessage
}

// Check is one visit to a service.
type Check struct {
	ServiceID           int64
	CheckedAt           time.Time // when the visit ended
	ID                  uuid.UUID
	Counted             bool    // conclusive
	Status              *string // of this visit, or of the last conclusive one before it; nil before the first
	IsUp                bool
	StatusCode          *int
	ResponseTimeMS      *int
	EndpointsFound      int
	ErrorMessage        *string
	ConsecutiveFailures int // after this visit
}

// Rollup sums the checks of a service over an hour or a UTC day.
type Rollup struct {
	ServiceID  int64
	Start      time.Time
	Checks     int // all visits
	Counted    int
	Up         int // among the counted
	Timed      int // counted ones with a response time
	ResponseMS int64
	Histogram  []int64 // site.HistogramBuckets long; nil where it was not read
}

// Listing is a service that somebody wants listed, with the endpoints to probe.
type Listing struct {
	Slug        string
	Name        string
	Description string
	BaseURL     string
	WebsiteURL  *string
	Category    string
	Source      string
	CreatedAt   time.Time
	VerifiedAt  *time.Time
	Interval    time.Duration // zero for the default of 15 minutes
	Endpoints   []ListedEndpoint
}

// ListedEndpoint is an endpoint as declared; Method is "" when nobody said it.
type ListedEndpoint struct {
	Method, Path string
	Description  *string
	MimeType     *string
	Origin       string // who told of it, "" for import
}

// History is what a sample world did before it was first crawled: written once, in one transaction.
type History struct {
	Slug      string
	Days      []Rollup // UTC days before the first of Checks, oldest first
	Checks    []Check  // oldest first
	Prices    []Price  // closed ones (Until set) and current ones; EndpointID from EndpointID(slug, method, path)
	Endpoints []EndpointHistory
	Changes   []Change
}

// EndpointHistory is what an endpoint last was in a History.
type EndpointHistory struct {
	Method, Path string
	FirstSeenAt  time.Time
	LastPaidAt   *time.Time
	Fingerprint  *string
}

// namespace makes endpoint ids: the same service, path and method have the same id in every database.
var namespace = uuid.MustParse("6f1c3f0e-3c68-4b7e-9b62-5a1d2a8c7f40")

// EndpointID is the id of an endpoint. The method is the declared one, "" when nobody said it; it stays when the method
// that answers becomes known.
func EndpointID(slug, method, path string) uuid.UUID {
	return uuid.NewSHA1(namespace, []byte(slug+" "+method+" "+path))
}
