package site

import "slices"

// Limits of evidence, so that no service can make it large.
const (
	EvidenceBytes    = 16 << 10 // for a body, and for the headers of an answer
	EvidenceTotal    = 1 << 20  // for all bodies and headers of a service; further endpoints have none
	EvidenceWarnings = 200      // for a service
	EvidenceDefects  = 32       // for an endpoint
)

// Evidence is the data of /v1/services/{slug}/evidence: the requests, answers and check results behind a service's
// current verdicts and grade, so that anybody can repeat them. Texts from services are shortened, and their invisible
// characters are replaced by U+FFFD.
type Evidence struct {
	Slug   string          `json:"slug"`
	Grade  string          `json:"grade"`
	Passed int             `json:"passed"`
	Total  int             `json:"total"`
	Checks []EvidenceCheck `json:"checks"` // all 14, in the order of compliance
	// the first EvidenceWarnings by code, endpoint and row; none of them affects the grade
	Warnings     []EvidenceWarning `json:"warnings"`
	WarningCount int               `json:"warning_count"` // number of all warnings
	// the active endpoints (all, if none is active) and the unprobeable ones; by path, then method
	Endpoints   []EndpointEvidence `json:"endpoints"`
	GradeReason string             `json:"grade_reason"` // the same as in Compliance
	Input       string             `json:"input"`        // document of which the assessment's input_hash is the SHA-256

	SiteAnswers  []EvidenceSiteAnswer  `json:"site_answers"` // behind the assessment's site, in the order of requests
	Registration *EvidenceRegistration `json:"registration"` // behind its domain; null without a registrable domain
	VerifiedBy   *string               `json:"verified_by"`  // owner or operator; null if never verified
}

// EvidenceSiteAnswer is the answer to the request for one document of the service's site.
type EvidenceSiteAnswer struct {
	Document    string  `json:"document"`
	URL         string  `json:"url"`
	Status      *int    `json:"status"` // null without an answer
	ContentType *string `json:"content_type"`
	Exists      *bool   `json:"exists"` // null if the answer says nothing about the document
	Reason      string  `json:"reason"`
}

// EvidenceRegistration is what a registry answered about the service's domain.
type EvidenceRegistration struct {
	Domain        string  `json:"domain"`         // registrable domain of the base address
	PrivateSuffix *string `json:"private_suffix"` // of the public suffix list; no registry is asked below it
	URL           *string `json:"url"`            // at which the registry was asked; null if none was
	Registered    *bool   `json:"registered"`     // whether the registry knows the domain
	CheckedAt     *Time   `json:"checked_at"`
	Registrar     *string `json:"registrar"`
	CreatedDate   *Time   `json:"created_date"`
}

// Values of VerifiedBy.
const (
	VerifiedByOwner    = "owner"    // who published the token at /.well-known/tollbook
	VerifiedByOperator = "operator" // of the directory
)

// EvidenceCheck is the result of one compliance check, with its reason.
type EvidenceCheck struct {
	ID       string  `json:"id"`
	Label    string  `json:"label"`
	Pass     bool    `json:"pass"`
	Reason   *string `json:"reason"`   // the first problem found; null if the check passes, like the next two
	Expected *string `json:"expected"` // what the check requires
	// how the owner can fix it; also null if the check fails only because there are no terms
	Mend *string `json:"mend"`
}

// EvidenceWarning is an observation that no check counts.
type EvidenceWarning struct {
	Code     string  `json:"code"`
	Meaning  string  `json:"meaning"`
	Endpoint *string `json:"endpoint"` // "<METHOD> <path>"; null if it concerns the whole service
	Row      *int    `json:"row"`      // index in accepts; null if it concerns the whole endpoint
	Detail   *string `json:"detail"`
}

// EvidenceDefect is one deviation from the protocol that was tolerated while reading an answer.
type EvidenceDefect struct {
	Code    string  `json:"code"`
	Meaning string  `json:"meaning"`
	Row     *int    `json:"row"` // index in accepts; null if it concerns the whole answer
	Detail  *string `json:"detail"`
}

// EndpointEvidence is the evidence of one endpoint. A verdict is valid until the next conclusive answer. So there are
// up to three answers: the one that decided the verdict, a later inconclusive one, and an older one whose terms are
// still graded.
type EndpointEvidence struct {
	ID       string `json:"id"`
	Method   string `json:"method"`
	Path     string `json:"path"`
	URL      string `json:"url"`
	IsActive bool   `json:"is_active"`
	// a request needs input that the service does not declare, and we do not invent any: the endpoint is not down
	Unprobeable bool `json:"unprobeable"`
	// paid, broken, open or failed; null before the first conclusive answer
	Verdict      *string          `json:"verdict"`
	Class        *string          `json:"class"`        // a finer class than the verdict; null if it was not stored
	Reason       *string          `json:"reason"`       // reason for the verdict, in a sentence
	Answer       *EvidenceAnswer  `json:"answer"`       // the one that decided the verdict; null if not stored
	Inconclusive *EvidenceSilence `json:"inconclusive"` // a later answer that says nothing about the endpoint
	// the older answer whose terms are graded; null if that is Answer, or if there is none
	Terms       *EvidenceAnswer   `json:"terms"`
	Protocols   []string          `json:"protocols"`    // other payment protocols in the graded answer
	Defects     []EvidenceDefect  `json:"defects"`      // the first EvidenceDefects of the graded answer
	DefectCount int               `json:"defect_count"` // number of all defects
	Captured    *EvidenceCaptured `json:"captured"`     // where the graded terms were found; null if there are none

	HeadFree    *bool `json:"head_free"`     // HEAD is served without payment; null if unknown
	HeadAskedAt *Time `json:"head_asked_at"` // when the last HEAD request was sent; null before the first
	// the price in the service's OpenAPI document; null if it declares none
	DeclaredPrice *EvidencePrice `json:"declared_price"`

	HeadURL    *string `json:"head_url"`    // of the HEAD request that decided HeadFree
	HeadStatus *int    `json:"head_status"` // of its answer
}

