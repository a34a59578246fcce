package site

import "embed"

// GoFiles contains the Go files of this package, because the comments in them are published: the first paragraph of the
// comment above a type or a field of the contract is its description in schemas and on the reference page. Package
// schema reads them.
//
//go:embed *.go
var GoFiles embed.FS

// Enums contains the lists that tags of fields name: a field with enum:"Grades" has one of Grades.
var Enums = map[string][]string{
	"AdviceLevels":      AdviceLevels,
	"BodyEncodings":     {"utf-8", "base64"},
	"BuyerNeeds":        {"deposit", "account", "approval", "subscription"},
	"CandidateEvidence": CandidateEvidence,
	"CatalogueTypes":    CatalogueTypes,
	"Causes":            Causes,
	"ChangeTypes":       ChangeTypes,
	"ErrorTypes":        ErrorTypes,
	"ExclusionCodes":    ExclusionCodes,
	"FlowColumns":       FlowColumns,
	"FlowKinds":         FlowKinds,
	"Grades":            Grades,
	"IncidentKinds":     {StatusDegraded, StatusOffline},
	"OperatorEvidence":  {"recipient", "domain", "owner"},
	"Precisions":        {PrecisionCheck, PrecisionDay},
	"Preferences":       Preferences,
	"PriceModels":       {"flat", "tiered", "per-token", "free", "unknown"},
	"ConflictKinds":     {"recipient", "amount", "asset", "network"},
	"PriceProtocols":    priceProtocols,
	"RailGrades":        Grades[:len(Grades)-1],
	"ReceptionReasons":  ReceptionReasons,
	"RailProtocols":     priceProtocols[1:],
	"Readings":          Readings,
	"RiskLevels":        {RiskClean, RiskWarning, RiskDanger},
	"SettlerKinds":      SettlerKinds,
	"SettlerSources":    {SettlerListed, SettlerAccepted},
	"SignerListings":    SignerListings,
	"SignerOrigins":     {"signers", "feePayer", "facilitatorAddress"},
	"Statuses":          Statuses,
	"SubmissionPending": {SubmissionPending},
	"SubmissionStates":  {SubmissionPending, SubmissionApproved, SubmissionRejected},

	"SkipReasons":          SkipReasons,
	"SuggestionCategories": SuggestionCategories,
	"SupportedStates":      SupportedStates,
	"Timeframes":           Timeframes,
	"TractionStatuses":     {"measured", "no-payto", "unmeasured-network", "unresponsive"},
	// The classes of inconclusive responses in package probe, and the reasons without a response.
	"UncountedReasons": {"needs_input", "sign_in", "grpc", "wrong_method", "auth", "challenge", "rate_limited", "unavailable",
		"interrupted", "robots", "refused", NoEndpoints, OtherPlaces, ErasedService, VoidCheck},
	"Verifications": {VerificationOnChain, VerificationListed},
	"Verifiers":     {VerifiedByOwner, VerifiedByOperator},
}

// priceProtocols are the payment protocols of a price; x402 is the first.
var priceProtocols = []string{"x402", "mpp", "l402", "crawler-price"}
