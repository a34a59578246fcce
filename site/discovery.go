package site

import (
	"encoding/json"

	"tollbook/site/encode"
)

// Catalogue is the framing of /discovery/resources, that of a facilitator's catalogue.
var Catalogue = encode.Framing{Lead: `"x402Version":2,`, Rows: "items", Meta: "pagination"}

// CataloguePagination: position of a page in the catalogue.
//
// It is the pagination of the catalogue.
type CataloguePagination struct {
	Limit int `json:"limit"`
	// Number of rows skipped.
	Offset int `json:"offset"`
	// As [StatusSummary.Total].
	Total int `json:"total"`
}

// Types of the resources of the catalogue.
const (
	CatalogueHTTP = "http"
	CatalogueMCP  = "mcp" // tools of MCP servers
)

// CatalogueTypes lists them. The columns of the catalogue contain the rows of each type in this order.
var CatalogueTypes = []string{CatalogueHTTP, CatalogueMCP}

// CatalogueItem is an active endpoint with its current prices.
//
// It is a row of /discovery/resources. Its field names are those of the x402 bazaar extension; texts of services are
// shortened to the bazaar's limits.
type CatalogueItem struct {
	// URL to call; of type mcp that of the MCP server.
	Resource string `json:"resource"`
	// Kind of resource.
	Type        string `json:"type" enum:"CatalogueTypes"` // of CatalogueTypes
	X402Version int    `json:"x402Version"`
	// Each payment option.
	Accepts []CatalogueAccept `json:"accepts"`
	// When the endpoint was last seen to request payment.
	LastUpdated Time `json:"lastUpdated"` // last usable 402
	// As [ServiceListItem.Description].
	Description string `json:"description"`
	// Name of the service in printable ASCII, up to 32 characters.
	ServiceName string `json:"serviceName,omitempty"`
	// Category in printable ASCII, up to 32 characters.
	Tags []string `json:"tags"` // the category, in the same form as ServiceName
	// HTTP method or MCP tool to call the resource with.
	Extensions CatalogueExtensions `json:"extensions"`
}

