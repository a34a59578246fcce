package vocabulary

import (
	"tollbook/site"
	"tollbook/site/routes"
)

// logFields describes the fields of series, look-ups, evidence and files. Its keys are those of
// serviceFields.
var logFields = map[string]Field{
	// Series
	"PricePoint.min_price_usd": {
		About: "Lowest counted price at any time of the day, in US dollars; null without one",
	},
	"PricePoint.max_price_usd": {About: "Highest counted price at any time of the day, in US dollars"},
	"endpoint_id": {
		About: "Endpoint that asked for the day's lowest price; null without one, as the next four",
	},
	"PricePoint.network":       {About: "Network of the lowest price, as CAIP-2 id"},
	"PricePoint.asset_address": {About: "Address of the token of the lowest price"},
	"PricePoint.price_usd":     {About: "The lowest price in US dollars, like min_price_usd"},
	"PricePoint.recorded_at": {
		About: "When a visit found the lowest price; the beginning of the day if the price was found before",
	},
	"observations": {
		About: "Every counted price that a visit found from this day until the day of the next point, oldest first; " +
			"a visit that finds any change of an endpoint finds all its prices anew",
	},
	"PriceObservation.endpoint_id":   {About: "Endpoint that asked for the price"},
	"PriceObservation.network":       {About: "Network of the price, as CAIP-2 id"},
	"PriceObservation.asset_address": {About: "Address of the token"},
	"PriceObservation.price_usd": {
		About: "The price in US dollars; the lowest if the endpoint named several at once"},
	"PriceObservation.recorded_at": {About: "When a visit found the price"},
	"changes":                      {About: "How many times an active endpoint changed its amounts"},
	"price_stability": {
		About: "Share of the 30 days up to this day on which no price changed; null before the first price",
		Max:   1,
	},
	"ScorePoint.avg_response_time_ms": {
		About: "Mean time until the response headers arrived on that day, in milliseconds",
	},
	"ScorePoint.uptime_24h": {
		About: "Percentage of the UTC day's counted checks that were up, like uptime_percentage", Max: 100,
	},
	"uptime_30d": {
		About: "Percentage of counted checks that were up, over the 30 UTC days that end with the day", Max: 100,
	},
	"ScorePoint.recorded_at": {
		About: "End of the time that the point covers: the end of its UTC day; for today, the last visit",
	},
	"ScorePoint.compliance_grade": {
		About: "Grade that was published last on that day. This and the fields up to methodology are null for a day " +
			"on which nothing was recorded, such as one before the directory recorded them",
		Values: site.Grades,
	},
	"ScorePoint.compliance_passed":        {About: "Number of compliance checks that passed"},
	"ScorePoint.compliance_total":         {About: "Number of compliance checks"},
	"ScorePoint.compliance_failed_checks": {About: "Identifiers of the compliance checks that failed"},
	"ScorePoint.risk_level":               {About: "Risk level that was published last on that day"},
	"ScorePoint.risk_flags":               {About: "Codes of the risk flags, the most serious first"},
	"ScorePoint.min_price_usd": {
		About: "Lowest counted price in US dollars that was published last on that day; null without one",
	},
	"ScorePoint.response_p95_ms": {
		About: "95th percentile of the response times of the 7 days up to then, in milliseconds",
	},
	"ScorePoint.methodology": {About: "Version of the rules of grades and risk flags that judged on that day"},

	// Catalogue and look-ups
	"items":                     {About: "The rows"},
	"pagination":                {About: "Position of this page in the catalogue"},
	"limit":                     {About: "Number of rows requested"},
	"offset":                    {About: "Number of rows skipped"},
	"resources":                 {About: "The endpoints, the best first"},
	"partialResults":            {About: "Always false: the cursor leads to every result"},
	"CursorPagination.cursor":   {About: "Value of the parameter cursor for the next page; null on the last"},
	"CatalogueItem.resource":    {About: "URL to call; of type mcp that of the MCP server"},
	"CatalogueItem.type":        {About: "Kind of resource", Values: site.CatalogueTypes},
	"CatalogueItem.description": {About: "Description, as the service gives it"},
	"accepts":                   {About: "Each payment option"},
	"lastUpdated":               {About: "When the endpoint was last seen to request payment"},
	"serviceName":               {About: "Name of the service in printable ASCII, up to 32 characters"},
	"tags":                      {About: "Category in printable ASCII, up to 32 characters"},
	"extensions":                {About: "HTTP method or MCP tool to call the resource with"},
	"amount":                    {About: "Amount in atomic units"},
	"CatalogueAccept.asset":     {About: "Address of the token"},
	"CatalogueAccept.extra":     {About: "Extra data, as the service sent it"},
	"CatalogueAccept.payTo":     {About: "Address of the recipient"},
	"bazaar":                    {About: "The bazaar extension of x402"},
	"info":                      {About: "How to call the resource"},
	"input":                     {About: "The request"},
	"CatalogueInput.type":       {About: "Kind of request", Values: site.CatalogueTypes},
	"CatalogueInput.method":     {About: "HTTP method, such as GET; only of type http"},
	"CatalogueInput.toolName":   {About: "Name of the tool to call; only of type mcp"},
	"inputSchema": {About: "JSON schema of the tool's arguments, as the server lists it, with keys sorted; only of " +
		"type mcp, and absent if the server gives none of at most 4 KiB"},
	"url":                   {About: "URL in normal form"},
	"AddressLookup.service": {About: "The service that has the endpoint"},
	"AddressLookup.assessment": {
		About: "The compact assessment of the service; only with include=assessment",
	},
	"RecipientService.assessment":     {About: "The compact assessment; only with include=assessment"},
	"signable":                        {About: "Whether a standard client could sign a payment"},
	"reason":                          {About: "Why a standard client could not sign a payment; null if it could"},
	"prices":                          {About: "Every current payment option"},
	"also_listed":                     {About: "Slugs of other services that have an endpoint at this URL"},
	"clipped":                         {About: "Whether something was left out or shortened to limit the size"},
	"RecipientLookup.services":        {About: "Services that are paid at this address, by slug"},
	"RecipientService.endpoint_count": {About: "Number of endpoints that are paid at this address"},
	"LookupService.risk":              {About: "Risk level", Values: riskTexts},
	"RecipientService.risk":           {About: "Risk level", Values: riskTexts},
	"last_change":                     {About: "Newest change record; null if there is none"},
	"since":                           {About: "Since when this option has been offered unchanged"},
	"pay-to": {About: "Number of rows in each shard of recipients, by its two " +
		"hexadecimal digits"},
	"LookupIndex.url": {About: "Number of rows in each shard of URLs, by its two hexadecimal digits"},

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

	// Files
	"lists":        {About: "Number of rows in each list, by the list's path and filters"},
	"slugs":        {About: "Slugs of all services, sorted"},
	"facilitators": {About: "Ids of all facilitators, sorted"},
	"first":        {About: "Number of the oldest stored row"},
	"next":         {About: "Number that the next row will have"},
	"packs": {
		About: "Packs that contain full blocks, oldest first; the snapshot contains the blocks that no pack " +
			"contains",
	},
	"pack":            {About: "Hour of the pack in UTC, such as 2026112023"},
	"days":            {About: "First row of each UTC day, oldest first; only in logs that can be cut by day"},
	"day":             {About: "The UTC day", Format: "date"},
	"LogDay.first":    {About: "Number of its first row"},
	"types":           {About: "The logs of each type; only in logs that have types"},
	"hash":            {About: "SHA-256 of the normal form, in hexadecimal"},
	"LogPack.first":   {About: "First block in the pack"},
	"last":            {About: "Last block in the pack"},
	"BlockMeta.first": {About: "Number of the first row"},
	"api_version":     {About: "Version of this description"},
	"aliases":         {About: "Path prefixes that are served as other prefixes"},
	"from":            {About: "The prefix in the request"},
	"to":              {About: "The prefix that is served"},
	"index":           {About: "Path of the index of lists and slugs"},
	"limits":          {About: "Limits that apply to requests"},
	"max_query":       {About: "Maximum length of a query string in bytes"},
	"max_digits":      {About: "Maximum number of digits of a decimal parameter before and after the point"},
	"max_text":        {About: "Maximum length of a text parameter in characters"},
	"page_size":       {About: "Default number of rows on a page"},
	"max_page_size":   {About: "Rows in each file that pages are cut from"},
	"block_size":      {About: "Rows in a full block of a log"},
	"segments":        {About: "Variable parts of paths"},
	"rules":           {About: "How responses are cut from files, in words"},
	"routes":          {About: "The routes; the first one whose pattern matches a path applies"},
	"Segment.name":    {About: "Name, as in a pattern"},
	"Segment.pattern": {About: "Regular expression that matches the whole segment"},
	"max_length":      {About: "Maximum length in characters"},
	"about":           {About: "Description"},
	"RuleText.name":   {About: "Name of the rule, as in a route"},
	"Route.name":      {About: "Name of the route"},
	"pattern":         {About: "Pattern of the path; a name in braces, such as {slug}, matches one segment"},
	"rule":            {About: "Rule that produces the response if no file has the request's key"},
	"ext":             {About: "Extension of the key"},
	"params":          {About: "Query parameters, in the order that they have in a key"},
	"Param.name":      {About: "Name of the parameter"},
	"kind": {
		About: "Type of its value",
		Values: []string{string(routes.KindChoice), string(routes.KindText), string(routes.KindInteger),
			string(routes.KindSet), string(routes.KindBoolean), string(routes.KindDecimal), string(routes.KindAddress),
			string(routes.KindCursor), string(routes.KindSnapshot)},
	},
	"filter": {
		About: "Whether the parameter is part of a key only when a request contains it; any other is always part",
	},
	"trim":        {About: "Whether the response is cut from a larger one; the key then contains the largest value"},
	"values":      {About: "All permitted values"},
	"default":     {About: "Value if the parameter is absent"},
	"min":         {About: "Smallest permitted value; 0 if absent"},
	"max":         {About: "Largest permitted value"},
	"echo":        {About: "Whether meta repeats the effective value"},
	"needs":       {About: "Value of another parameter without which this one has no effect"},
	"entry":       {About: "Same for filters that one entry of a row must pass"},
	"Param.rule":  {About: "Rule that replaces the route's rule if a request contains the parameter"},
	"rule_values": {About: "Values of the parameter for which its rule applies; absent if it applies to all"},
	"column":      {About: "Column that the parameter compares with its value"},
	"compare": {
		About: "How it compares: is for the same value, has for a set with the value, at_most and at_least for " +
			"numbers, or for the place among values, and words for a text with words that begin like the value's",
		Values: []string{string(routes.CompareIs), string(routes.CompareHas), string(routes.CompareAtMost),
			string(routes.CompareAtLeast), string(routes.CompareWords)},
	},
	"within":    {About: "Parameter whose value is the entry of the column to compare; without it any entry counts"},
	"elsewhere": {About: "Paths that accept values which this route refuses, by value"},
	"framing":   {About: "Members of a list that does not use data and meta"},
	"lead":      {About: "JSON before the rows"},
	"rows":      {About: "Name of the member that contains the rows"},
	"meta":      {About: "Name of the member that contains the counts"},
	"pages":     {About: "Number of HTML pages of each list that has pages"},
	"built_at":  {About: "When the facts were read"},
	"size":      {About: "Size of the download in bytes"},
	"digest":    {About: "SHA-256 of its SHA256SUMS, in hexadecimal"},
	"common":    {About: "Parameters that every route accepts and no key contains"},

	"Feed.version":     {About: "Version of the JSON Feed format", Format: "uri"},
	"Feed.title":       {About: "Title of the feed"},
	"Feed.description": {About: "What the feed contains"},
	"home_page_url":    {About: "URL of the page with the same records", Format: "uri"},
	"feed_url":         {About: "URL of the feed", Format: "uri"},
	"language":         {About: "Language of the directory's texts; a service may use any language"},
	"authors":          {About: "The directory"},
	"Feed.items":       {About: "The newest records, newest first"},
	"FeedAuthor.name":  {About: "Name of the directory"},
	"FeedAuthor.url":   {About: "URL of the directory", Format: "uri"},
	"FeedItem.id":      {About: "Id of the item; depends only on the record"},
	"FeedItem.url":     {About: "URL of the service's page", Format: "uri"},
	"FeedItem.title":   {About: "Name of the service and what changed"},
	"content_text":     {About: "Values before and after the change"},
	"date_published":   {About: "When the change was observed"},
	"FeedItem.tags":    {About: "Type of the record"},
	"schemaVersion":    {About: "Version of the badge format: 1"},
	"Badge.label":      {About: "Text on the left"},
	"Badge.message":    {About: "Text on the right: status, and the 30-day uptime if known"},
	"color":            {About: "Colour of the right half"},
}
