package site

// States of a facilitator that is asked what it settles: the outcome of the newest poll.
const (
	SupportedAnswered    = "answered"    // with the documented shape
	SupportedUnreadable  = "unreadable"  // 200, but not the documented shape, or larger than the limits
	SupportedStatus      = "status"      // another status
	SupportedRedirected  = "redirected"  // to a URL that is not followed
	SupportedUnreachable = "unreachable" // no response in time
	SupportedRefused     = "refused"     // a URL that is never asked, such as one of a private network
)

// SupportedStates lists them.
var SupportedStates = []string{SupportedAnswered, SupportedUnreadable, SupportedStatus, SupportedRedirected,
	SupportedUnreachable, SupportedRefused}

// Listings of a signer: what the lists of facilitators say of an account that a facilitator announces as its own.
const (
	SignerSettler  = "settler"  // it is listed as a settler of this facilitator
	SignerClaimed  = "claimed"  // it is listed as a settler of another facilitator
	SignerUnlisted = "unlisted" // it is in no list
)

// SignerListings lists them.
var SignerListings = []string{SignerSettler, SignerClaimed, SignerUnlisted}

// FacilitatorSupported says what a facilitator answers when it is asked what it settles.
type FacilitatorSupported struct {
	// Outcome of the newest question.
	State string `json:"state" enum:"SupportedStates"`
	// Status code of the newest response to GET /supported; null without one.
	StatusCode *int `json:"status_code"`
	// When it was asked last.
	AskedAt Time `json:"asked_at"`
	// When it last answered with the documented shape; null if it never did.
	AnsweredAt *Time `json:"answered_at"`

	// Percentage of the time in 30 UTC days in which it answered with the documented shape; null without a question.
	Uptime30d *float64 `json:"uptime_30d" max:"100"`
	// The same of GET /health, which must answer 2xx; null if it has no such document.
	HealthUptime30d *float64 `json:"health_uptime_30d" max:"100"`
	// Number of questions in 30 UTC days.
	PollCount30d int `json:"poll_count_30d"`
	// Median time of an answer in 30 UTC days, in milliseconds; null without one.
	MedianLatencyMS30d *int `json:"median_latency_ms_30d"`
	// Time in which 95% of the answers of 30 UTC days arrived, in milliseconds; null without one.
	P95LatencyMS30d *int `json:"p95_latency_ms_30d"`
	// The last 30 UTC days, oldest first; days without one are left out.
	Days []SupportedDay `json:"days"`

	// Extensions of x402 in its newest answer.
	Extensions []string `json:"extensions"`
	// Kinds of payment in its newest answer, by network, scheme, token and version; none if that is older than 7 days.
	Kinds []SupportedKind `json:"kinds"`
	// Accounts that it announced as its own in the last 90 days.
	Signers []SupportedSigner `json:"signers"` // of all answers of 90 days, by networks, address and origin
}

// SupportedDay: questions to a facilitator on a UTC day.
type SupportedDay struct {
	// As [TokenPoint.Date].
	Date string `json:"date"`
	// Number of questions on that day.
	PollCount int `json:"poll_count"`
	// Percentage of the day's questions that were answered, weighted by the time until the next one.
	Uptime *float64 `json:"uptime" max:"100"`
	// Median time of an answer, in milliseconds; null without one.
	MedianLatencyMS *int `json:"median_latency_ms"`
}

// SupportedKind is a kind of payment that a facilitator says it settles.
type SupportedKind struct {
	// Version of x402.
	X402Version int    `json:"x402_version"`
	Scheme      string `json:"scheme"`
	// As [NetworkCoverage.Network].
	Network string `json:"network"`
	// CAIP-2 id of the network, or its name as announced if it is in no table.
	NetworkCAIP2 string `json:"network_caip2"`
	// Address of the token, as its chain writes it; null if the facilitator names none.
	TokenAddress *string `json:"token_address"`
	// Name of the token; null if the facilitator names none.
	AssetName *string `json:"asset_name"`
	// When it was first announced.
	Since Time `json:"since"`
}

