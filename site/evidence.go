package site

import (
	"cmp"
	"slices"
)

// Limits of evidence, so that no service can make it large.
const (
	EvidenceBytes    = 16 << 10 // for a body, and for the headers of an answer
	EvidenceTotal    = 1 << 20  // for all bodies and headers of a service; further endpoints have none
	EvidenceWarnings = 200      // for a service
	EvidenceDefects  = 32       // for an endpoint
)

// Evidence is the requests, answers and check results behind a service's current verdicts and grade, so that anybody
// can repeat them.
//
// It is the data of /v1/services/{slug}/evidence. Texts from services are shortened, and their invisible characters are
// replaced by U+FFFD.
type Evidence struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// As [Compliance.Grade].
	Grade  string `json:"grade"`
	Passed int    `json:"passed"`
	// As [StatusSummary.Total].
	Total int `json:"total"`
	// Results of the 14 conformance checks, in the order of compliance.
	Checks []EvidenceCheck `json:"checks"`
	// Warnings; none of them affects the grade.
	//
	// The first EvidenceWarnings by code, endpoint and row.
	Warnings []EvidenceWarning `json:"warnings"`
	// Total number of warnings; the list contains the first of them.
	WarningCount int `json:"warning_count"`
	// The active endpoints (all, if none is active) and those that could not be probed; by path, then method.
	Endpoints []EndpointEvidence `json:"endpoints"`
	// As [Compliance.GradeReason].
	GradeReason string `json:"grade_reason"` // the same as in Compliance
	// JSON document that a language model gets about the service; its SHA-256 is input_hash.
	Input string `json:"input"`

	// Answers behind the assessment's site, in the order of requests; empty before the first visit.
	SiteAnswers []EvidenceSiteAnswer `json:"site_answers"`
	// The registry's answer behind the assessment's domain; null without a registrable domain.
	Registration *EvidenceRegistration `json:"registration"`
	// Who verified the service: its owner, by a token at /.well-known/tollbook, or the directory's operator.
	VerifiedBy *string `json:"verified_by" enum:"Verifiers"`
}

// EvidenceSiteAnswer is the answer to the request for one document of the service's site.
type EvidenceSiteAnswer struct {
	// Document: homepage, openapi, pricing, llms_txt, robots or terms; manifest (what /.well-known/x402, x402.json or mpp
	// lists), agent_card or api_catalog if the site has one.
	Document string `json:"document"`
	// URL of the document.
	URL string `json:"url"`
	// HTTP status of the answer; null without one.
	Status *int `json:"status"`
	// Media type of the answer; null without one.
	ContentType *string `json:"content_type"`
	// Whether the document exists at the URL; null if the answer does not say.
	Exists *bool `json:"exists"`
	// What the answer says about the document, in words.
	Reason string `json:"reason"`
	// Why not all of the document could be read, in words for its owner; null if it was.
	Problem *string `json:"problem"`
	// Number of endpoints that the document declares; null if its kind declares none, or if it could not be read.
	Declared *int `json:"declared"`
	// Entries of the document that are no endpoints to pay, by reason.
	Skipped []EvidenceSkipped `json:"skipped"`
}

// EvidenceSkipped is the number of entries of a document that were skipped for one reason.
type EvidenceSkipped struct {
	// Why they were skipped.
	Reason string `json:"reason" enum:"SkipReasons"`
	// As [EvidenceWarning.Meaning].
	Meaning string `json:"meaning"`
	// Number of such entries.
	Count int `json:"count"`
}

// Values of EvidenceSkipped.Reason.
const (
	SkippedFree      = "free"
	SkippedSignIn    = "sign_in"
	SkippedElsewhere = "elsewhere"
	SkippedProtocol  = "other_protocol"
	SkippedNoURL     = "no_url"
	SkippedOverLimit = "over_limit"
)

// SkipReasons are the values of EvidenceSkipped.Reason, in the order in which they are listed.
var SkipReasons = []string{SkippedFree, SkippedSignIn, SkippedElsewhere, SkippedProtocol, SkippedNoURL,
	SkippedOverLimit}

// skipMeanings are the reasons of SkipReasons in words.
var skipMeanings = map[string]string{
	SkippedFree:      "free, or without a word of payment",
	SkippedSignIn:    "asks for a signature of a wallet, not for a payment",
	SkippedElsewhere: "on another host, or outside the base URL of the service",
	SkippedProtocol:  "paid only over a protocol that is not read here",
	SkippedNoURL:     "has no URL that can be requested",
	SkippedOverLimit: "more than are read of one document",
}

// SkipMeaning returns one of SkipReasons in words, or an unknown reason as it is.
func SkipMeaning(reason string) string { return cmp.Or(skipMeanings[reason], reason) }

