package site

import "slices"

// Limits of evidence, so that no service can make it large.
const (
	EvidenceBytes    = 16 << 10 // of a body, and of the headers of an answer
	EvidenceTotal    = 1 << 20  // of all bodies and headers of a service; endpoints after them are told without
	EvidenceWarnings = 200      // of a service
	EvidenceDefects  = 32       // of an endpoint
)

// Evidence is the data of /v1/services/{slug}/evidence: what stands behind a service's current verdicts and its grade,
// so that anybody can judge again. Texts that services sent are clipped, and what shows nothing in them is U+FFFD.
type Evidence struct {
	Slug   string          `json:"slug"`
	Grade  string          `json:"grade"`
	Passed int             `json:"passed"`
	Total  int             `json:"total"`
	Checks []EvidenceCheck `json:"checks"` // all 14, in the order of compliance
	// the first by code, endpoint and row; none of them counts in the grade
	Warnings     []EvidenceWarning `json:"warnings"`
	WarningCount int               `json:"warning_count"` // of all
	// the active ones, or all where none is, and unprobeable ones; by path, then method
	Endpoints []EndpointEvidence `json:"endpoints"`
}

// EvidenceCheck is one rule's result with its grounds.
type EvidenceCheck struct {
	ID       string  `json:"id"`
	Label    string  `json:"label"`
	Pass     bool    `json:"pass"`
	Reason   *string `json:"reason"`   // the first thing found wrong; null when it passes, as are the next two
	Expected *string `json:"expected"` // what the rule asks for
	// what an operator can do about it; null too where it only fails for want of any terms
	Mend *string `json:"mend"`
}

// EvidenceWarning is something worth knowing that no check counts.
type EvidenceWarning struct {
	Code     string  `json:"code"`
	Meaning  string  `json:"meaning"`
	Endpoint *string `json:"endpoint"` // "<METHOD> <path>"; null when it is about the whole service
	Row      *int    `json:"row"`      // index in accepts; null when it is about the whole endpoint
	Detail   *string `json:"detail"`
}

// EvidenceDefect is one leniency that reading an answer took.
type EvidenceDefect struct {
	Code    string  `json:"code"`
	Meaning string  `json:"meaning"`
	Row     *int    `json:"row"` // index in accepts; null when it is about the whole answer
	Detail  *string `json:"detail"`
}

// EndpointEvidence is what one endpoint answered. A verdict stands until the next conclusive answer, so there may be up
// to three answers: the verdict's own, a later one that says nothing, and an older one whose terms are still judged.
type EndpointEvidence struct {
	ID       string `json:"id"`
	Method   string `json:"method"`
	Path     string `json:"path"`
	URL      string `json:"url"`
	IsActive bool   `json:"is_active"`
	// asking it takes input that nobody declared and we do not invent: it is not down
	Unprobeable bool `json:"unprobeable"`
	// paid, broken, open or failed; null before the first conclusive answer
	Verdict      *string          `json:"verdict"`
	Class        *string          `json:"class"`        // finer than the verdict; null where it was not kept
	Reason       *string          `json:"reason"`       // of the verdict, in a sentence
	Answer       *EvidenceAnswer  `json:"answer"`       // the verdict's; null where it was not kept
	Inconclusive *EvidenceSilence `json:"inconclusive"` // what came after Answer and says nothing of the endpoint
	// the older answer whose terms the checks judge; null where that is Answer, or there is none
	Terms       *EvidenceAnswer   `json:"terms"`
	Protocols   []string          `json:"protocols"`    // other payment protocols that the judged answer hints at
	Defects     []EvidenceDefect  `json:"defects"`      // of reading the judged answer, the first of them
	DefectCount int               `json:"defect_count"` // of all
	Captured    *EvidenceCaptured `json:"captured"`     // how the judged terms were found; null without any

	HeadFree    *bool `json:"head_free"`     // HEAD is served without payment; null when that is not known
	HeadAskedAt *Time `json:"head_asked_at"` // the last HEAD; null before the first
	// what the OpenAPI document says that it costs; null when it says nothing
	DeclaredPrice *EvidencePrice `json:"declared_price"`
}

// EvidencePrice is a price as a document declares it; what it does not say is null.
type EvidencePrice struct {
	Mode     *string `json:"mode"`     // fixed, dynamic, offer
	Currency *string `json:"currency"` // US dollars where it is null
	Amount   *string `json:"amount"`   // decimal text; base units in an offer
	Min      *string `json:"min"`
	Max      *string `json:"max"`
}

// EvidenceSilence is an answer that counts in nothing.
type EvidenceSilence struct {
	Class  string          `json:"class"`
	Reason string          `json:"reason"`
	Answer *EvidenceAnswer `json:"answer"`
}

// EvidenceCaptured says where in an answer the terms stood.
type EvidenceCaptured struct {
	X402Version int    `json:"x402_version"`
	Channel     string `json:"channel"` // header, alias, body, nested, html
	Decode      string `json:"decode"`  // how the bytes were decoded: std, json, url, ...
	Fingerprint string `json:"fingerprint"`
}

// EvidenceAnswer is one request and what came of it.
type EvidenceAnswer struct {
	ReceivedAt Time                `json:"received_at"` // or given up
	Request    *EvidenceRequest    `json:"request"`     // null when nothing was sent, or it was not kept
	Redirects  []string            `json:"redirects"`   // addresses gone through to the request's, in order
	Status     *int                `json:"status"`      // null when no answer came
	Headers    map[string][]string `json:"headers"`     // of a fixed list of names
	// names of those that were cut or left out for their length
	HeadersClipped []string        `json:"headers_clipped"`
	Body           EvidenceBody    `json:"body"`
	TLSVerified    bool            `json:"tls_verified"`
	ResponseTimeMS *int            `json:"response_time_ms"` // to the response headers, redirects included
	PhasesMS       *EvidencePhases `json:"phases_ms"`
}

// EvidenceRequest is a request as it was sent; its User-Agent says who asked.
type EvidenceRequest struct {
	Method  string              `json:"method"`
	URL     string              `json:"url"`
	Headers map[string][]string `json:"headers"`
	Body    EvidenceBody        `json:"body"`
}

// EvidenceBody is a body as text, or as base64 where it is not UTF-8.
type EvidenceBody struct {
	Encoding  string `json:"encoding"` // "utf-8" or "base64"
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"` // it went on
	Cleaned   bool   `json:"cleaned"`   // characters that show nothing were replaced by U+FFFD
}

// EvidencePhases is how long the steps of a request took in milliseconds; one that a kept connection made needless is
// 0.
type EvidencePhases struct {
	DNS       float64 `json:"dns"`
	Connect   float64 `json:"connect"`
	TLS       float64 `json:"tls"`
	FirstByte float64 `json:"first_byte"`
}

// unprobeable are the classes of answers (crawl/probe) that say: without input that nobody declared, nothing can be
// learnt here.
var unprobeable = []string{"needs_input", "wrong_method"}

// IsUnprobeable says whether an answer's class means that the endpoint cannot be asked without inventing input.
func IsUnprobeable(class string) bool { return slices.Contains(unprobeable, class) }

// evidenceHeaders are the names that may be published, in canonical form: what says something of payment, of the body,
// of a redirect or a refusal, and of who answered. Whatever may hold a secret or mark a visitor is not among them, nor
// what is of a moment: an answer that differs in nothing else is kept as it first came.
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

// IsEvidenceHeader says whether a response header of this name, in canonical form, is published.
func IsEvidenceHeader(name string) bool { return evidenceHeaders[name] }
