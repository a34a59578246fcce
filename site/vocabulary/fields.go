package vocabulary

import "tollbook/site"

var (
	states      = []string{site.StatusOnline, site.StatusDegraded, site.StatusOffline, site.StatusUnknown}
	protocols   = []string{"x402", "mpp", "l402", "crawler-price"}
	adviceTexts = []string{site.AdviceGood, site.AdviceCaution, site.AdviceDoNotPay, site.AdviceUnknown}
	riskTexts   = []string{site.RiskClean, site.RiskWarning, site.RiskDanger}
)

const uri, uuid = "uri", "uuid"

// uncountedReasons are the classes of inconclusive responses in package probe, and the reasons without a response.
var uncountedReasons = []string{"needs_input", "wrong_method", "auth", "challenge", "rate_limited", "unavailable",
	"interrupted", "robots", "refused", site.NoEndpoints, site.ErasedService}

// serviceFields describes the fields of services, assessments, aggregates and errors. Its keys are JSON
// names, or "Type.name" if a name means something else in one type.
var serviceFields = map[string]Field{
	// Services
	"slug":        {About: "Name of the service in URLs: a-z, 0-9 and hyphens"},
	"name":        {About: "Name, as the service gives it"},
	"description": {About: "Description, as the service gives it"},
	"base_url":    {About: "Base URL of the service", Format: uri},
	"website_url": {About: "Public website of the service", Format: uri},
	"category":    {About: "Category, such as AI, Data, Compute, Content or Finance"},
	"status":      {About: "Status after the latest checks", Values: states},
	"verified": {
		About: "Whether the owner has proved control of the service, or the operator of this directory vouches for " +
			"it",
	},
	"paused_at":      {About: "Since when the operator of this directory has the service not checked; absent if it is"},
	"delisted_at":    {About: "When the operator of this directory retired the service; absent if it is listed"},
	"verified_until": {About: "When the proof expires"},
	"source":         {About: "Origin of the listing: submitted, or imported:<origin>"},
	"endpoint_count": {About: "Number of active endpoints"},
	"min_price_usd": {
		About: "Lowest counted price of one request, in US dollars; null without one",
	},
	"networks": {
		About: "Networks on which the service accepts payment: abbreviations, or CAIP-2 ids of networks without one, " +
			"in the order of their bytes",
	},
	"networks_caip2": {About: "CAIP-2 ids of the same networks, in the same order"},
	"uptime_24h": {
		About: "Percentage of counted checks in the last 24 hours that were up; null if there were none",
		Max:   100,
	},
	"avg_response_time_ms": {
		About: "Mean time until the response headers arrive, over the last 24 hours, in milliseconds",
	},
	"last_checked_at": {About: "Time of the last check, also of one that does not count"},
	"last_success_at": {About: "Time of the last check that received a usable payment request"},
	"created_at":      {About: "When the service was listed"},
	"payment_ready": {
		About: "Whether a check received a usable payment request in the last 7 days, and no known fact says that " +
			"money sent would be lost: some row has a recipient that can be paid, and no recipient keeps changing",
	},
	"payment_ready_until": {
		About: "Time of the last successful check plus 7 days, also if payment_ready is false for another reason; " +
			"null if no check ever succeeded",
	},
	"risk_level": {About: "Risk level of the service; from low to high: clean, warning, danger", Values: riskTexts},
	"risk_reason": {
		About: "Title of the most serious risk flag; null if the level is clean",
	},
	"advice_level":                 {About: "Whether the service may be paid now", Values: adviceTexts},
	"advice_reason":                {About: "Main reason for advice_level, in words; null if the level is good"},
	"consecutive_failures":         {About: "Number of consecutive checks that ended offline"},
	"check_interval_minutes":       {About: "Minutes between two checks"},
	"uptime":                       {About: "Percentage of counted checks that were up, by window"},
	"total_checks":                 {About: "Number of checks ever, counted or not"},
	"UptimeDataPoint.total_checks": {About: "Number of counted checks on that day"},
	"asset":                        {About: "Asset of the lowest price, such as USDC"},
	"endpoints":                    {About: "Active endpoints with their current prices"},
	"pay_to_changes": {
		About: "Recipient changes in the payto_changed records of the last 90 days, newest first; changes within an " +
			"hour are merged",
	},
	"assessment":           {About: "Assessment of the service: reliability, compliance, risk and traction"},
	"provenance":           {About: "Where the record or the response comes from and how to cite it"},
	"24h":                  {About: "The last 24 complete UTC hours and the current hour", Max: 100},
	"7d":                   {About: "7 UTC days, including today", Max: 100},
	"30d":                  {About: "30 UTC days, including today", Max: 100},
	"90d":                  {About: "90 UTC days, including today", Max: 100},
	"Coverage.24h":         {About: "Data behind the 24-hour window"},
	"Coverage.7d":          {About: "Data behind the 7-day window"},
	"Coverage.30d":         {About: "Data behind the 30-day window"},
	"Coverage.90d":         {About: "Data behind the 90-day window"},
	"coverage":             {About: "How much data is behind each window"},
	"daysCovered":          {About: "Number of UTC days with a counted check"},
	"checkCount":           {About: "Number of counted checks"},
	"Endpoint.id":          {About: "Id of the endpoint", Format: uuid},
	"EndpointEvidence.id":  {About: "Id of the endpoint", Format: uuid},
	"CheckEntry.id":        {About: "Id of the check", Format: uuid},
	"GlobalCheckEntry.id":  {About: "Id of the check", Format: uuid},
	"PublishedSnapshot.id": {About: "Id of the snapshot, as in the header X-Snapshot"},
	"method":               {About: "HTTP method, such as GET"},
	"path":                 {About: "Path on the service"},
	"mime_type":            {About: "Media type of the response, as the endpoint declares it"},
	"is_active": {About: "Whether it asked for payment, or was first seen, in the last 14 days. One that only a " +
		"public source names is not active before it asked for payment"},
	"first_seen_at": {About: "When the endpoint was first seen"},
	"last_seen_at":  {About: "When the endpoint was last seen"},
	"variable_amount": {
		About: "Whether the amount can be lower than the price, or can change from request to request",
	},
	"pricing": {About: "One entry for each payment option"},
	"pay_to_divergence": {
		About: "Set if the endpoint pays a different recipient than the other endpoints of the service",
	},
	"scheme": {About: "Payment scheme, such as exact; over mpp the method and intent, such as tempo/charge"},
	"network": {
		About: "Network: the CAIP-2 id if the network is recognised, otherwise as the service writes it",
	},
	"network_caip2":      {About: "CAIP-2 id; null if the network is not recognised"},
	"asset_address":      {About: "Address of the token; on EVM networks with its EIP-55 checksum"},
	"asset_address_norm": {About: "The same address in normal form: lower case if it is hexadecimal"},
	"asset_name":         {About: "Name of the token, such as USDC; UNKNOWN if the token is not recognised"},
	"price": {
		About: "Price in atomic units of the asset, as a decimal string; millisatoshis over l402, the value over " +
			"crawler-price",
	},
	"price_usd":            {About: "Price in US dollars; null on test networks and if the asset has no known value"},
	"testnet":              {About: "Whether it is a test network, whose tokens have no value"},
	"pay_to":               {About: "Address of the recipient; on EVM networks with its EIP-55 checksum"},
	"max_timeout_seconds":  {About: "Number of seconds for which a payment is valid"},
	"expected":             {About: "Recipients of the other endpoints"},
	"observed":             {About: "Recipients of this endpoint"},
	"endpoint":             {About: "Method and path, such as \"GET /quote\""},
	"old_pay_to":           {About: "Recipient before the change; null if the new one was added beside others"},
	"new_pay_to":           {About: "Recipient after the change; null if the old one was removed and others stay"},
	"observed_at":          {About: "When the change was observed"},
	"license":              {About: "Licence of the data"},
	"attribution_required": {About: "Whether the licence requires attribution"},
	"attribution":          {About: "Text that names the source"},
	"cite_as":              {About: "Public page to cite", Format: uri},
	"Provenance.source":    {About: "How the facts were collected"},
	"period_start":         {About: "Start of the UTC day"},
	"period_end":           {About: "End of the UTC day; for today, the time of the latest check"},
	"uptime_percentage":    {About: "Percentage of the day's counted checks that were up", Max: 100},
	"successful_checks":    {About: "Number of counted checks that were up"},
	"checked_at":           {About: "When the check ended"},
	"is_up":                {About: "Whether the service responded: any status but offline. False also for a check that does not count"},
	"status_code": {
		About: "HTTP status of the first paid response, or of the first response if none was paid; null if there " +
			"was none",
	},
	"response_time_ms": {About: "Median time until the response headers arrived, in milliseconds"},
	"endpoints_found":  {About: "Number of endpoints that requested payment in this check"},
	"error_message":    {About: "What went wrong; null if nothing did"},
	"counted": {
		About: "Whether some response was conclusive, so that the check counts in uptime, response times and failures",
	},
	"uncounted_reason": {
		About: "Why the check does not count: the class of its first response, or that there was none; null if it " +
			"counts",
		Values: uncountedReasons,
	},
	"service_slug":           {About: "Slug of the service"},
	"service_name":           {About: "Name of the service at that time, as the service gave it"},
	"service_status":         {About: "Status of the service after this check", Values: states},
	"DomainFacts.checked_at": {About: "When the domain registry was queried"},
	"SiteFacts.checked_at":   {About: "When the site was fetched"},
	"UptimeDataPoint.avg_response_time_ms": {
		About: "Mean time until the response headers arrived on that day, in milliseconds",
	},

	// Assessment
	"updated_at": {About: "Time of the newest fact in the assessment"},
	"input_hash": {
		About: "SHA-256 of the canonical JSON that describes the service to a language model; changes when the " +
			"service's own texts change",
	},
	"model_id":       {About: "Language model that wrote synthesis; null if there is no synthesis"},
	"prompt_version": {About: "Version of the prompt that the model received; null if there is no synthesis"},
	"reliability":    {About: "Uptime and response times"},
	"compliance":     {About: "Conformance checks and their grade"},
	"site":           {About: "Documents found on the service's site"},
	"domain":         {About: "Facts about the service's domain"},
	"economics":      {About: "Prices of the service compared with its category"},
	"risk":           {About: "Risk level and its reasons"},
	"synthesis": {
		About: "A language model's summary of the service's current texts; null if there is no model, or if it has " +
			"not summarised these texts yet",
	},
	"traction":        {About: "Settlements observed on chain"},
	"response_p95_ms": {About: "95th percentile of the response times of the last 7 days, in milliseconds"},
	"avg_response_ms": {About: "Mean response time of the last 24 hours, in milliseconds"},
	"grade": {
		About:  "Grade by the share of checks that pass",
		Values: site.Grades,
	},
	"grade_reason": {
		About: "The grade and why: the first failure that limits the grade, or else how many checks pass",
	},
	"passed":             {About: "Number of checks that pass"},
	"total":              {About: "Total number"},
	"checks":             {About: "Result of each check"},
	"pay_to_source":      {About: "Key in the response that contained the recipient"},
	"pay_to_location":    {About: "Where in the response that key was: accept or element"},
	"staleness":          {About: "Age of the response that was graded"},
	"ComplianceCheck.id": {About: "Id of the check"},
	"label":              {About: "What the check requires"},
	"pass":               {About: "Whether the check passes"},
	"probe_failing": {About: "Whether the last conclusive check failed; the risk flag of this name needs three " +
		"in a row"},
	"envelope_captured_at": {About: "When the graded response was received"},
	"homepage":             {About: "Whether the site has a home page"},
	"openapi":              {About: "Whether the site has an OpenAPI document"},
	"SiteFacts.pricing":    {About: "Whether the site has a pricing page"},
	"llms_txt":             {About: "Whether the site has an llms.txt"},
	"robots":               {About: "Whether the site has a robots.txt"},
	"terms":                {About: "Whether the site has terms of use"},
	"age_days":             {About: "Days since the domain was registered"},
	"registrar":            {About: "Registrar of the domain"},
	"free_host":            {About: "Whether the service runs on a free host or behind a tunnel"},
	"created_date":         {About: "When the domain was registered"},
	"Economics.price_usd":  {About: "Lowest counted price in US dollars"},
	"price_atomic": {
		About: "The same price in atomic units of its asset; if no price counts, the price of the first row",
	},
	"PricingEntry.protocol": {About: "Payment protocol of the price", Values: protocols},
	"Endpoint.protocol": {
		About: "Payment protocol of the first price, x402 before others; null without a price", Values: protocols,
	},
	"rails": {
		About: "Payment protocols other than x402 over which the service makes offers, with the checks of their own " +
			"specifications",
	},
	"Rail.protocol":      {About: "Payment protocol", Values: protocols[1:]},
	"Rail.grade":         {About: "Grade by the checks of the protocol", Values: []string{"A", "B", "C", "D", "F"}},
	"Rail.grade_reason":  {About: "The grade and its reason"},
	"Rail.passed":        {About: "Number of checks that pass"},
	"Rail.total":         {About: "Number of checks"},
	"Rail.checks":        {About: "The checks in the order of the methodology"},
	"RailCheck.id":       {About: "Id of the check"},
	"RailCheck.label":    {About: "Name of the check"},
	"RailCheck.pass":     {About: "Whether every offer passes"},
	"RailCheck.reason":   {About: "The first problem found; null if the check passes"},
	"RailCheck.expected": {About: "What the check requires; null if it passes"},
	"RailCheck.mend":     {About: "How the owner can fix the problem; null if the check passes"},
	"PricingEntry.price_caveat": {
		About: "Why the price is not counted in dollars: a test network, no known value, an amount of 0, or too " +
			"high; null if it is counted",
	},
	"Economics.price_caveat": {
		About: "How many prices of active endpoints are not counted in dollars, and why; null if all are",
	},
	"model": {
		About:  "How the service charges",
		Values: []string{"flat", "tiered", "per-token", "free", "unknown"},
	},
	"category_percentile": {
		About: "Percentile of its lowest price in its category: 0 is the cheapest, 100 the most expensive",
		Max:   100,
	},
	"stability": {About: "Price stability from 0 to 1; 1 means that no price changed in 30 days",
		Max: 1},
	"price_max_usd":           {About: "Highest counted price in US dollars"},
	"category_percentile_max": {About: "Percentile of its highest price in its category", Max: 100},
	"distinct_price_count":    {About: "Number of different prices"},
	"level": {About: "Risk level; from low to high: clean, warning, danger",
		Values: riskTexts},
	"flags":             {About: "Reasons for the level, the most serious first"},
	"advice":            {About: "Whether the service may be paid now, and why"},
	"Advice.level":      {About: "Whether the service may be paid now", Values: adviceTexts},
	"reasons":           {About: "One to three reasons for the level, the most important first"},
	"AdviceReason.code": {About: "Code of the reason: a risk flag's, or one of the methodology's table"},
	"AdviceReason.text": {About: "The reason in words, with the service's figures"},
	"code":              {About: "Code of the reason"},
	"evidence":          {About: "The observation that the flag is based on"},
	"RiskFlag.title":    {About: "The code in words"},
	"summary":           {About: "Summary of what the service does"},

	"RowEndpoint.description": {About: "The first characters of its description, on one line"},
	"RowEndpoint.price_usd":   {About: "Lowest counted price in US dollars; null without one"},
	"prices_usd": {
		About: "The lowest counted price in US dollars by network; absent if each of its networks has price_usd",
	},
	"RowEndpoint.testnet": {About: "Whether every price is on a test network"},
	"payable": {
		About: "Whether a standard client could pay it, and no known fact says that the money would be lost",
	},
	"checks_30d":                 {About: "Number of counted checks of 30 days"},
	"ServiceRow.endpoints":       {About: "The first 25 active endpoints"},
	"ServiceRow.assessment":      {About: "What a choice between services needs of the service's assessment"},
	"ServiceListItem.assessment": {About: "The compact assessment; only with include=assessment"},
	"capability_tags":            {About: "Capabilities, as tags"},
	"Synthesis.category":         {About: "Category that the model suggests"},
	"inputs":                     {About: "What the service takes as input"},
	"outputs":                    {About: "What the service returns"},
	"auth":                       {About: "Authentication that the service requires in addition to payment"},
	"value":                      {About: "What the model wrote"},
	"confidence":                 {About: "How confident the model is, from 0 to 1", Max: 1},
	"SynthesisText.source":       {About: "Origin of the value; ai if a model wrote it"},
	"SynthesisList.source":       {About: "Origin of the value; ai if a model wrote it"},
	"Traction.status":            tractionStatus,
	"volume_usd_30d":             {About: "Volume settled in 30 days, in US dollars"},
	"tx_count_30d":               {About: "Number of settlements in 30 days"},
	"unique_buyers_30d": {
		About: "Number of different payers in 30 days that settlements name; null if none names one",
	},
	"last_settlement_at":     {About: "Time of the newest settlement"},
	"top_buyer_share_30d":    {About: "Share of the 30-day volume that the largest payer paid", Max: 1},
	"top_3_buyers_share_30d": {About: "Share of the 30-day volume that the three largest payers paid", Max: 1},
	"concentrated_volume":    {About: "Whether three payers account for nearly all of the volume"},
	"trend_7d_vs_30d": {
		About: "Average daily volume of the last 7 days divided by that of the last 30 days, of all settlements at " +
			"the recipients, not divided among services that share them; null without volume in 30 days, and until " +
			"the first settlement and the measuring of its networks are 30 days old",
	},
	"shared_payout": {About: "Whether other services use the same recipient address"},
	"shared_with_strangers": {
		About: "Whether part of the figures of 30 days is of recipients that services of other operators named first on " +
			"the same day, so that nobody knows whose sales they are",
	},
	"shared_with":               {About: "Number of other services that use it"},
	"measured_networks":         {About: "CAIP-2 ids of the networks whose settlements are counted"},
	"first_settlement_at":       {About: "Time of the oldest settlement observed"},
	"volume_usd_all_time":       {About: "Volume settled since measurement began, in US dollars"},
	"tx_count_all_time":         {About: "Number of settlements since measurement began"},
	"median_settlement_usd_30d": {About: "Median settlement in 30 days, without redemptions, in US dollars"},
	"max_settlement_usd_30d":    {About: "Largest settlement in 30 days, without redemptions, in US dollars"},
	"settled_via":               {About: "Ids of the facilitators that settled"},
	"settled_via_detail":        {About: "Volume and settlements of each facilitator"},
	"SettledVia.id":             {About: "Id of the facilitator"},
	"shared_with_services":      {About: "Services that share the address; the first hundred by slug"},
	"pro_quota_share": {
		About: "Share of the address's volume that is counted for this service: 1 / (shared_with + 1)",
		Max:   1,
	},
	"caveat":          {About: "What the figures leave out"},
	"all_time_caveat": {About: "What the all-time figures leave out"},

	// Aggregates
	"online":       {About: "Number of services online"},
	"degraded":     {About: "Number of services degraded"},
	"offline":      {About: "Number of services offline"},
	"unknown":      {About: "Number of services that have no recent check"},
	"services":     {About: "One entry for each service, by slug"},
	"Network.id":   {About: "CAIP-2 id"},
	"Network.name": {About: "Name of the network"},
	"caip2":        {About: "CAIP-2 id, the same as id"},
	"caip2_id":     {About: "CAIP-2 id, the same as id"},
	"abbreviation": {About: "Short code that filters and lists use, such as BSE"},
	"chain_type":   {About: "Kind of chain, such as evm or solana"},
	"is_mainnet":   {About: "Whether it is a main network; false for a test network"},
	"explorer_url": {About: "URL of a block explorer", Format: uri},
	"address_url": {About: "URL of an account's page at a block explorer, with {address}" +
		" where its address belongs; null if its form is not known"},
	"service_count":           {About: "Number of listed services"},
	"avg_uptime":              {About: "Mean of the services' uptime_24h", Max: 100},
	"tag":                     {About: "Category"},
	"total_services":          {About: "Number of listed services"},
	"total_endpoints":         {About: "Number of active endpoints"},
	"total_networks":          {About: "Number of main networks on which services accept payment"},
	"opted_out":               {About: "Number of hosts that are left out because their owners want it"},
	"total_testnets":          {About: "Number of test networks on which services accept payment"},
	"avg_uptime_24h":          {About: "Mean of the services' 24-hour uptime, as a percentage", Max: 100},
	"avg_uptime_7d":           {About: "Mean of the services' 7-day uptime, as a percentage", Max: 100},
	"checks_per_hour":         {About: "Counted checks per hour, over the last 24 complete hours"},
	"AggregateStats.pricing":  {About: "Lowest counted prices of active endpoints"},
	"AggregateStats.networks": {About: "One entry for each network, by abbreviation"},
	"AggregateStats.avg_response_time_ms": {
		About: "Mean of the services' mean response times, in milliseconds",
	},
	"avg_price_usd":              {About: "Mean price in US dollars"},
	"max_price_usd":              {About: "Highest price in US dollars"},
	"median_price_usd":           {About: "Median price in US dollars"},
	"StatsPricing.min_price_usd": {About: "Lowest price in US dollars"},
	"page":                       {About: "Number of this page, from 1"},
	"per_page":                   {About: "Rows on a full page"},
	"total_pages":                {About: "Number of pages that have rows"},

	// Errors
	"error":        {About: "What went wrong"},
	"Error.code":   {About: "The HTTP status code"},
	"Error.type":   {About: "Kind of error, for programs", Values: site.ErrorTypes},
	"message":      {About: "Message for people"},
	"Error.fields": {About: "Each invalid parameter or field; only with status 400"},
	"field":        {About: "Name of the parameter or field"},
}

var tractionStatus = Field{
	About:  "Whether settlements could be measured, or why not",
	Values: []string{"measured", "no-payto", "unmeasured-network", "unresponsive"},
}
