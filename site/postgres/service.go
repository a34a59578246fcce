package postgres

import (
	"time"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres/checks"
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
	State       string     // StateListed, StatePaused, StateHidden or StateRetired
	StateAt     *time.Time // when the state changed last; nil if it never did
	Pruned      bool       // retired because a file no longer names it

	// StateBeforeOptOut is the state that the service gets back when its host's opt-out ends; nil without an opt-out.
	// Until then the service is hidden.
	StateBeforeOptOut *string

	CheckInterval       time.Duration
	NextCheckAt         time.Time
	LastCheckedAt       *time.Time // last visit, also an inconclusive one
	LastStatus          *string    // of the last conclusive visit
	LastSuccessAt       *time.Time // last usable 402
	ConsecutiveFailures int        // conclusive offline visits in a row
	FailingSince        *time.Time // first of these visits
}

// The states of a service. Only a listed service is visited; a hidden one is not published.
const (
	StateListed  = "listed"
	StatePaused  = "paused"
	StateHidden  = "hidden"
	StateRetired = "retired"
)

// Endpoint is a row of endpoints: a method and path of a service. Its tags are the columns that every query reads.
type Endpoint struct {
	ID             uuid.UUID      `db:"id,uuid"`
	ServiceID      int64          `db:"service_id,bigint"`
	Method         string         `db:"method,text"` // as declared, else the one that responded; "" while unknown
	MethodDeclared bool           `db:"method_declared,boolean"`
	Path           string         `db:"path,text"`
	Description    *string        `db:"description,text"`
	MimeType       *string        `db:"mime_type,text"`
	Origin         string         `db:"origin,text"` // import, submission, sample, or as in crawl/facts
	FirstSeenAt    time.Time      `db:"first_seen_at,timestamptz"`
	LastPaidAt     *time.Time     `db:"last_paid_at,timestamptz"` // last usable 402
	LastProbedAt   *time.Time     `db:"last_probed_at,timestamptz"`
	Verdict        *string        `db:"verdict,text"` // of the latest conclusive response
	VerdictAt      *time.Time     `db:"verdict_at,timestamptz"`
	Class          *string        `db:"class,text"` // of the latest response, conclusive or not
	Reason         *string        `db:"reason,text"`
	ResponseTimeMS *int           `db:"response_time_ms,integer"`
	Fingerprint    *string        `db:"fingerprint,text"`     // of the current requirement set
	HeadAt         *time.Time     `db:"head_at,timestamptz"`  // last HEAD that was sent
	HeadFree       *bool          `db:"head_free,boolean"`    // whether HEAD was served without payment; nil until tested
	DeclaredPrice  *DeclaredPrice `db:"declared_price,jsonb"` // nil if the origin's OpenAPI document has no price
	HeadURL        *string        `db:"head_url,text"`        // of the HEAD that decided HeadFree
	HeadStatus     *int           `db:"head_status,integer"`  // of its response
	// Offers are those over other protocols than x402, of the newest 402; nil if the endpoint never made any.
	Offers   []checks.Offer  `db:"offers,jsonb"`
	LookedAt *time.Time      `db:"looked_at,timestamptz"` // when a visit last compared what it asks different readers for
	Readers  []checks.Reader `db:"readers,jsonb"`
	Signed   bool            `db:"signed,boolean"` // whether the request of the latest conclusive response was signed
}

// IsUnproven reports whether only a source declared an endpoint, and the endpoint never asked for payment. Anybody can
// register rows in a public catalogue, so such an endpoint says nothing about its service.
func (e *Endpoint) IsUnproven() bool { return e.Origin == site.OriginCatalogue && e.LastPaidAt == nil }

// IsActive reports whether an endpoint is active: it asked for payment, or was first seen, less than site.ActiveFor
// ago. An unproven endpoint is not active.
func (e *Endpoint) IsActive(now time.Time) bool {
	return !e.IsUnproven() && site.IsActive(e.FirstSeenAt, e.LastPaidAt, now)
}

// DeclaredPrice is the price of an endpoint in the origin's OpenAPI document. It is never used as the price.
type DeclaredPrice struct {
	Mode     string `json:"mode,omitempty"`     // fixed, dynamic, offer, or "" if not declared
	Currency string `json:"currency,omitempty"` // as written; "" for US dollars by convention
	Amount   string `json:"amount,omitempty"`   // decimal text; base units in an offer
	Min      string `json:"min,omitempty"`      // of a dynamic price
	Max      string `json:"max,omitempty"`

	Offers []DeclaredOffer `json:"offers,omitempty"` // alternative ways to pay
}

// DeclaredOffer is one way to pay that a document declares.
type DeclaredOffer struct {
	Protocol string `json:"protocol"`
	Method   string `json:"method,omitempty"`
	Intent   string `json:"intent,omitempty"`
	Network  string `json:"network,omitempty"`
	Currency string `json:"currency,omitempty"`
	Amount   string `json:"amount,omitempty"` // in base units; "" if each request has a price of its own
}

// Listing is a service to be listed, with the endpoints to probe.
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

// ListedEndpoint is an endpoint as declared. Method is "" if no method is declared.
type ListedEndpoint struct {
	Method, Path string
	Description  *string
	MimeType     *string
	Origin       string // source of the endpoint; "" for import
}

// namespace makes endpoint ids equal in every database for the same service, method and path.
var namespace = uuid.MustParse("6f1c3f0e-3c68-4b7e-9b62-5a1d2a8c7f40")

// EndpointID returns the id of an endpoint. The method is the declared one, "" if no method is declared. The id stays
// the same when the method that responds becomes known.
func EndpointID(slug, method, path string) uuid.UUID {
	return uuid.NewSHA1(namespace, []byte(slug+" "+method+" "+path))
}