// EvidenceRegistration says what a registry answered about the service's domain.
type EvidenceRegistration struct {
	// Registrable domain of the base address.
	Domain string `json:"domain"`
	// Suffix in the private part of the public suffix list, below which no registry is asked; null if none.
	PrivateSuffix *string `json:"private_suffix"`
	// URL at which the registry was asked; null if none was.
	URL *string `json:"url"`
	// Whether the registry knows the domain; null if none was asked.
	Registered *bool `json:"registered"`
	// Time of the registry's answer.
	CheckedAt   *Time   `json:"checked_at"`
	Registrar   *string `json:"registrar"`
	CreatedDate *Time   `json:"created_date"`
}

// Values of VerifiedBy.
const (
	VerifiedByOwner    = "owner"    // who published the token at /.well-known/tollbook
	VerifiedByOperator = "operator" // of the directory
)

// EvidenceCheck is the result of one conformance check, with its reason.
type EvidenceCheck struct {
	// As [RailCheck.ID].
	ID string `json:"id"`
	// As [ComplianceCheck.Label].
	Label string `json:"label"`
	// As [ComplianceCheck.Pass].
	Pass bool `json:"pass"`
	// As [RailCheck.Reason].
	Reason *string `json:"reason"`
	// As [RailCheck.Expected].
	Expected *string `json:"expected"`
	// How the owner can fix it; null if the check passes, or fails only because there are no terms.
	Mend *string `json:"mend"`
}

// EvidenceWarning is an observation that no check counts.
type EvidenceWarning struct {
	// As [RiskFlag.Code].
	Code string `json:"code"`
	// What it means, in words.
	Meaning string `json:"meaning"`
	// As [PayToChange.Endpoint].
	Endpoint *string `json:"endpoint"` // "<METHOD> <path>"; null if it concerns the whole service
	// Index in accepts; null if it concerns the whole response.
	Row *int `json:"row"`
	// What was observed.
	Detail *string `json:"detail"`
}

// EvidenceDefect is one deviation from the protocol that was tolerated while reading a response.
type EvidenceDefect struct {
	// As [RiskFlag.Code].
	Code string `json:"code"`
	// As [EvidenceWarning.Meaning].
	Meaning string `json:"meaning"`
	Row     *int   `json:"row"`
	// As [EvidenceWarning.Detail].
	Detail *string `json:"detail"`
}

// EndpointEvidence: evidence of one endpoint.
//
// It is the evidence of one endpoint. A verdict is valid until the next conclusive answer. So there are up to three
// answers: the one that decided the verdict, a later inconclusive one, and an older one whose terms are still graded.
type EndpointEvidence struct {
	// As [Endpoint.ID].
	ID string `json:"id"`
	// As [Endpoint.Method].
	Method string `json:"method"`
	// As [Endpoint.Path].
	Path string `json:"path"`
	// URL that was requested.
	URL      string `json:"url"`
	IsActive bool   `json:"is_active"`
	// Whether a request needs input that the service does not declare; this does not mean that the endpoint is down.
	Unprobeable bool `json:"unprobeable"`
	// Verdict from the last conclusive answer: paid, broken, open or failed; null before the first.
	Verdict *string `json:"verdict"`
	// A finer class than the verdict.
	Class *string `json:"class"`
	// Reason for the verdict, in a sentence.
	Reason *string `json:"reason"`
	// The request that decided the verdict, and the response; null if it was not stored.
	Answer *EvidenceAnswer `json:"answer"`
	// A later answer that says nothing about the endpoint.
	Inconclusive *EvidenceSilence `json:"inconclusive"`
	// The older answer whose terms are graded; null if that is answer itself.
	Terms *EvidenceAnswer `json:"terms"`
	// Other payment protocols that the response suggests.
	Protocols []string `json:"protocols"`
	// Deviations from the protocol in the graded response.
	Defects []EvidenceDefect `json:"defects"` // the first EvidenceDefects of the graded answer
	// Total number of defects; the list contains the first of them.
	DefectCount int `json:"defect_count"`
	// Where the graded terms were found; null if there are none.
	Captured *EvidenceCaptured `json:"captured"`

	// Whether HEAD is served without payment; null if unknown.
	HeadFree *bool `json:"head_free"`
	// When the last HEAD request was sent; null before the first.
	HeadAskedAt *Time `json:"head_asked_at"`
	// Price in the service's OpenAPI document; null if it declares none.
	DeclaredPrice *EvidencePrice `json:"declared_price"`
	// Contradictions in what the endpoint asks for, the same request being paid differently; empty without any.
	Conflicts []TermsConflict `json:"conflicts"`

	// URL of the HEAD request that decided head_free.
	HeadURL *string `json:"head_url"`
	// HTTP status of its answer.
	HeadStatus *int `json:"head_status"`
}

// EvidencePrice is a price from a document of the service; it is never used as the service's price.
type EvidencePrice struct {
	// Kind of price: fixed, dynamic or offer.
	Mode *string `json:"mode"`
	// Currency; null means US dollars.
	Currency *string `json:"currency"`
	// Amount as a decimal string; in base units in an offer.
	Amount *string `json:"amount"`
	// Lower bound of a dynamic price.
	Min *string `json:"min"`
	// Upper bound of a dynamic price.
	Max *string `json:"max"`
	// Alternative ways to pay that the document declares, in its order.
	Offers []EvidenceOffer `json:"offers"`
}

