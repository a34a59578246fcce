// Package vocabulary holds the words that describe the contract: what each field and type of package site means, for
// schemas, the reference page and tests. It must never know how a value is made or sent.
package vocabulary

import "maps"

// Field says of a field of the contract what its Go type does not. Schemas, the reference page and tests read it.
type Field struct {
	About  string
	Format string   // of a text: uri, uuid or date; instants have theirs by their type
	Values []string // all that a text can be
	Max    int      // of a number that lies between 0 and Max; 0 is unbounded
	OneOf  []any    // types of which raw JSON is one
}

// fields are all of them.
var fields = func() map[string]Field {
	all := maps.Clone(serviceFields)
	maps.Copy(all, logFields)
	return all
}()

// FieldOf is what is known of a field, by the type that has it where it means something of its own there.
func FieldOf(typeName, name string) (Field, bool) {
	if f, ok := fields[typeName+"."+name]; ok {
		return f, true
	}
	f, ok := fields[name]
	return f, ok
}

// TypeAbout says what a value of a type is, "" for a type that is only a part of another.
func TypeAbout(typeName string) string { return types[typeName] }

var types = map[string]string{
	"ServiceListItem":           "A service in a list.",
	"ServiceDetail":             "A service with endpoints, prices, uptime and assessment.",
	"Endpoint":                  "One paid address of a service.",
	"PricingEntry":              "The current price of an endpoint on one network.",
	"PayToDivergence":           "An endpoint is paid elsewhere than its siblings on the same network.",
	"PayToChange":               "One move of a recipient.",
	"UptimeWindows":             "Percent of counted checks that were up, by window; null where a window holds none.",
	"Coverage":                  "What stands behind each uptime window.",
	"CoverageWindow":            "What stands behind one uptime window.",
	"Provenance":                "Where a record comes from and how to cite it.",
	"Assessment":                "What is judged of a service. A part without facts is present, with nulls.",
	"Reliability":               "Uptime beside response times.",
	"ReliabilityUptime":         "Percent of counted checks that were up, by window.",
	"Compliance":                "The 14 conformance checks and the grade they give.",
	"ComplianceCheck":           "One check's verdict.",
	"Staleness":                 "How old the answer is that the checks judged.",
	"SiteFacts":                 "Which documents the service's site has; null is not looked at.",
	"DomainFacts":               "What the registry of the service's domain says.",
	"Economics":                 "The service's prices among those of its category.",
	"Risk":                      "The worst level among its flags.",
	"RiskFlag":                  "One reason for care.",
	"Synthesis":                 "What a language model made of the service's own words.",
	"SynthesisText":             "One answer of the model.",
	"SynthesisList":             "One answer of the model that is a list.",
	"Traction":                  "What settlement on chain shows. Unless measured, every metric is null: null is not zero. Volumes are a floor.",
	"SettledVia":                "A facilitator's part in a service's 30 days.",
	"SharedWithItem":            "Another service that is paid at the same address.",
	"UptimeDataPoint":           "A UTC day with at least one counted check.",
	"CheckEntry":                "One check of a service: a visit to its endpoints, without payment.",
	"GlobalCheckEntry":          "One check, with the service it was of, as judged when it was written.",
	"StatusSummary":             "Counts of services by state, and each service's state.",
	"StatusService":             "A service's state.",
	"Network":                   "A network on which listed services take payment.",
	"Feed":                      "Change records as a JSON Feed, newest first.",
	"FeedAuthor":                "Who publishes the feed.",
	"FeedItem":                  "A change record. What a service says of itself stands in quotation marks.",
	"Badge":                     "How a service does, in the shape that makers of badges read.",
	"Tag":                       "A category with its number of services.",
	"AggregateStats":            "Figures of the whole directory.",
	"StatsPricing":              "Over the lowest price of every active endpoint that has one.",
	"StatsNetwork":              "A network's part in the directory.",
	"PaginationMeta":            "Where a page stands in its list.",
	"TotalMeta":                 "How many rows the whole list has.",
	"BlockMeta":                 "Where a block of a log begins.",
	"ErrorBody":                 "The body of every answer that is no success.",
	"Error":                     "What went wrong.",
	"ErrorField":                "One faulty parameter or field.",
	"ChangeRecord":              "A service's payment schema, prices or recipients changed.",
	"SchemaSummary":             "Ways to pay that came and went.",
	"PriceSummary":              "Prices that moved.",
	"PriceChange":               "One price that moved.",
	"PayToSummary":              "Recipients that came and went.",
	"SnapshotEntry":             "One way to pay a service at the time of a change.",
	"FacilitatorListItem":       "Who settles payments, with the volume seen on chain.",
	"FacilitatorChain":          "A facilitator's part on one network in one token.",
	"FacilitatorPaginationMeta": "Where a page stands in its list, and the timeframe that orders it.",
	"VolumePoint":               "A UTC day of a facilitator, or of a service.",
	"BuyersPoint":               "A UTC day on which a service was paid.",
	"FacilitatorDetail":         "A facilitator with its accounts, who paid through it, and whose payments it settles.",
	"FacilitatorSettler":        "An account that a facilitator sends settlements from.",
	"FacilitatorBuyers":         "Who paid through a facilitator on one network in one token.",
	"FacilitatorService":        "A listed service's part in a facilitator's 30 days.",
	"CoverageReport":            "What is measured on chain, up to when, and what is not known.",
	"NetworkCoverage":           "A network on which services take payment, or whose settlements are read.",
	"ChainCursor":               "Up to where a network was read.",
	"TokenCoverage":             "Authorisations seen in a token over 30 UTC days, by whether a known settler sent them.",
	"CandidateSettler":          "An account that may settle for a facilitator nobody told of.",
	"VolumeQuality":             "Volume as it was seen, and how much of it may show no trade.",
	"VolumeSum":                 "A number of settlements and what they moved.",
	"OperatorReport":            "Services counted once for each operator.",
	"OperatorGroup":             "Services that one operator seems to run.",
	"SharedRecipient":           "An account that several services are paid at.",
	"Index":                     "What there is: every list with its total, and every slug.",
	"LogIndex":                  "What a reader must know of a log, whose rows are numbered from the oldest ever.",
	"LogPack":                   "Which blocks of a log an hour's pack holds.",
	"SearchIndex":               "What shards there are to search by.",
	"RouteTable":                "What a program must know to answer requests from the files of a snapshot.",
	"Alias":                     "A prefix that answers as another.",
	"TableLimits":               "The numbers that parsing and rules go by.",
	"Segment":                   "A variable part of a path.",
	"ChangesMeta":               "Where a page stands in its window, and how many records of each type that window has.",
	"TypeCounts":                "Records of each type.",
	"LogDay":                    "Where a UTC day's rows begin.",
	"PricePoint":                "A UTC day on which a service asked amounts that it had not asked just before.",
	"ScorePoint":                "A UTC day with a counted check.",
	"CatalogueList":             "A facilitator's catalogue, of what is listed here.",
	"CataloguePagination":       "Where a window stands in the catalogue.",
	"CatalogueItem":             "An active endpoint with its current prices.",
	"CatalogueAccept":           "One way to pay, as version 2 of the protocol writes it.",
	"CatalogueExtensions":       "What version 2 of the protocol keeps in extensions.",
	"CatalogueBazaar":           "The part of the bazaar extension that is known.",
	"CatalogueInfo":             "How to call the resource.",
	"CatalogueInput":            "The request.",
	"AddressLookup":             "What is known of the endpoints at an address.",
	"RecipientLookup":           "Who is paid at a recipient.",
	"RecipientService":          "A service that is paid at a recipient.",
	"LookupService":             "A service in short.",
	"LookupChange":              "A change record in short.",
	"LookupPrice":               "One way to pay now.",
	"LookupIndex":               "What shards of look-ups there are.",
	"Framing":                   "How a list is framed that has not data and meta.",
	"Evidence":                  "What stands behind a service's current verdicts and grade, so that anybody can judge again.",
	"EvidenceCheck":             "One rule's result with its grounds.",
	"EvidenceWarning":           "Something worth knowing that no check counts.",
	"EvidencePrice":             "A price as a document declares it, which is never taken for the price.",
	"EvidenceDefect":            "One leniency that reading an answer took.",
	"EndpointEvidence":          "What one endpoint answered.",
	"EvidenceSilence":           "An answer that counts in nothing.",
	"EvidenceCaptured":          "Where in an answer the terms stood.",
	"EvidenceAnswer":            "One request and what came of it.",
	"EvidenceRequest":           "A request as it was sent.",
	"EvidenceBody":              "A body as text, or as base64 where it is not UTF-8.",
	"EvidencePhases":            "How long the steps of a request took, in milliseconds.",
	"PublishedSnapshot":         "A snapshot that may be downloaded whole.",
	"Submission":                "A service that its owner wants listed. No other field may be there.",
	"SubmissionResult":          "What became of a submission so far.",
	"SubmissionState":           "What became of a submission. Nothing that its submitter wrote is in it.",
	"ProbeResult":               "What asking the endpoints of a submission found, without paying.",
	"RuleText":                  "A rule, in words.",
	"Route":                     "A path pattern, its parameters in the order they take in a key, and its rule.",
	"Param":                     "One query parameter of a route.",
}
