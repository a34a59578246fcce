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

// FacilitatorSupported is what a facilitator answers when it is asked what it settles.
type FacilitatorSupported struct {
	State      string `json:"state"`
	StatusCode *int   `json:"status_code"` // of the newest poll; null without a response
	AskedAt    Time   `json:"asked_at"`
	AnsweredAt *Time  `json:"answered_at"` // of the newest answer with the documented shape

	Uptime30d          *float64       `json:"uptime_30d"`
	HealthUptime30d    *float64       `json:"health_uptime_30d"` // null if it has no /health
	PollCount30d       int            `json:"poll_count_30d"`
	MedianLatencyMS30d *int           `json:"median_latency_ms_30d"`
	P95LatencyMS30d    *int           `json:"p95_latency_ms_30d"`
	Days               []SupportedDay `json:"days"` // oldest first; days without a poll are left out

	Extensions []string          `json:"extensions"`
	Kinds      []SupportedKind   `json:"kinds"`   // of the newest answer, by network, scheme, token and version
	Signers    []SupportedSigner `json:"signers"` // of all answers of 90 days, by networks, address and origin
}

// SupportedDay is a UTC day of polls.
type SupportedDay struct {
	Date            string   `json:"date"`
	PollCount       int      `json:"poll_count"`
	Uptime          *float64 `json:"uptime"`
	MedianLatencyMS *int     `json:"median_latency_ms"`
}

// SupportedKind is a kind of payment that a facilitator says it settles.
type SupportedKind struct {
	X402Version  int     `json:"x402_version"`
	Scheme       string  `json:"scheme"`
	Network      string  `json:"network"`
	NetworkCAIP2 string  `json:"network_caip2"` // the name as announced if it is in no table
	TokenAddress *string `json:"token_address"` // null if the facilitator names none
	AssetName    *string `json:"asset_name"`
	Since        Time    `json:"since"`
}

// SupportedSigner is an account that a facilitator says is its own.
type SupportedSigner struct {
	Networks   string   `json:"networks"` // CAIP-2 id, or a namespace with an asterisk: eip155:*
	Address    string   `json:"address"`
	Origin     string   `json:"origin"` // member of the answer: signers, feePayer, facilitatorAddress
	Since      Time     `json:"since"`
	LastSeenAt Time     `json:"last_seen_at"`
	Current    bool     `json:"current"` // in the newest answer
	Listing    string   `json:"listing"` // settler, claimed, unlisted
	ClaimedBy  []string `json:"claimed_by"`
}

// FacilitatorMatrix is the data of /v1/facilitators/matrix: which facilitator settles what where.
type FacilitatorMatrix struct {
	AsOf         Time                `json:"as_of"`
	Facilitators []MatrixFacilitator `json:"facilitators"` // those that are asked, by id
	Kinds        []MatrixKind        `json:"kinds"`        // by network, scheme and token
	Settled      []MatrixToken       `json:"settled"`      // by network and token
}

// MatrixFacilitator is a facilitator that is asked what it settles.
type MatrixFacilitator struct {
	FacilitatorID      string   `json:"facilitator_id"`
	Name               string   `json:"name"`
	State              string   `json:"state"`
	AnsweredAt         *Time    `json:"answered_at"`
	Uptime30d          *float64 `json:"uptime_30d"`
	MedianLatencyMS30d *int     `json:"median_latency_ms_30d"`
	KindCount          int      `json:"kind_count"`
	SignerCount        int      `json:"signer_count"` // accounts in its newest answer
}

// MatrixKind is a scheme on a network, in a token, and the facilitators that announce it.
type MatrixKind struct {
	Network      string   `json:"network"`
	NetworkCAIP2 string   `json:"network_caip2"`
	NetworkName  string   `json:"network_name"`
	IsMainnet    *bool    `json:"is_mainnet"`
	Scheme       string   `json:"scheme"`
	TokenAddress *string  `json:"token_address"` // null for facilitators that name no token
	AssetName    *string  `json:"asset_name"`
	X402Versions []int    `json:"x402_versions"`
	Facilitators []string `json:"facilitators"` // ids, sorted
}

// MatrixToken is a token on a network, and the facilitators that settled payments in it, as measured on chain.
type MatrixToken struct {
	Network      string   `json:"network"`
	NetworkCAIP2 string   `json:"network_caip2"`
	NetworkName  string   `json:"network_name"`
	TokenAddress string   `json:"token_address"`
	AssetName    string   `json:"asset_name"`
	TxCount30d   int64    `json:"tx_count_30d"`
	Facilitators []string `json:"facilitators"` // ids, sorted
}

// Rungs of the evidence for a candidate settler, the strongest first.
const (
	EvidenceAnnouncedAndPayments = "announced_and_payments"
	EvidenceAnnounced            = "announced" // by the facilitator itself, over TLS
	EvidencePayments             = "payments"  // to recipients of listed services
)

// CandidateEvidence lists them.
var CandidateEvidence = []string{EvidenceAnnouncedAndPayments, EvidenceAnnounced, EvidencePayments}

// CandidateAnnouncement says that a facilitator announces an account as its own, over TLS.
type CandidateAnnouncement struct {
	FacilitatorID string `json:"facilitator_id"`
	URL           string `json:"url"`
	Since         Time   `json:"since"`
	LastSeenAt    Time   `json:"last_seen_at"`
}