// EvidencePrice is a price from a document of the service. Absent parts are null.
type EvidencePrice struct {
	Mode     *string `json:"mode"`     // fixed, dynamic, offer
	Currency *string `json:"currency"` // null means US dollars
	Amount   *string `json:"amount"`   // decimal string; in base units in an offer
	Min      *string `json:"min"`
	Max      *string `json:"max"`
}

// EvidenceSilence is an inconclusive answer, which is not counted.
type EvidenceSilence struct {
	Class  string          `json:"class"`
	Reason string          `json:"reason"`
	Answer *EvidenceAnswer `json:"answer"`
}

// EvidenceCaptured is where in an answer the terms were found.
type EvidenceCaptured struct {
	X402Version int    `json:"x402_version"`
	Channel     string `json:"channel"` // header, alias, body, nested, html
	Decode      string `json:"decode"`  // how the bytes were decoded: std, json, url, ...
	Fingerprint string `json:"fingerprint"`
}

// EvidenceAnswer is one request to an endpoint and its result.
type EvidenceAnswer struct {
	ReceivedAt Time                `json:"received_at"` // when the response arrived, or when the request was given up
	Request    *EvidenceRequest    `json:"request"`     // null if none was sent or it was not stored
	Redirects  []string            `json:"redirects"`   // URLs of the redirects that led to the request, in order
	Status     *int                `json:"status"`      // null if there was no response
	Headers    map[string][]string `json:"headers"`     // only names that IsEvidenceHeader accepts
	// names of the headers that were shortened or left out because of their length
	HeadersClipped []string        `json:"headers_clipped"`
	Body           EvidenceBody    `json:"body"`
	TLSVerified    bool            `json:"tls_verified"`
	ResponseTimeMS *int            `json:"response_time_ms"` // until the response headers arrived, redirects included
	PhasesMS       *EvidencePhases `json:"phases_ms"`
}

// EvidenceRequest is a request as sent; its User-Agent names the crawler.
type EvidenceRequest struct {
	Method  string              `json:"method"`
	URL     string              `json:"url"`
	Headers map[string][]string `json:"headers"`
	Body    EvidenceBody        `json:"body"`
}

// EvidenceBody is a body as text, or as base64 if it is not UTF-8.
type EvidenceBody struct {
	Encoding  string `json:"encoding"` // "utf-8" or "base64"
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"` // the body was longer
	Cleaned   bool   `json:"cleaned"`   // invisible characters were replaced by U+FFFD
}

// EvidencePhases are the durations of the phases of a request in milliseconds. A phase that a reused connection did not
// need is 0.
type EvidencePhases struct {
	DNS       float64 `json:"dns"`
	Connect   float64 `json:"connect"`
	TLS       float64 `json:"tls"`
	FirstByte float64 `json:"first_byte"`
}

// unprobeable are the classes of crawl/probe for answers that cannot be interpreted without input that the service does
// not declare.
var unprobeable = []string{"needs_input", "wrong_method"}

// IsUnprobeable reports whether an answer's class means that the endpoint cannot be probed without inventing input.
func IsUnprobeable(class string) bool { return slices.Contains(unprobeable, class) }

// evidenceHeaders are the canonical names of headers that may be published: those about payment, the body, redirects,
// refusals and the server. Headers that may contain a secret or identify a visitor are not published. Neither are
// headers that change with every response, because the first of several equal answers is stored.
var evidenceHeaders = map[string]bool{
	"Payment-Required": true, "X-Payment-Required": true, "X-Payment-Requirements": true, "Payment-Requirements": true,
	"Payment-Response": true, "X-Payment-Response": true, "Www-Authenticate": true, "Crawler-Price": true,
	"Crawler-Exact-Price": true, "Crawler-Max-Price": true,

	"Content-Type": true, "Content-Length": true, "Content-Encoding": true, "Content-Language": true,
	"Cache-Control": true,
	"Vary":          true, "Access-Control-Allow-Origin": true, "Access-Control-Expose-Headers": true,
	"Strict-Transport-Security": true,

	"Location": true, "Allow": true, "Retry-After": true, "Ratelimit": true, "Ratelimit-Policy": true,
	"Cf-Mitigated":   true,
	"X-Vercel-Error": true, "X-Vercel-Mitigated": true, "X-Amzn-Waf-Action": true, "X-Datadome": true,
	"X-Sucuri-Block": true,

	"Server": true, "Via": true, "X-Powered-By": true,
}

// IsEvidenceHeader reports whether a response header with this canonical name is published.
func IsEvidenceHeader(name string) bool { return evidenceHeaders[name] }
