package site

import "encoding/json"

// Catalogue is how /discovery/resources frames its list, as a facilitator's catalogue does.
var Catalogue = Framing{Lead: `"x402Version":2,`, Rows: "items", Meta: "pagination"}

// CataloguePagination is the pagination of a catalogue.
type CataloguePagination struct {
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
	Total  int `json:"total"`
}

// CatalogueItem is a row of /discovery/resources: an active endpoint with its current prices. Its names are those of
// the bazaar; services' own words are cut to what the bazaar takes.
type CatalogueItem struct {
	Resource    string              `json:"resource"`
	Type        string              `json:"type"` // "http"
	X402Version int                 `json:"x402Version"`
	Accepts     []CatalogueAccept   `json:"accepts"`
	LastUpdated Time                `json:"lastUpdated"` // last usable 402
	Description string              `json:"description"`
	ServiceName string              `json:"serviceName,omitempty"` // printable ASCII, at most 32 characters
	Tags        []string            `json:"tags"`                  // the category, in the same form
	Extensions  CatalogueExtensions `json:"extensions"`
}

// CatalogueAccept is one way to pay, as version 2 of the protocol writes it.
type CatalogueAccept struct {
	Scheme            string          `json:"scheme"`
	Network           string          `json:"network"` // CAIP-2
	Amount            string          `json:"amount"`  // atomic units
	Asset             string          `json:"asset"`
	PayTo             string          `json:"payTo"`
	MaxTimeoutSeconds int             `json:"maxTimeoutSeconds"`
	Extra             json.RawMessage `json:"extra,omitempty"`
}

// CatalogueExtensions tells the method to call with, which version 2 of the protocol keeps in the bazaar extension.
type CatalogueExtensions struct {
	Bazaar CatalogueBazaar `json:"bazaar"`
}

// CatalogueBazaar is the part of the bazaar extension that the directory knows.
type CatalogueBazaar struct {
	Info CatalogueInfo `json:"info"`
}

// CatalogueInfo says how to call the resource.
type CatalogueInfo struct {
	Input CatalogueInput `json:"input"`
}

// CatalogueInput is the request.
type CatalogueInput struct {
	Type   string `json:"type"` // "http"
	Method string `json:"method"`
}

// AddressLookup is what is known of the endpoints at an address: the data of /v1/lookup/url/<hash>.json. With its
// envelope it has less than 2 KiB.
type AddressLookup struct {
	URL        string        `json:"url"` // normal form
	Service    LookupService `json:"service"`
	Signable   bool          `json:"signable"` // a standard client could sign a payment for each endpoint here
	Reason     *string       `json:"reason"`   // what keeps it from that; null when signable
	Prices     []LookupPrice `json:"prices"`   // every way to pay now
	LastSeenAt *Time         `json:"last_seen_at"`
	AlsoListed []string      `json:"also_listed"` // slugs of other services with an endpoint here
	Clipped    bool          `json:"clipped"`     // something was left out, or cut, for size
}

// RecipientLookup is who is paid at a recipient: the data of /v1/lookup/pay-to/<caip2>/<address>.json. With its
// envelope it has less than 2 KiB.
type RecipientLookup struct {
	Network      string             `json:"network"` // CAIP-2
	PayTo        string             `json:"pay_to"`  // as a service wrote it
	ServiceCount int                `json:"service_count"`
	Services     []RecipientService `json:"services"` // by slug
	Clipped      bool               `json:"clipped"`  // something was left out, or cut, for size
}

// RecipientService is a service that is paid at a recipient.
type RecipientService struct {
	LookupService
	Signable      bool     `json:"signable"`       // of each endpoint that is paid here
	EndpointCount int      `json:"endpoint_count"` // endpoints that are paid here
	MinPriceUSD   *Decimal `json:"min_price_usd"`  // of these; null where no price is known in dollars
}

// LookupService is a service in a look-up.
type LookupService struct {
	Slug       string        `json:"slug"`
	Name       string        `json:"name"`
	Status     string        `json:"status"`
	Verified   bool          `json:"verified"`
	Risk       string        `json:"risk"`        // level
	LastChange *LookupChange `json:"last_change"` // the newest of its change records; null when there is none
}

// LookupChange is a change record in short.
type LookupChange struct {
	Type       string `json:"type"`
	ObservedAt Time   `json:"observed_at"`
}

// LookupPrice is one way to pay now.
type LookupPrice struct {
	Method       string  `json:"method"`
	Scheme       string  `json:"scheme"`
	NetworkCAIP2 *string `json:"network_caip2"`
	AssetName    string  `json:"asset_name"`
	AssetAddress string  `json:"asset_address"`
	Price        string  `json:"price"` // atomic units
	PriceUSD     *string `json:"price_usd"`
	PayTo        string  `json:"pay_to"`
	Since        Time    `json:"since"` // since when it is asked so
}

// MaxLookup is the largest answer of a look-up, in bytes.
const MaxLookup = 2 << 10

// Terms is what the directory knows of an endpoint beyond the contract's Endpoint.
type Terms struct {
	Signable bool           // a standard client could sign a payment
	Reason   string         // what keeps it from that, "" when Signable
	Prices   []PricingTerms // of each of the endpoint's Pricing
}

// PricingTerms is what the directory knows of a price beyond the contract's PricingEntry.
type PricingTerms struct {
	Since Time
	Extra string // as received; "" without
}
