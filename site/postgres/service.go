package postgres

import (
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

// namespace makes endpoint ids: the same service, path and method have the same id in every database.
var namespace = uuid.MustParse("6f1c3f0e-3c68-4b7e-9b62-5a1d2a8c7f40")

// EndpointID is the id of an endpoint. The method is the declared one, "" when nobody said it; it stays when the method
// that answers becomes known.
func EndpointID(slug, method, path string) uuid.UUID {
	return uuid.NewSHA1(namespace, []byte(slug+" "+method+" "+path))
}
