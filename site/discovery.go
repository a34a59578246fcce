package site

import (
	"encoding/json"

	"tollbook/site/encode"
)

// Catalogue is the framing of /discovery/resources, that of a facilitator's catalogue.
var Catalogue = encode.Framing{Lead: `"x402Version":2,`, Rows: "items", Meta: "pagination"}

// CataloguePagination is the pagination of the catalogue.
type CataloguePagination struct {
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
	Total  int `json:"total"`
}

// Types of the resources of the catalogue.
const (
	CatalogueHTTP = "http"
	CatalogueMCP  = "mcp" // tools of MCP servers
)

// CatalogueTypes lists them. The columns of the catalogue contain the rows of each type in this order.
var CatalogueTypes = []string{CatalogueHTTP, CatalogueMCP}

// CatalogueItem is a row of /discovery/resources: an active endpoint with its current prices. Its field names are those
// of the x402 bazaar extension; texts of services are shortened to the bazaar's limits.
type CatalogueItem struct {
	Resource    string              `json:"resource"`
	Type        string              `json:"type"` // of CatalogueTypes
	X402Version int                 `json:"x402Version"`
	Accepts     []CatalogueAccept   `json:"accepts"`
	LastUpdated Time                `json:"lastUpdated"` // last usable 402
	Description string              `json:"description"`
	ServiceName string              `json:"serviceName,omitempty"` // printable ASCII, at most 32 characters
	Tags        []string            `json:"tags"`                  // the category, in the same form as ServiceName
	Extensions  CatalogueExtensions `json:"extensions"`
}

// CatalogueAccept is one payment option in the format of version 2 of x402.
type CatalogueAccept struct {
	Scheme            string          `json:"scheme"`
	Network           string          `json:"network"` // CAIP-2
	Amount            string          `json:"amount"`  // atomic units
	Asset             string          `json:"asset"`
	PayTo             string          `json:"payTo"`
	MaxTimeoutSeconds int             `json:"maxTimeoutSeconds"`
	Extra             json.RawMessage `json:"extra,omitempty"`
}

// CatalogueExtensions contains the HTTP method or the name of the MCP tool, which version 2 of x402 keeps in the bazaar
// extension.
type CatalogueExtensions struct {
	Bazaar CatalogueBazaar `json:"bazaar"`
}

// CatalogueBazaar is the part of the bazaar extension that the directory supports.
type CatalogueBazaar struct {
	Info CatalogueInfo `json:"info"`
}

// CatalogueInfo describes how to call the resource.
type CatalogueInfo struct {
	Input CatalogueInput `json:"input"`
}

// CatalogueInput is the request.
type CatalogueInput struct {
	Type     string `json:"type"`               // of CatalogueTypes
	Method   string `json:"method,omitempty"`   // of type http
	ToolName string `json:"toolName,omitempty"` // of type mcp

	InputSchema json.RawMessage `json:"inputSchema,omitempty"` // of type mcp, as the server lists the tool
}

// AddressLookup is the data of /v1/lookup/url/<hash>.json: what the directory knows about the endpoints at a URL. The
// whole response is smaller than MaxLookup.
type AddressLookup struct {
	URL        string        `json:"url"` // normal form
	Service    LookupService `json:"service"`
	Signable   bool          `json:"signable"` // a standard client could sign a payment for each endpoint at this URL
	Reason     *string       `json:"reason"`   // why it could not; null if Signable
	Prices     []LookupPrice `json:"prices"`   // every current payment option
	LastSeenAt *Time         `json:"last_seen_at"`
	AlsoListed []string      `json:"also_listed"` // slugs of other services with an endpoint at this URL
	Clipped    bool          `json:"clipped"`     // something was left out or shortened to limit the size

	Assessment *CompactAssessment `json:"assessment,omitempty"` // only with include=assessment
}

// RecipientLookup is the data of /v1/lookup/pay-to/<caip2>/<address>.json: the services that are paid at a recipient's
// address. The whole response is smaller than MaxLookup.
type RecipientLookup struct {
	Network      string             `json:"network"` // CAIP-2
	PayTo        string             `json:"pay_to"`  // as a service wrote it
	ServiceCount int                `json:"service_count"`
	Services     []RecipientService `json:"services"` // by slug
	Clipped      bool               `json:"clipped"`  // something was left out or shortened to limit the size
}

// RecipientService is a service that is paid at a recipient.
type RecipientService struct {
	LookupService
	Signable      bool     `json:"signable"`       // a standard client could pay each endpoint that is paid here
	EndpointCount int      `json:"endpoint_count"` // endpoints that are paid here
	MinPriceUSD   *Decimal `json:"min_price_usd"`  // lowest price of these; null if no price is known in dollars

	Assessment *CompactAssessment `json:"assessment,omitempty"` // only with include=assessment
}

// LookupService is a service in a look-up.
type LookupService struct {
	Slug       string        `json:"slug"`
	Name       string        `json:"name"`
	Status     string        `json:"status"`
	Verified   bool          `json:"verified"`
	Risk       string        `json:"risk"`         // level
	Advice     string        `json:"advice_level"` // whether the service may be paid; "" in older snapshots
	LastChange *LookupChange `json:"last_change"`  // the newest of its change records; null when there is none
}

// LookupChange is a summary of a change record.
type LookupChange struct {
	Type       string `json:"type"`
	ObservedAt Time   `json:"observed_at"`
}

// LookupPrice is one current payment option.
type LookupPrice struct {
	Method       string  `json:"method"`
	Scheme       string  `json:"scheme"`
	NetworkCAIP2 *string `json:"network_caip2"`
	AssetName    string  `json:"asset_name"`
	AssetAddress string  `json:"asset_address"`
	Price        string  `json:"price"` // atomic units
	PriceUSD     *string `json:"price_usd"`
	PayTo        string  `json:"pay_to"`
	Since        Time    `json:"since"`   // since when it has been offered unchanged
	Testnet      bool    `json:"testnet"` // tokens of a test network have no value
}

// MaxLookup is the maximum size of a look-up's response in bytes, without assessments.
const MaxLookup = 2 << 10

// Terms is what the directory knows about an endpoint in addition to the fields of Endpoint.
type Terms struct {
	Signable bool           // a standard client could sign a payment
	Reason   string         // why it could not; "" if Signable
	Payable  bool           // pages may show how to pay it: no known fact says that the money would be lost
	Prices   []PricingTerms // one for each entry of the endpoint's Pricing

	InputSchema string // JSON schema of an MCP tool's input; "" for none

	Fields     []RequestField // of its request, as the service declares them
	MoreFields int            // fields that are not among them
}

// Places of a field in a request.
const (
	InPath      = "path"
	InQuery     = "query"
	InBody      = "body"
	InArguments = "arguments" // of an MCP tool
)

// RequestPlaces are the places of fields in a request, in the order in which pages show them.
var RequestPlaces = []string{InPath, InQuery, InBody, InArguments}

// RequestField is a field of a request. Its name is plain; its other texts are as the service wrote them.
type RequestField struct {
	Name, In    string
	Type        string // of JSON, "" if unknown
	Description string
	Example     string // "" without
	Required    bool
	Choices     []string // all values that are allowed, nil for any
}

// PricingTerms is what the directory knows about a price in addition to the fields of PricingEntry.
type PricingTerms struct {
	Since Time
	Extra string // as received; "" if absent
}
