package vocabulary

import "tollbook/site"

// evidenceFields describes the fields of evidence and of what is measured on chains. Its keys are those of
// serviceFields.
var evidenceFields = map[string]Field{
	// Evidence
	"Evidence.checks":        {About: "Results of the 14 conformance checks, in the order of compliance"},
	"EvidenceCheck.id":       {About: "Id of the check"},
	"EvidenceCheck.reason":   {About: "The first problem found; null if the check passes"},
	"EvidenceCheck.expected": {About: "What the check requires; null if it passes"},
	"mend": {
		About: "How the owner can fix it; null if the check passes, or fails only because there are no terms",
	},
	"warnings": {About: "Warnings; none of them affects the grade"},
	"Evidence.endpoints": {
		About: "The active endpoints (all, if none is active) and those that could not be probed; by path, then " +
			"method",
	},
	"warning_count":        {About: "Total number of warnings; the list contains the first of them"},
	"defect_count":         {About: "Total number of defects; the list contains the first of them"},
	"meaning":              {About: "What it means, in words"},
	"row":                  {About: "Index in accepts; null if it concerns the whole response"},
	"detail":               {About: "What was observed"},
	"EndpointEvidence.url": {About: "URL that was requested"},
	"unprobeable": {
		About: "Whether a request needs input that the service does not declare; this does not mean that the " +
			"endpoint is down",
	},
	"verdict": {
		About: "Verdict from the last conclusive answer: paid, broken, open or failed; null before the first",
	},
	"class":                   {About: "A finer class than the verdict"},
	"EndpointEvidence.reason": {About: "Reason for the verdict, in a sentence"},
	"EvidenceSilence.reason":  {About: "Why the answer is not counted"},
	"answer": {About: "The request that decided the verdict, and the response; null if it was " +
		"not stored"},
	"inconclusive":           {About: "A later answer that says nothing about the endpoint"},
	"EndpointEvidence.terms": {About: "The older answer whose terms are graded; null if that is answer itself"},
	"protocols":              {About: "Other payment protocols that the response suggests"},
	"site_answers": {
		About: "Answers behind the assessment's site, in the order of requests; empty before the first visit",
	},
	"document":     {About: "Document: homepage, openapi, pricing, llms_txt, robots or terms"},
	"content_type": {About: "Media type of the answer; null without one"},
	"exists":       {About: "Whether the document exists at the URL; null if the answer does not say"},
	"registration": {
		About: "The registry's answer behind the assessment's domain; null without a registrable domain",
	},
	"EvidenceRegistration.domain": {About: "Registrable domain of the base address"},
	"private_suffix": {
		About: "Suffix in the private part of the public suffix list, below which no registry is asked; null if none",
	},
	"EvidenceRegistration.url":        {About: "URL at which the registry was asked; null if none was"},
	"registered":                      {About: "Whether the registry knows the domain; null if none was asked"},
	"EvidenceRegistration.checked_at": {About: "Time of the registry's answer"},
	"verified_by": {
		About:  "Who verified the service: its owner, by a token at /.well-known/tollbook, or the directory's operator",
		Values: []string{site.VerifiedByOwner, site.VerifiedByOperator},
	},
	"head_url":    {About: "URL of the HEAD request that decided head_free"},
	"head_status": {About: "HTTP status of its answer"},
	"Evidence.input": {
		About: "JSON document that a language model gets about the service; its SHA-256 is input_hash",
	},
	"head_free":              {About: "Whether HEAD is served without payment; null if unknown"},
	"head_asked_at":          {About: "When the last HEAD request was sent; null before the first"},
	"declared_price":         {About: "Price in the service's OpenAPI document; null if it declares none"},
	"EvidencePrice.mode":     {About: "Kind of price: fixed, dynamic or offer"},
	"EvidencePrice.currency": {About: "Currency; null means US dollars"},
	"EvidencePrice.amount":   {About: "Amount as a decimal string; in base units in an offer"},
	"EvidencePrice.min":      {About: "Lower bound of a dynamic price"},
	"EvidencePrice.max":      {About: "Upper bound of a dynamic price"},
	"defects":                {About: "Deviations from the protocol in the graded response"},
	"captured":               {About: "Where the graded terms were found; null if there are none"},
	"x402_version":           {About: "Version of the protocol"},
	"channel": {About: "Part of the response that contained the terms: header, alias, body, " +
		"nested or html"},
	"decode":                {About: "How the bytes were decoded"},
	"fingerprint":           {About: "Fingerprint of the terms, without the parts that change on every request"},
	"received_at":           {About: "When the response arrived, or when the request was given up"},
	"request":               {About: "The request as sent; null if none was sent or it was not stored"},
	"redirects":             {About: "URLs of the redirects that were followed, in order"},
	"EvidenceAnswer.status": {About: "HTTP status; null if there was no response"},
	"EvidenceRequest.url":   {About: "URL of the request"},
	"headers":               {About: "Headers from a fixed list of names"},
	"headers_clipped":       {About: "Names of the headers that were shortened or left out because of their length"},
	"body":                  {About: "The body, shortened if necessary"},
	"tls_verified":          {About: "Whether each connection presented a certificate that is valid for its host"},
	"EvidenceAnswer.response_time_ms": {
		About: "Time until the response headers arrived, redirects included, in milliseconds",
	},
	"phases_ms":  {About: "Duration of each phase of the request"},
	"encoding":   {About: "Encoding of text", Values: []string{"utf-8", "base64"}},
	"text":       {About: "The bytes of the body"},
	"truncated":  {About: "Whether the body was longer"},
	"cleaned":    {About: "Whether invisible characters were replaced by U+FFFD"},
	"dns":        {About: "DNS lookup"},
	"connect":    {About: "TCP connection"},
	"tls":        {About: "TLS handshake"},
	"first_byte": {About: "Time until the first byte"},

	"date":                     {About: "The UTC day", Format: "date"},
	"FacilitatorChain.network": {About: "Abbreviation of the network, or its CAIP-2 id if it has none"},
	"token_address":            {About: "Address of the token, as its chain writes it"},
	"token_address_norm":       {About: "The same address in normal form"},

	"FacilitatorDetail.name": {About: "Name of the facilitator"},
	"FacilitatorDetail.timeseries": {
		About: "One point for each of the last 90 UTC days, oldest first, today last",
	},
	"FacilitatorDetail.chains": {About: "Volume and settlements by network and token, largest volume first"},
	"settlers": {
		About: "Accounts that send the facilitator's settlements, and marks of its payments, by network, then address",
	},
	"buyers":   {About: "Payers through the facilitator; in v0.1.0 it was the list that by_chain is"},
	"by_chain": {About: "Payers by network and token, in the order of chains"},
	"total_upper_bound_30d": {
		About: "Sum of unique_buyers_30d over main networks: an account that pays on several networks, or in several " +
			"tokens, counts for each; null if no settlement is measured",
	},
	"FacilitatorDetail.service_count": {
		About: "Number of listed services whose payments it settled in 30 days",
	},
	"FacilitatorDetail.services": {About: "The first hundred of them, largest volume first"},
	"FacilitatorSettler.network": {About: "Abbreviation of the network, or its CAIP-2 id if it has none"},
	"FacilitatorSettler.address": {About: "Address of the account, in normal form; for a mark its kind, a colon and " +
		"the value, such as memo:0xef1ed71201 or source_tag:804681468"},
	"tokens": {About: "Tokens that the account is listed to settle, in normal form"},
	"set_aside": {
		About: "Services whose records are damaged, by slug: their files repeat an earlier snapshot, and look-ups " +
			"and the catalogue leave them out",
	},
	"SetAside.since":  {About: "Time of the first build that set the service aside"},
	"SetAside.reason": {About: "The table that was read, and what is wrong"},
	"FacilitatorSettler.since": {
		About: "Settlements before this time are not counted; null if the start is unknown",
	},
	"deprecated": {
		About: "Whether the facilitator has stopped using the account; its settlements are counted all the same",
	},
	"FacilitatorBuyers.network": {About: "Abbreviation of the network, or its CAIP-2 id if it has none"},
	"unique_buyers_7d": {
		About: "Number of different payers in 7 days that settlements name; null if none names one",
	},
	"unique_buyers_all": {
		About: "Number of different payers since measurement began that settlements name; null if none names one",
	},
	"FacilitatorService.name": {About: "Name, as the service gives it"},
	"unique_buyers":           {About: "Number of different payers on that day that settlements name"},

	// Coverage on chain
	"as_of": {About: "When the facts were read"},
	"CoverageReport.networks": {
		About: "Networks on which services accept payment or whose settlements are read; measured networks first, " +
			"then by number of services",
	},
	"NetworkCoverage.network": {About: "Abbreviation of the network, or its CAIP-2 id if it has none"},
	"NetworkCoverage.name":    {About: "Name of the network, or its CAIP-2 id if it has no known name"},
	"NetworkCoverage.is_mainnet": {
		About: "Whether it is a main network; volume on a test network is not counted; null if unknown",
	},
	"NetworkCoverage.service_count": {About: "Number of listed services that currently accept payment on it"},
	"measured": {About: "Whether every settlement by a known settler since measured_since is " +
		"counted"},
	"measured_since":         {About: "Start of the measured period; null while no period is complete"},
	"cursor":                 {About: "How far the network has been read; null if it is not read"},
	"NetworkCoverage.tokens": {About: "Authorisations in the last 30 UTC days, by token address"},
	"NetworkCoverage.timeseries": {
		About: "Settlements of all measured facilitators, by UTC day of the last 90, today last; days without a " +
			"settlement are left out, and every day is left out if the network is not measured",
	},
	"NetworkCoverage.timeseries_by_token": {
		About: "The same days by token, by token address; the sums of a day are those of timeseries",
	},
	"TokenSeries.timeseries": {
		About: "Settlements in the token by UTC day of the last 90; days without a settlement are left out",
	},
	"TokenPoint.volume_usd": {
		About: "Volume settled on that day, in US dollars; null if the token has no known value",
	},
	"head_block":     {About: "Newest confirmed block of the chain when it was last polled"},
	"head_polled_at": {About: "When the chain was last polled"},
	"filling": {About: "Number of past blocks that still have to be read; on networks that are read by account, " +
		"of accounts"},
	"ChainCursor.block": {About: "Newest block that was read; null on Solana, Stellar and the XRP Ledger, " +
		"which are read by account"},
	"ChainCursor.time":   {About: "Time of that block"},
	"age_seconds":        {About: "Age of that block at as_of, in seconds"},
	"authorizations_30d": {About: "Payments by authorisation in 30 days, from any sender and for any purpose"},
	"attributed_30d":     {About: "Those that are settlements of a known settler"},
	"unattributed_30d":   {About: "All others: sent by any other account, or deposits for batch settlement"},
	"unattributed_share": {
		About: "Share of the authorisations that are no settlement of a known settler; null if there are none",
		Max:   1,
	},
	"candidate_settlers": {
		About: "Unlisted accounts that send payments to recipients of listed services, or that facilitators " +
			"announce as their own; most payments first",
	},
	"CandidateSettler.network": {About: "Abbreviation of the network, or its CAIP-2 id if it has none"},
	"CandidateSettler.address": {About: "Address of the account"},
	"CandidateSettler.volume_usd": {
		About: "Volume of these payments in US dollars; null if the token has no known dollar value",
	},
	"payment_count":   {About: "Number of payments sent; null if none was seen"},
	"recipient_count": {About: "Number of different recipients; null without a payment"},
	"first_day":       {About: "UTC day of the first payment; null without one", Format: "date"},
	"last_day":        {About: "UTC day of the newest payment; null without one", Format: "date"},
	"volume_30d":      {About: "Settlements of all measured facilitators in 30 UTC days"},
	"raw":             {About: "All settlements"},
	"self_payment":    {About: "Settlements in which payer and recipient are the same account"},
	"single_payer": {About: "Settlements that name their payer, to recipients that get nearly all of the volume of " +
		"such settlements from one payer"},
	"without":                      {About: "All settlements except those in self_payment and single_payer"},
	"VolumeSum.volume_usd":         {About: "Volume in US dollars"},
	"VolumeSum.tx_count":           {About: "Number of settlements"},
	"VolumeQuality.rule":           {About: "The rule that assigns settlements to these groups, in words"},
	"operators":                    {About: "Services grouped by their probable operator"},
	"OperatorReport.service_count": {About: "Number of listed services"},
	"operator_count":               {About: "Number of operators, if each group counts once"},
	"groups":                       {About: "Groups of services that share recipients, largest group first"},
	"OperatorReport.rule":          {About: "The rule that forms groups, in words"},
	"link_count":                   {About: "Number of links"},
	"OperatorReport.links": {
		About: "Evidence that services have one operator: links of most services first, at most 1,000"},
	"operator_links":  {About: "Evidence that the service and others have one operator, at most 100 links"},
	"OperatorLink.by": {About: "Kind of evidence", Values: []string{"recipient", "domain", "owner"}},
	"OperatorLink.value": {
		About: "What they share: an address, a registrable domain, or a host that its owner proved to control"},
	"OperatorLink.networks": {
		About: "Network of a recipient in CAIP-2, or eip155:* for all EVM networks; null for other evidence"},
	"OperatorLink.service_count":    {About: "Number of services that share it"},
	"OperatorLink.services":         {About: "These services by slug, at most the first 100"},
	"OperatorGroup.service_count":   {About: "Number of services in the group"},
	"OperatorGroup.services":        {About: "The services of the group, by slug"},
	"recipients":                    {About: "Recipients that several services of the group use"},
	"SharedRecipient.service_count": {About: "Number of services of the group that use it"},
	"SharedRecipient.pay_to":        {About: "Address of the recipient, in normal form"},
	"timeframe":                     {About: "Window whose volume orders the list", Values: site.Timeframes},
}