// SupportedSigner is an account that a facilitator says is its own.
type SupportedSigner struct {
	// Networks of the account: a CAIP-2 id, or a namespace with an asterisk, such as eip155:*.
	Networks string `json:"networks"`
	// As [CandidateSettler.Address].
	Address string `json:"address"`
	// Member of the answer that names the account.
	Origin string `json:"origin" enum:"SignerOrigins"`
	// As [SupportedKind.Since].
	Since Time `json:"since"`
	// When it was last announced.
	LastSeenAt Time `json:"last_seen_at"`
	// Whether it is in the newest answer, and that is not older than 7 days.
	Current bool `json:"current"`
	// Whether lists of facilitators name the account for this facilitator, for another one, or not at all.
	Listing string `json:"listing" enum:"SignerListings"` // settler, claimed, unlisted
	// Ids of the other facilitators that it is listed for.
	ClaimedBy []string `json:"claimed_by"`
}

// FacilitatorMatrix: which facilitator settles what where.
//
// It is the data of /v1/facilitators/matrix.
type FacilitatorMatrix struct {
	// As [DirectoryTraction.AsOf].
	AsOf Time `json:"as_of"`
	// Facilitators polled, by id.
	Facilitators []MatrixFacilitator `json:"facilitators"`
	// Schemes by network and token that they announce, by network, scheme and token.
	Kinds []MatrixKind `json:"kinds"`
	// Tokens in which facilitators settled payments in 30 UTC days, as measured on chain, by network and token.
	Settled []MatrixToken `json:"settled"`
}

// MatrixFacilitator is a facilitator that is asked what it settles.
type MatrixFacilitator struct {
	FacilitatorID string `json:"facilitator_id"`
	// As [NetworkFacilitator.Name].
	Name       string `json:"name"`
	State      string `json:"state"`
	AnsweredAt *Time  `json:"answered_at"`
	// As [FacilitatorSupported.Uptime30d].
	Uptime30d          *float64 `json:"uptime_30d"`
	MedianLatencyMS30d *int     `json:"median_latency_ms_30d"`
	// Number of kinds of payment in its newest answer.
	KindCount int `json:"kind_count"`
	// Number of accounts in its newest answer.
	SignerCount int `json:"signer_count"`
}

// MatrixKind is a scheme on a network in a token, and the facilitators that announce it.
type MatrixKind struct {
	// As [NetworkCoverage.Network].
	Network string `json:"network"`
	// As [SupportedKind.NetworkCAIP2].
	NetworkCAIP2 string `json:"network_caip2"`
	// Name of the network, or its CAIP-2 id if it has no known name.
	NetworkName string `json:"network_name"`
	// Whether it is a main network; null for a network in no table.
	IsMainnet *bool  `json:"is_mainnet"`
	Scheme    string `json:"scheme"`
	// Address of the token, as its chain writes it; null if the facilitators name none.
	TokenAddress *string `json:"token_address"`
	// Name of the token; null if the facilitators name none.
	AssetName *string `json:"asset_name"`
	// Versions of x402, ascending.
	X402Versions []int `json:"x402_versions"`
	// Ids of the facilitators that announce it, sorted.
	Facilitators []string `json:"facilitators"`
}

// MatrixToken is a token on a network, and the facilitators that settled payments in it.
type MatrixToken struct {
	// As [NetworkCoverage.Network].
	Network string `json:"network"`
	// As [PricingEntry.NetworkCAIP2].
	NetworkCAIP2 string `json:"network_caip2"`
	NetworkName  string `json:"network_name"`
	// As [KnownAsset.TokenAddress].
	TokenAddress string `json:"token_address"`
	// As [PricingEntry.AssetName].
	AssetName string `json:"asset_name"`
	// Number of settlements in it in 30 UTC days.
	TxCount30d int64 `json:"tx_count_30d"`
	// Ids of the facilitators that settled in it, sorted.
	Facilitators []string `json:"facilitators"`
}

// Rungs of the evidence for a candidate settler, the strongest first.
const (
	EvidenceAnnouncedAndPayments = "announced_and_payments"
	EvidenceAnnounced            = "announced" // by the facilitator itself, over TLS
	EvidencePayments             = "payments"  // to recipients of listed services
)

// CandidateEvidence lists them.
var CandidateEvidence = []string{EvidenceAnnouncedAndPayments, EvidenceAnnounced, EvidencePayments}

// CandidateAnnouncement is a facilitator that announces an account as its own.
//
// The facilitator announces the account over TLS.
type CandidateAnnouncement struct {
	FacilitatorID string `json:"facilitator_id"`
	// Base URL of the API that answered.
	URL string `json:"url" format:"uri"`
	// As [SupportedKind.Since].
	Since Time `json:"since"`
	// As [SupportedSigner.LastSeenAt].
	LastSeenAt Time `json:"last_seen_at"`
}
