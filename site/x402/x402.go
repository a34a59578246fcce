// Package x402 reads what a service answers when it asks to be paid: the bytes of a 402 in, payment requirements,
// defects and compliance checks out.
//
// Services send what their authors thought the protocol was, so reading is lenient and keeps count: Capture looks in
// every place where terms have been seen, in every encoding, chooses one Envelope, and records each leniency as a
// Defect whose code DefectCodes explains. A Requirement is one way to pay in normal form: networks as CAIP-2 ids,
// addresses in the one form in which two compare equal, amounts as integers in decimal text, never a float. What was
// received stays beside it, untouched. Assess then applies the 14 Rules, gives a grade and adds warnings.
//
// The package owns the protocol's data: networks.json, assets.json (sources in SOURCES.md) and the address shapes of
// each namespace. It is pure: no clock, no network, no database, and it must never know what a service, a check or a
// page is.
//
// Whatever comes in is hostile. Reading is bounded in bytes, depth, rows and members, takes less than 8 MB for any
// answer, and follows no reference found in one.
package x402

import (
	"encoding/json"
	"net/http"
)

// Answer is one HTTP answer as it was received.
type Answer struct {
	Status    int
	Header    http.Header
	Body      []byte // after decompression, at most MaxBody bytes
	Truncated bool   // the body went on beyond MaxBody
	URL       string // the address that answered, after redirects
}

// Limits of what is read. A bazaar header of 2-3 KiB is normal and one of 16 KiB was met; the v1 HTML paywall
// measured 3.5 MB.
const (
	MaxHeader = 128 << 10
	MaxBody   = 256 << 10
)

// Channel says where in the answer an envelope stood.
type Channel string

const (
	ChannelHeader Channel = "header" // PAYMENT-REQUIRED
	ChannelAlias  Channel = "alias"  // another header name seen in the wild
	ChannelBody   Channel = "body"   // the body is the envelope
	ChannelNested Channel = "nested" // the envelope is one level down in the body
	ChannelHTML   Channel = "html"   // window.x402 in a paywall page
)

// Defect is one leniency that reading took: what a strict client would have refused.
type Defect struct {
	Code   string `json:"code"`             // stable, lower case with underscores
	Detail string `json:"detail,omitempty"` // what was found, clipped and cleaned
	Row    *int   `json:"row,omitempty"`    // index in accepts, nil when it is about the whole envelope
}

// Captured is everything that one answer says about payment.
type Captured struct {
	Envelope  *Envelope   // the chosen one; nil when the answer holds none
	Others    []Envelope  // the other readable candidates, in channel order
	Defects   []Defect    // of the chosen envelope and of the choice itself
	Divergent bool        // channels disagree on amount, recipient, asset, network or scheme
	Relation  Relation    // how the chosen envelope and the others go together
	Protocols []string    // other payment protocols hinted at: "mpp", "l402", "crawler-price", sorted
	MPP       []Challenge // what a "Payment" authentication scheme asks for, in the order received
	Platform  bool        // a hosting platform's own 402 page (a disabled deployment): the service is down
}

// Relation says how several envelopes in one answer go together.
type Relation string

const (
	Single    Relation = ""          // at most one envelope offers anything
	Mirror    Relation = "mirror"    // the same offers twice, in one version
	DualStack Relation = "dual"      // the same offers in version 1 and version 2
	Divergent Relation = "divergent" // the offers differ: an answer that says two things
)

// Envelope is one PaymentRequired object, version 1 or 2, read leniently into one form.
type Envelope struct {
	Version   int // as read or inferred
	Channel   Channel
	Decode    string          // how the bytes were decoded: json, std, std-unpadded, url, url-unpadded, raw, ...
	Raw       json.RawMessage // the JSON text as decoded, untouched; SafeJSON makes of it what a database takes
	Error     string
	Resource  Resource
	Accepts   []Requirement
	Discovery *Discovery // bazaar extension (v2) or outputSchema (v1), nil without
	Defects   []Defect   // what reading this envelope took; Captured.Defects has those of the chosen one

	top object // its members, nil where requirements stood alone
}

// Resource describes what is paid for, in the service's own words (cleaned of control characters, clipped).
type Resource struct {
	URL, Description, MimeType, ServiceName, IconURL string
	Tags                                             []string
}

// Discovery is how to call the resource, as the service declares it.
type Discovery struct {
	Method        string          // upper case, "" when not said
	Body          json.RawMessage // example body for POST, PUT, PATCH; nil without
	QueryParams   json.RawMessage // example query parameters as a JSON object; nil without
	RouteTemplate string          // "/users/:id", "" when absent or malformed
	MCP           bool            // an MCP tool, which a prober limited to HTTP must not call
}

// Requirement is one row of accepts: one way to pay. Its texts are clipped, and characters that show nothing are U+FFFD
// in them; Raw has what was received.
type Requirement struct {
	Scheme       string
	Network      string // as received
	NetworkCAIP2 string // normalised, "" when it does not resolve
	Asset        string // as received
	AssetNorm    string // hex addresses in lower case, else as received
	AssetName    string // symbol from the asset table, else "UNKNOWN"
	// atomic units, an integer in decimal digits; "" when there is none, as of XRPL issued currencies
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
