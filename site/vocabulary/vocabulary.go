// Package vocabulary describes the meaning of each field and type of package site, for JSON Schemas, the reference page
// and tests. It does not depend on how a value is computed or sent.
package vocabulary

import "maps"

// Field describes a field of the contract beyond its Go type.
type Field struct {
	About  string
	Format string   // format of a string: uri, uuid or date; a site.Time is always date-time
	Values []string // all permitted values of a string
	Max    int      // largest value of a number, whose smallest is 0; 0 means unbounded
	OneOf  []any    // the types that a json.RawMessage can contain
}

var fieldMaps = []map[string]Field{serviceFields, submissionFields, changeFields, logFields, searchFields,
	facilitatorFields, rankingFields, sourceFields, matrixFields,
	aggregateFields, dataFields}

// fields contains the fields of all maps.
var fields = func() map[string]Field {
	all := map[string]Field{}
	for _, m := range fieldMaps {
		maps.Copy(all, m)
	}
	return all
}()

// FieldOf returns the description of a field. A description for this type comes before one for all types.
func FieldOf(typeName, name string) (Field, bool) {
	if f, ok := fields[typeName+"."+name]; ok {
		return f, true
	}
	f, ok := fields[name]
	return f, ok
}

// TypeAbout returns the description of a type, or "" for a type that is only part of another.
func TypeAbout(typeName string) string { return types[typeName] }

