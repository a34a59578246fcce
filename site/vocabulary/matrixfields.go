package vocabulary

import "tollbook/site"

// matrixFields describes the fields of what facilitators announce. Its keys are those of serviceFields.
var matrixFields = map[string]Field{
	"FacilitatorDetail.facilitator_url": {About: "Base URL of its API; null if none is known", Format: "uri"},
	"supported":                         {About: "Answer to the question what it settles; null if it was never asked"},
	"FacilitatorSupported.state":        {About: "Outcome of the newest question", Values: site.SupportedStates},
	"FacilitatorSupported.status_code": {
		About: "Status code of the newest response to GET /supported; null without one",
	},
	"asked_at":    {About: "When it was asked last"},
	"answered_at": {About: "When it last answered with the documented shape; null if it never did"},
	"FacilitatorSupported.uptime_30d": {
		About: "Percentage of the time in 30 UTC days in which it answered with the documented shape; null " +
			"without a question", Max: 100,
	},
	"health_uptime_30d": {
		About: "The same of GET /health, which must answer 2xx; null if it has no such document", Max: 100,
	},
	"poll_count_30d":        {About: "Number of questions in 30 UTC days"},
	"median_latency_ms_30d": {About: "Median time of an answer in 30 UTC days, in milliseconds; null without one"},
	"p95_latency_ms_30d": {
		About: "Time in which 95% of the answers of 30 UTC days arrived, in milliseconds; null without one",
	},
	"FacilitatorSupported.days":       {About: "The last 30 UTC days, oldest first; days without one are left out"},
	"FacilitatorSupported.extensions": {About: "Extensions of x402 in its newest answer"},
	"FacilitatorSupported.kinds": {
		About: "Kinds of payment in its newest answer, by network, scheme, token and version; none if that " +
			"is older than 7 days",
	},
	"signers":                 {About: "Accounts that it announced as its own in the last 90 days"},
	"SupportedDay.poll_count": {About: "Number of questions on that day"},
	"SupportedDay.uptime": {
		About: "Percentage of the day's questions that were answered, weighted by the time until the next " +
			"one", Max: 100,
	},
	"median_latency_ms":           {About: "Median time of an answer, in milliseconds; null without one"},
	"SupportedKind.x402_version":  {About: "Version of x402"},
	"SupportedKind.network":       {About: "Abbreviation of the network, or its CAIP-2 id if it has none"},
	"SupportedKind.network_caip2": {About: "CAIP-2 id of the network, or its name as announced if it is in no table"},
	"SupportedKind.token_address": {
		About: "Address of the token, as its chain writes it; null if the facilitator names none",
	},
	"SupportedKind.asset_name": {About: "Name of the token; null if the facilitator names none"},
	"SupportedKind.since":      {About: "When it was first announced"},
	"SupportedSigner.networks": {
		About: "Networks of the account: a CAIP-2 id, or a namespace with an asterisk, such as eip155:*",
	},
	"SupportedSigner.address": {About: "Address of the account"},
	"origin": {
		About:  "Member of the answer that names the account",
		Values: []string{"signers", "feePayer", "facilitatorAddress"},
	},
	"SupportedSigner.since":        {About: "When it was first announced"},
	"SupportedSigner.last_seen_at": {About: "When it was last announced"},
	"current":                      {About: "Whether it is in the newest answer, and that is not older than 7 days"},
	"listing": {
		About: "Whether lists of facilitators name the account for this facilitator, for another one, or " +
			"not at all", Values: site.SignerListings,
	},
	"claimed_by":                     {About: "Ids of the other facilitators that it is listed for"},
	"FacilitatorMatrix.facilitators": {About: "Facilitators that are asked what they settle, by id"},
	"FacilitatorMatrix.kinds": {
		About: "Schemes by network and token that they announce, by network, scheme and token",
	},
	"settled": {
		About: "Tokens in which facilitators settled payments in 30 UTC days, as measured on chain, by " +
			"network and token",
	},
	"MatrixFacilitator.name":  {About: "Name of the facilitator"},
	"MatrixFacilitator.state": {About: "Outcome of the newest question", Values: site.SupportedStates},
	"MatrixFacilitator.uptime_30d": {
		About: "Percentage of the time in 30 UTC days in which it answered with the documented shape; null " +
			"without a question", Max: 100,
	},
	"kind_count":               {About: "Number of kinds of payment in its newest answer"},
	"signer_count":             {About: "Number of accounts in its newest answer"},
	"MatrixKind.network":       {About: "Abbreviation of the network, or its CAIP-2 id if it has none"},
	"MatrixKind.facilitators":  {About: "Ids of the facilitators that announce it, sorted"},
	"MatrixToken.network":      {About: "Abbreviation of the network, or its CAIP-2 id if it has none"},
	"MatrixToken.facilitators": {About: "Ids of the facilitators that settled in it, sorted"},
	"MatrixKind.network_caip2": {About: "CAIP-2 id of the network, or its name as announced if it is in no table"},
	"network_name":             {About: "Name of the network, or its CAIP-2 id if it has no known name"},
	"MatrixKind.is_mainnet":    {About: "Whether it is a main network; null for a network in no table"},
	"MatrixKind.token_address": {
		About: "Address of the token, as its chain writes it; null if the facilitators name none",
	},
	"MatrixKind.asset_name":          {About: "Name of the token; null if the facilitators name none"},
	"x402_versions":                  {About: "Versions of x402, ascending"},
	"MatrixToken.tx_count_30d":       {About: "Number of settlements in it in 30 UTC days"},
	"CandidateSettler.token_address": {About: "Address of the token, as its chain writes it; null without a payment"},
	"CandidateSettler.asset_name":    {About: "Name of the token; null without a payment"},
	"CandidateSettler.evidence": {
		About: "What speaks for the account: a facilitator announces it as its own over TLS, it pays " +
			"recipients of listed services, or both", Values: site.CandidateEvidence,
	},
	"announced_by":                         {About: "Facilitators that announce the account over TLS, by id"},
	"CandidateAnnouncement.facilitator_id": {About: "Id of the facilitator"},
	"CandidateAnnouncement.url":            {About: "Base URL of the API that answered", Format: "uri"},
	"CandidateAnnouncement.since":          {About: "When it was first announced"},
	"CandidateAnnouncement.last_seen_at":   {About: "When it was last announced"},
}
