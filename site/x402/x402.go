// Package x402 parses the response of a service that requests payment: from the bytes of a 402 it extracts payment
// requirements, defects and compliance checks. Services deviate from the protocol, so parsing is lenient and records
// every deviation as a Defect. A Requirement is one payment option in normal form: CAIP-2 ids, comparable addresses,
// and amounts as decimal strings. The received bytes stay unchanged. Assess applies the 14 Rules.
//
// The package is pure: it uses no clock, network or database, and knows no service, check or page. Its data is in
// networks.json and assets.json (sources in SOURCES.md). All input may be hostile. Parsing is limited in bytes, depth,
// rows and members, needs less than 8 MB for any response, and follows no reference.
package x402

import (
	"encoding/json"
	"net/http"
)

// Answer is one HTTP response as received from a service.
type Answer struct {
	Status    int
	Header    http.Header
	Body      []byte // after decompression, at most MaxBody bytes
	Truncated bool   // the body was longer than MaxBody
	URL       string // URL of the response, after redirects
}

// Limits of what is read. A bazaar header normally has 2-3 KiB, the largest one 16 KiB. The HTML paywall of version 1
// has 3.5 MB.
const (
	MaxHeader = 128 << 10
	MaxBody   = 256 << 10
)

// Channel is the part of a response that contains an envelope.
type Channel string

const (
	ChannelHeader Channel = "header" // PAYMENT-REQUIRED
	ChannelAlias  Channel = "alias"  // another header name seen in the wild
	ChannelBody   Channel = "body"   // the body is the envelope
	ChannelNested Channel = "nested" // the envelope is one level down in the body
	ChannelHTML   Channel = "html"   // window.x402 in a paywall page
	ChannelMCP    Channel = "mcp"    // the result of a tool, as x402 over MCP has it
)

// Defect is one deviation that parsing accepts and a strict client refuses.
type Defect struct {
	Code   string `json:"code"`             // stable, lower case with underscores
	Detail string `json:"detail,omitempty"` // what was found, clipped and cleaned
	Row    *int   `json:"row,omitempty"`    // index in accepts, nil when it is about the whole envelope
}

// Captured contains everything that one response says about payment.
type Captured struct {
	Envelope  *Envelope  // the chosen one; nil if the response contains none
	Others    []Envelope // the other readable candidates, in channel order
	Defects   []Defect   // of the chosen envelope and of the choice itself
	Divergent bool       // channels disagree on amount, recipient, asset, network or scheme
	Relation  Relation   // the relation of the chosen envelope and the others
	Protocols []string   // signs of other payment protocols: "mpp", "l402", "crawler-price", sorted
	Platform  bool       // a hosting platform's own 402 page (a disabled deployment): the service is down
}

// Relation is the relation of several envelopes in one response.
type Relation string

const (
	Single    Relation = ""          // at most one envelope offers anything
	Mirror    Relation = "mirror"    // the same offers twice, in one version
	DualStack Relation = "dual"      // the same offers in version 1 and version 2
	Divergent Relation = "divergent" // different offers
)

// Envelope is one PaymentRequired object, version 1 or 2, read leniently into one form.
type Envelope struct {
	Version   int // as read or inferred
	Channel   Channel
	Decode    string          // how the bytes were decoded: json, std, std-unpadded, url, url-unpadded, raw, ...
	Raw       json.RawMessage // the JSON text as decoded, unchanged
	Error     string
	Resource  Resource
	Accepts   []Requirement
	Discovery *Discovery // bazaar extension (v2) or outputSchema (v1), nil without
	Defects   []Defect   // defects of this envelope; Captured.Defects has those of the chosen one

	top object // its members, nil for requirements without an envelope
}

// Resource describes the paid resource in the service's own texts, without control characters, and clipped.
type Resource struct {
	URL, Description, MimeType, ServiceName, IconURL string
	Tags                                             []string
}

// Discovery says how to call the resource, as the service declares it.
type Discovery struct {
	Method        string          // upper case, "" if not declared
	Body          json.RawMessage // example body for POST, PUT, PATCH; nil without
	QueryParams   json.RawMessage // example query parameters as a JSON object; nil if none are declared
	RouteTemplate string          // "/users/:id", "" when absent or malformed
	MCP           bool            // an MCP tool, which an HTTP prober must not call
}

// Requirement is one row of accepts: one way to pay. Its texts are clipped, and invisible characters are replaced by
// U+FFFD. Raw has the received bytes.
type Requirement struct {
	Scheme       string
	Network      string // as received
	NetworkCAIP2 string // normalised, "" when it does not resolve
	Asset        string // as received
	AssetNorm    string // hex addresses in lower case, else as received
	AssetName    string // symbol from the asset table, else "UNKNOWN"
	// atomic units, an integer in decimal digits; for issued currencies of the XRP Ledger the value as a decimal, such
	// as "10.5"; "" when there is none
	Amount            string
	AmountRaw         string // as received, whatever it was
	PayTo             string // as received, "" when there is none
	PayToNorm         string
	PayToSource       string // the key that held the recipient: payTo, payToAddress, ...
	PayToLocation     string // "accept" in the row, "element" elsewhere in the envelope
	MaxTimeoutSeconds *int
	Extra             json.RawMessage // nil when absent or null
	Raw               json.RawMessage // the row as received

	members object // of Raw
}