var types = map[string]string{
	"ServiceListItem":   "A service in a list.",
	"ServiceRow":        "A service in a list, with what search and recommendations read of it.",
	"CompactAssessment": "What a choice between services needs of their assessments. A null is unknown.",
	"RowEndpoint":       "One paid endpoint of a service, in short.",
	"ServiceDetail":     "A service with endpoints, prices, uptime and assessment.",
	"Dataset":           "The tables of the directory as files, and what they answer.",
	"DatasetFile":       "A file to download.",
	"DatasetTable":      "A table with its files.",
	"DatasetDays":       "The files of a table's days.",
	"DatasetAnswer":     "A question, the statements that answer it, and the answer.",
	"Endpoint":          "One paid endpoint of a service.",
	"PricingEntry":      "The current price of an endpoint for one payment option.",
	"Rail":              "How offers over a protocol other than x402 meet its specification.",
	"RailCheck":         "The result of one check of a protocol other than x402.",
	"PayToDivergence": "An endpoint that pays a different recipient than the service's other endpoints on the " +
		"same network.",
	"PayToChange":       "One change of a payment recipient.",
	"UptimeWindows":     "Percentage of counted checks that were up, by window; null if a window has no checks.",
	"Coverage":          "How much data is behind each uptime window.",
	"CoverageWindow":    "How much data is behind one uptime window.",
	"Provenance":        "Where a record comes from and how to cite it.",
	"Assessment":        "Assessment of a service. Parts without facts are present and contain nulls.",
	"Reliability":       "Uptime and response times.",
	"ReliabilityUptime": "Percentage of counted checks that were up, by window.",
	"Compliance":        "The 14 conformance checks and the resulting grade.",
	"ComplianceCheck":   "The result of one check.",
	"Staleness":         "Age of the response that was graded.",
	"SiteFacts":         "Documents on the service's site; null means that the site was not examined.",
	"SetAside":          "A service whose records are damaged.",
	"DomainFacts":       "Registry data of the service's domain.",
	"Economics":         "Prices of the service compared with its category.",
	"Risk":              "The risk level, which is the most serious level of its flags.",
	"Advice":            "Whether a service may be paid now.",
	"AdviceReason":      "One reason for the level of an advice.",
	"RiskFlag":          "One reason for the risk level.",
	"Synthesis":         "A language model's summary of the service's own texts.",
	"SynthesisText":     "One text that the model wrote.",
	"SynthesisList":     "One list that the model wrote.",
	"Traction": "Settlements observed on chain. Unless the status is measured, every metric is null, which does not " +
		"mean zero. Volumes are lower bounds.",
	"SettledVia":          "A facilitator's share of a service's last 30 days.",
	"SharedWithItem":      "Another service that uses the same recipient address.",
	"UptimeDataPoint":     "A UTC day with at least one counted check.",
	"CheckEntry":          "One check of a service: requests to its endpoints, without payment.",
	"GlobalCheckEntry":    "One check and its service, as they were when the check was recorded.",
	"StatusSummary":       "Number of services by status, and the status of each service.",
	"StatusService":       "The status of one service.",
	"Network":             "A network on which listed services accept payment.",
	"Feed":                "Change records as a JSON Feed, newest first.",
	"FeedAuthor":          "The publisher of the feed.",
	"FeedItem":            "A change record. Texts from the service are in quotation marks.",
	"Badge":               "The status of a service in the format of shields.io endpoint badges.",
	"Tag":                 "A category and its number of services.",
	"Recommendation":      "A service that suits a request, the endpoint to use, and why.",
	"RecommendedEndpoint": "The endpoint that matches a request best.",
	"RankingTerms":        "The parts of a score, which the methodology page defines.",
	"RankingWeights":      "The weights of a preference.",
	"RankingMeta":         "How services were ranked, and which were excluded.",
	"Exclusion":           "A service that matches a request but is not recommended.",
	"AggregateStats":      "Statistics of the whole directory.",
	"StatsPricing":        "Statistics of the lowest price of each active endpoint that has a price.",
	"StatsNetwork":        "Statistics of one network.",
	"ListingGrowth":       "Number of services that were listed in the last days.",
	"OnChainMeasurement":  "Since when settlements are counted.",
	"DirectoryTraction": "Settlements of all services whose traction is measured, in 30 UTC days. Metrics are null " +
		"unless a network is measured, which does not mean zero.",
	"FlowFreshness":             "How far behind the reading of networks is.",
	"PaginationMeta":            "Position of a page in its list.",
	"TotalMeta":                 "Number of rows in the whole list.",
	"BlockMeta":                 "First row of a block of a log.",
	"ErrorBody":                 "The body of every error response.",
	"Error":                     "What went wrong.",
	"ErrorField":                "One invalid parameter or field.",
	"ChangeRecord":              "A change of a service's payment schema, prices, recipients, grade or sources.",
	"SchemaSummary":             "Payment options that were added and removed.",
	"PriceSummary":              "Prices that changed.",
	"PriceChange":               "One price that changed.",
	"PayToSummary":              "Recipients that were added and removed.",
	"SourceSummary":             "A resource that a public source began to list, or dropped.",
	"GradeSummary":              "Grade that changed, with the compliance checks behind it.",
	"FailedCheck":               "Compliance check that fails or failed.",
	"SourceAnswer":              "A whole answer of a public source.",
	"Source":                    "A public directory or catalogue that is read, and what it lists.",
	"SourceOverlap":             "What two sources have in common.",
	"SourceDetail":              "A public source with its newest answers, and what it listed and dropped.",
	"SourcePull":                "One reading of a source.",
	"SourceDay":                 "A UTC day on which a source began to list resources or dropped some.",
	"SourceService":             "A listed service that a source lists.",
	"SourceDrop":                "A resource of a listed service that a source dropped.",
	"ListedBy":                  "A public source that lists a service or did.",
	"RecipientChange":           "One changed recipient of an endpoint on a network.",
	"SnapshotEntry":             "One payment option of a service at the time of a change.",
	"FacilitatorListItem":       "A facilitator, which settles payments, with the volume observed on chain.",
	"FacilitatorChain":          "A facilitator's volume and settlements on one network in one token.",
	"FacilitatorPaginationMeta": "Position of a page in its list, and the timeframe that orders the list.",
	"VolumePoint":               "Settlements of a facilitator or a service on one UTC day.",
	"BuyersPoint":               "Payers of a service on one UTC day.",
	"AssetTables":               "The tables by which payment options are judged and settlements counted.",
	"KnownNetwork":              "A network whose names are recognised.",
	"KnownAsset":                "A token that is recognised.",
	"AddressForm":               "The form of addresses on the networks of one CAIP-2 namespace.",
	"SettledPrice": "What calls cost whose price is a maximum, by the settlements to its recipient. A null is " +
		"unknown, and the reason says why.",
	"Settlements":      "The settlements from which a service's traction is computed.",
	"SettledRecipient": "A recipient whose settlements belong to the service.",
	"RecipientShare":   "The part of a recipient's volume that belongs to the service, up to a day.",
	"SettledToken":     "What one facilitator settled to the recipient in one token.",
	"SettledDay":       "The settlements of a UTC day.",
	"SettledPayer":     "The settlements of one payer on a UTC day.",
	"SettledAmount":    "The settlements of one amount on a UTC day.",
	"FacilitatorDetail": "A facilitator with its accounts, its payers and the services whose payments it " +
		"settles.",
	"FacilitatorSupported":  "What a facilitator answers when it is asked what it settles.",
	"SupportedDay":          "Questions to a facilitator on a UTC day.",
	"SupportedKind":         "A kind of payment that a facilitator says it settles.",
	"SupportedSigner":       "An account that a facilitator says is its own.",
	"FacilitatorMatrix":     "Which facilitator settles what where.",
	"MatrixFacilitator":     "A facilitator that is asked what it settles.",
	"MatrixKind":            "A scheme on a network in a token, and the facilitators that announce it.",
	"MatrixToken":           "A token on a network, and the facilitators that settled payments in it.",
	"CandidateAnnouncement": "A facilitator that announces an account as its own.",
	"BuyersByChain":         "Payers through a facilitator, by network and token.",
	"FacilitatorPoint":      "Settlements of a facilitator on one UTC day, of all its main networks or of one.",
	"FacilitatorTopService": "A listed service whose payments a facilitator settled, with its status.",
	"ListedServices": "Listed services whose payments a facilitator settled. Counts are null if its settlements are " +
		"not measured.",
	"FacilitatorSettler": "An account that sends a facilitator's settlements.",
	"FacilitatorBuyers":  "Number of payers through a facilitator on one network in one token.",
	"FacilitatorService": "A listed service's share of a facilitator's last 30 days.",
	"CoverageReport":     "What is measured on chain and up to when, and what is not known.",
	"NetworkCoverage":    "A network on which services accept payment, or whose settlements are read.",
	"ChainCursor":        "How far a network has been read.",
	"TokenCoverage":      "Authorisations in one token over 30 UTC days, by whether a known settler sent them.",
	"CandidateSettler":   "An account that may settle for a facilitator but is not listed as a settler.",
	"VolumeQuality":      "Volume as observed, and the part of it that may not be real trade.",
	"VolumeSum":          "A number of settlements and their volume.",
	"OperatorReport":     "Services grouped by their probable operator.",
	"OperatorLink":       "A piece of evidence that several services have one operator.",
	"OperatorGroup":      "Services that probably have the same operator.",
	"SharedRecipient":    "An account that several services are paid at.",
	"Index":              "Contents of a snapshot: every list with its number of rows, and every slug.",
	"LogIndex":           "Index of a log. Rows are numbered from the oldest row ever recorded.",
	"LogPack":            "Blocks of a log that an hour's pack contains.",
	"SearchResult":       "A service that matches a query.",
	"SearchEndpoint":     "An endpoint that passes the filters.",
	"SearchMeta":         "Position of a page in its list, and how the query was read.",
	"Reading":            "How words of a query were read.",
	"TermIndex":          "Index of the files of terms.",
	"Term":               "A word or concept, and the services that have it.",
	"Vocabulary":         "Every word of the directory.",
	"RouteTable":         "What a program needs to answer requests from the files of a snapshot.",
	"Alias":              "A path prefix that is served as another prefix.",
	"TableLimits":        "Limits that apply to requests.",
	"Segment":            "A variable part of a path.",
	"ChangesMeta": "Position of a page in its window, and the number of records of each type in " +
		"that window.",
	"TypeCounts":          "Number of records of each type.",
	"LogDay":              "First row of a UTC day.",
	"PricePoint":          "A UTC day on which a service's amounts changed or were first seen.",
	"PriceObservation":    "A price in dollars that a visit found at an active endpoint.",
	"ScorePoint":          "A UTC day with a counted check.",
	"CatalogueList":       "The directory in the format of a facilitator's catalogue.",
	"CatalogueSearchList": "Paid endpoints that a search found, in the format of a facilitator's catalogue.",
	"CursorPagination":    "Position of a page in the results of a search.",
	"CataloguePagination": "Position of a page in the catalogue.",
	"CatalogueItem":       "An active endpoint with its current prices.",
	"CatalogueAccept":     "One payment option in the format of version 2 of the protocol.",
	"CatalogueExtensions": "The extensions object of version 2 of the protocol.",
	"CatalogueBazaar":     "The supported part of the bazaar extension.",
	"CatalogueInfo":       "How to call the resource.",
	"CatalogueInput":      "The request.",
	"AddressLookup":       "What the directory knows about the endpoints at a URL.",
	"RecipientLookup":     "Services that are paid at a recipient's address.",
	"RecipientService":    "A service that is paid at a recipient's address.",
	"LookupService":       "Summary of a service.",
	"LookupChange":        "Summary of a change record.",
	"LookupPrice":         "One current payment option.",
	"LookupIndex":         "Shards of the look-up tables.",
	"Framing":             "Members of a list that does not use data and meta.",
	"Evidence": "The requests, answers and check results behind a service's current verdicts and grade, so that " +
		"anybody can repeat them.",
	"EvidenceCheck":        "The result of one conformance check, with its reason.",
	"EvidenceWarning":      "An observation that no check counts.",
	"EvidenceSiteAnswer":   "The answer to the request for one document of the service's site.",
	"EvidenceRegistration": "What a registry answered about the service's domain.",
	"EvidencePrice":        "A price from a document of the service; it is never used as the service's price.",
	"EvidenceDefect":       "One deviation from the protocol that was tolerated while reading a response.",
	"EndpointEvidence":     "Evidence of one endpoint.",
	"EvidenceSilence":      "An answer that is not counted.",
	"EvidenceCaptured":     "Where in a response the terms were found.",
	"EvidenceAnswer":       "One request to an endpoint and its result.",
	"EvidenceRequest":      "A request as sent.",
	"EvidenceBody":         "A body as text, or as base64 if it is not UTF-8.",
	"EvidencePhases":       "Duration of each phase of a request, in milliseconds.",
	"PublishedSnapshot":    "A snapshot that can be downloaded as a whole.",
	"Submission":           "A service that its owner submits for listing. Other fields are refused.",
	"SubmissionResult":     "The immediate result of a submission.",
	"SubmissionState":      "The current state of a submission. It contains nothing that the submitter wrote.",
	"ProbeResult":          "The result of requesting a submission's endpoints without paying.",
	"RuleText":             "A rule, in words.",
	"Route":                "A path pattern, its parameters in the order that they have in a key, and its rule.",
	"Param":                "One query parameter of a route.",
}