// EvidenceOffer is one way to pay that a document of the service declares.
type EvidenceOffer struct {
	// Protocol of the offer, such as mpp or x402.
	Protocol string `json:"protocol"`
	// Payment method of MPP, such as tempo or stripe, or scheme of x402, such as exact.
	Method *string `json:"method"`
	// Intent of MPP, such as charge or session.
	Intent *string `json:"intent"`
	// Network, as written.
	Network *string `json:"network"`
	// Token address or currency, as written.
	Currency *string `json:"currency"`
	// Amount in base units of the currency; null means that each request has a price of its own.
	Amount *string `json:"amount"`
}

// EvidenceSilence is an answer that is not counted.
type EvidenceSilence struct {
	Class string `json:"class"`
	// Why the answer is not counted.
	Reason string `json:"reason"`
	// As [EndpointEvidence.Answer].
	Answer *EvidenceAnswer `json:"answer"`
}

// EvidenceCaptured says where in a response the terms were found.
type EvidenceCaptured struct {
	// Version of the protocol.
	X402Version int `json:"x402_version"`
	// Part of the response that contained the terms: header, alias, body, nested or html.
	Channel string `json:"channel"`
	// How the bytes were decoded.
	Decode string `json:"decode"`
	// Fingerprint of the terms, without the parts that change on every request.
	Fingerprint string `json:"fingerprint"`
}

// EvidenceAnswer is one request to an endpoint and its result.
type EvidenceAnswer struct {
	// When the response arrived, or when the request was given up.
	ReceivedAt Time `json:"received_at"`
	// The request as sent; null if none was sent or it was not stored.
	Request *EvidenceRequest `json:"request"`
	// URLs of the redirects that were followed, in order.
	Redirects []string `json:"redirects"`
	// HTTP status; null if there was no response.
	Status *int `json:"status"`
	// Headers from a fixed list of names.
	Headers map[string][]string `json:"headers"` // only names that IsEvidenceHeader accepts
	// Names of the headers that were shortened or left out because of their length.
	HeadersClipped []string `json:"headers_clipped"`
	// The body, shortened if necessary.
	Body EvidenceBody `json:"body"`
	// Whether each connection presented a certificate that is valid for its host.
	TLSVerified bool `json:"tls_verified"`
	// Time until the response headers arrived, redirects included, in milliseconds.
	ResponseTimeMS *int `json:"response_time_ms"`
	// Duration of each phase of the request.
	PhasesMS *EvidencePhases `json:"phases_ms"`
}

// EvidenceRequest is a request as sent.
//
// It is a request as sent; its User-Agent names the crawler.
type EvidenceRequest struct {
	// As [Endpoint.Method].
	Method string `json:"method"`
	// URL of the request.
	URL     string              `json:"url"`
	Headers map[string][]string `json:"headers"`
	Body    EvidenceBody        `json:"body"`
}

// EvidenceBody is a body as text, or as base64 if it is not UTF-8.
type EvidenceBody struct {
	// Encoding of text.
	Encoding string `json:"encoding" enum:"BodyEncodings"` // "utf-8" or "base64"
	// The bytes of the body.
	Text string `json:"text"`
	// Whether the body was longer.
	Truncated bool `json:"truncated"`
	// Whether invisible characters were replaced by U+FFFD.
	Cleaned bool `json:"cleaned"`
}

// EvidencePhases: duration of each phase of a request, in milliseconds.
//
// A phase that a reused connection did not need is 0.
type EvidencePhases struct {
	// DNS lookup.
	DNS float64 `json:"dns"`
	// TCP connection.
	Connect float64 `json:"connect"`
	// TLS handshake.
	TLS float64 `json:"tls"`
	// Time until the first byte.
	FirstByte float64 `json:"first_byte"`
}

// TermsConflict says that two places ask for different payments for the same request.
type TermsConflict struct {
	// What differs: recipient, amount, asset or network.
	Of string `json:"of" enum:"ConflictKinds"`
	// The conflict in words.
	Text string `json:"text"`
	// What the two places ask for.
	Sides []ConflictSide `json:"sides"`
}

// ConflictSide is what one of two places asks for.
type ConflictSide struct {
	// Part of the response, or reader of the response, that is asked to pay so.
	Place string `json:"place"`
	// As [PricingEntry.Protocol].
	Protocol string `json:"protocol" enum:"PriceProtocols"`
	// As [PricingEntry.Scheme].
	Scheme string `json:"scheme"`
	// As [PricingEntry.Network].
	Network string `json:"network"`
	// As [PricingEntry.AssetAddress].
	AssetAddress string `json:"asset_address"`
	// As [PricingEntry.AssetName].
	AssetName string `json:"asset_name"`
	// As [PricingEntry.Price].
	Price string `json:"price"`
	// As [PricingEntry.PriceUSD].
	PriceUSD *string `json:"price_usd"`
	// As [PricingEntry.PayTo].
	PayTo string `json:"pay_to"`
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