// CatalogueAccept is one payment option in the format of version 2 of the protocol.
type CatalogueAccept struct {
	Scheme string `json:"scheme"`
	// As [PricingEntry.Network].
	Network string `json:"network"`
	// Amount in atomic units.
	Amount string `json:"amount"`
	// Address of the token.
	Asset string `json:"asset"`
	// Address of the recipient.
	PayTo             string `json:"payTo"`
	MaxTimeoutSeconds int    `json:"maxTimeoutSeconds"`
	// Extra data, as the service sent it.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// CatalogueExtensions is the extensions object of version 2 of the protocol.
//
// It contains the HTTP method or the name of the MCP tool, which version 2 of x402 keeps in the bazaar extension.
type CatalogueExtensions struct {
	// The bazaar extension of x402.
	Bazaar CatalogueBazaar `json:"bazaar"`
}

// CatalogueBazaar is the supported part of the bazaar extension.
type CatalogueBazaar struct {
	// How to call the resource.
	Info CatalogueInfo `json:"info"`
}

// CatalogueInfo says how to call the resource.
type CatalogueInfo struct {
	// The request.
	Input CatalogueInput `json:"input"`
}

// CatalogueInput is the request.
type CatalogueInput struct {
	// Kind of request.
	Type string `json:"type" enum:"CatalogueTypes"` // of CatalogueTypes
	// HTTP method, such as GET; only of type http.
	Method string `json:"method,omitempty"`
	// Name of the tool to call; only of type mcp.
	ToolName string `json:"toolName,omitempty"`

	// JSON schema of an MCP tool's arguments, as the server lists it, with keys sorted; absent above 4 KiB.
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// AddressLookup says what the directory knows about the endpoints at a URL.
//
// It is the data of /v1/lookup/url/<hash>.json. The whole response is smaller than MaxLookup.
type AddressLookup struct {
	// URL in normal form.
	URL string `json:"url"`
	// The service that has the endpoint.
	Service LookupService `json:"service"`
	// The worst verdict on its endpoints.
	Verdict string `json:"verdict_level"`
	// Whether each of them is payable.
	Payable bool `json:"payable"`
	// Why not; null if they are.
	Reason *string `json:"reason"`
	// Every current payment option.
	Prices []LookupPrice `json:"prices"`
	// As [Endpoint.LastSeenAt].
	LastSeenAt *Time `json:"last_seen_at"`
	// Slugs of other services that have an endpoint at this URL.
	AlsoListed []string `json:"also_listed"`
	// Whether something was left out or shortened to limit the size.
	Clipped bool `json:"clipped"`

	// The compact assessment of the service; only with include=assessment.
	Assessment *CompactAssessment `json:"assessment,omitempty"`
}

// RecipientLookup: services that are paid at a recipient's address.
//
// It is the data of /v1/lookup/pay-to/<caip2>/<address>.json. The whole response is smaller than MaxLookup.
type RecipientLookup struct {
	// As [PricingEntry.Network].
	Network string `json:"network"`
	// As [PricingEntry.PayTo].
	PayTo string `json:"pay_to"` // as a service wrote it
	// As [Network.ServiceCount].
	ServiceCount int `json:"service_count"`
	// Services that are paid at this address, by slug.
	Services []RecipientService `json:"services"`
	// As [AddressLookup.Clipped].
	Clipped bool `json:"clipped"`
}

// RecipientService is a service that is paid at a recipient's address.
type RecipientService struct {
	LookupService
	// As [AddressLookup.Payable].
	Payable bool `json:"payable"` // of each endpoint that is paid here
	// Number of endpoints that are paid at this address.
	EndpointCount int `json:"endpoint_count"`
	// As [ServiceListItem.MinPriceUSD].
	MinPriceUSD *Decimal `json:"min_price_usd"` // lowest price of these; null if no price is known in dollars
	// As [ServiceListItem.PriceCondition]; absent without one.
	PriceCondition *string `json:"price_condition,omitempty"`

	// As [ServiceListItem.Assessment].
	Assessment *CompactAssessment `json:"assessment,omitempty"`
}

// LookupService: summary of a service.
type LookupService struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// As [ServiceListItem.Name].
	Name string `json:"name"`
	// As [ServiceListItem.Status].
	Status   string `json:"status"`
	Verified bool   `json:"verified"`
	// Risk level.
	Risk   string `json:"risk" enum:"RiskLevels"`
	Advice string `json:"advice_level"`
	// Newest change record; null if there is none.
	LastChange *LookupChange `json:"last_change"`
}

// LookupChange: summary of a change record.
type LookupChange struct {
	// As [ChangeRecord.Type].
	Type       string `json:"type"`
	ObservedAt Time   `json:"observed_at"`
}

// LookupPrice is one current payment option.
type LookupPrice struct {
	// As [Endpoint.Method].
	Method string `json:"method"`
	Scheme string `json:"scheme"`
	// As [PricingEntry.NetworkCAIP2].
	NetworkCAIP2 *string `json:"network_caip2"`
	// As [PricingEntry.AssetName].
	AssetName string `json:"asset_name"`
	// As [PricingEntry.AssetAddress].
	AssetAddress string `json:"asset_address"`
	// As [PricingEntry.Price].
	Price string `json:"price"`
	// As [PricingEntry.PriceUSD].
	PriceUSD *string `json:"price_usd"`
	// As [PricingEntry.PayTo].
	PayTo string `json:"pay_to"`
	// Since when this option has been offered unchanged.
	Since Time `json:"since"`
	// As [PricingEntry.Testnet].
	Testnet bool `json:"testnet"`
	// As [ServiceListItem.PriceCondition]; absent without one.
	PriceCondition *string `json:"price_condition,omitempty"`
}

// MaxLookup is the maximum size of a look-up's response in bytes, without assessments.
const MaxLookup = 2 << 10

// Terms is what the directory knows about an endpoint in addition to the fields of Endpoint.
type Terms struct {
	Payable bool           // an official client pays it, and its verdict does not advise against that
	Reason  string         // why not; "" if Payable
	Prices  []PricingTerms // one for each entry of the endpoint's Pricing

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
	Value       string // as compact JSON: the example, or else the first choice of a required field; "" without
	Required    bool
	Choices     []string // all values that are allowed, nil for any
}

// PricingTerms is what the directory knows about a price in addition to the fields of PricingEntry.
type PricingTerms struct {
	Since Time
	Extra string // as received; "" if absent
	Name  string // of the network in the newest terms, if they are of version 1 of x402; else ""
}
