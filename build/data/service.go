package data

import (
	"cmp"

	"tollbook/site"
	"tollbook/site/postgres"
)

// Sources of values, as the data package names them.
const (
	fromOperator = "directory"  // its operator, an import or a submission
	fromVisits   = "visits"     // of the crawler, unpaid
	fromJudgment = "judgment"   // computed from visits; see the methodology
	fromChain    = "settlement" // read from public chains
	fromFetches  = "facilitator list"
	fromPublic   = "public source"
)

func slugColumn(source string) Column {
	return Column{Name: "slug", Required: true, Source: source,
		Description: "Name of the service in URLs. It is never given to another service."}
}

// Services makes the table of listed services, with all that is judged of each.
var Services = newMaker(
	Table{
		Name: "services", Description: "Listed services with their newest judgments, one row each.",
		Key: []string{"slug"},
	},
	field[*site.Listing]{slugColumn(fromOperator), func(l *site.Listing) Value { return NewText(l.Detail.Slug) }},
	service("name", Text, "", fromOperator, "Name.", true, func(d *site.ServiceDetail) Value {
		return NewText(d.Name)
	}),
	service("description", Text, "", fromOperator, "What the service says it does.", true,
		func(d *site.ServiceDetail) Value { return NewText(d.Description) }),
	service("base_url", Text, "", fromOperator, "URL that paths of endpoints are appended to.", true,
		func(d *site.ServiceDetail) Value { return NewText(d.BaseURL) }),
	service("website_url", Text, "", fromOperator, "URL of a page for people.", false,
		func(d *site.ServiceDetail) Value { return textOrNull(d.WebsiteURL) }),
	service("category", Text, "", fromOperator, "Category.", true,
		func(d *site.ServiceDetail) Value { return NewText(d.Category) }),
	field[*site.Listing]{Column{Name: "operator", Source: fromJudgment,
		Description: "Slug of the first service, by slug, of the same operator: that votes once in medians."},
		func(l *site.Listing) Value {
			if l.Operator == "" { // a service that is set aside
				return Value{}
			}
			return NewText(l.Operator)
		}},
	service("source", Text, "", fromOperator, "How the service was listed: submitted, or imported:<origin>.", true,
		func(d *site.ServiceDetail) Value { return NewText(d.Source) }),
	service("created_at", Timestamp, "", fromOperator, "When the service was listed.", true,
		func(d *site.ServiceDetail) Value { return newTime(d.CreatedAt.Time) }),
	service("paused_at", Timestamp, "", fromOperator, "Since when the operator lets nobody visit the service.", false,
		func(d *site.ServiceDetail) Value { return timeOrNull(d.PausedAt) }),
	service("delisted_at", Timestamp, "", fromOperator, "When the operator retired the service.", false,
		func(d *site.ServiceDetail) Value { return timeOrNull(d.DelistedAt) }),
	service("gone_since", Timestamp, "", fromJudgment, "Since when all checks that count failed, if it is gone.", false,
		func(d *site.ServiceDetail) Value { return timeOrNull(d.GoneSince) }),
	service("status", Text, "", fromJudgment, "online, degraded, offline or unknown.", true,
		func(d *site.ServiceDetail) Value { return NewText(d.Status) }),
	service("verified", Boolean, "", fromJudgment, "Whether control of the domain is proved.", true,
		func(d *site.ServiceDetail) Value { return newBool(d.Verified) }),
	service("payment_ready", Boolean, "", fromJudgment, "Whether a recent visit got a usable request for payment.",
		true,
		func(d *site.ServiceDetail) Value { return newBool(d.PaymentReady) }),
	service("last_checked_at", Timestamp, "", fromVisits, "Time of the last visit.", false,
		func(d *site.ServiceDetail) Value { return timeOrNull(d.LastCheckedAt) }),
	service("last_success_at", Timestamp, "", fromVisits, "Time of the last usable request for payment.", false,
		func(d *site.ServiceDetail) Value { return timeOrNull(d.LastSuccessAt) }),
	service("consecutive_failures", Integer, "visits", fromVisits, "Counted visits since the last one that was up.",
		true,
		func(d *site.ServiceDetail) Value { return newInt(d.ConsecutiveFailures) }),
	service("total_checks", Integer, "visits", fromVisits, "Visits ever.", true,
		func(d *site.ServiceDetail) Value { return newInt(d.TotalChecks) }),
	percent("uptime_24h", "Part of the time of 24 full hours with a known state in which the service was up.",
		func(d *site.ServiceDetail) *float64 { return d.Uptime.H24 }),
	percent("uptime_7d", "As uptime_24h, of 7 UTC days that end with the last full hour.",
		func(d *site.ServiceDetail) *float64 { return d.Uptime.D7 }),
	percent("uptime_30d", "As uptime_24h, of 30 UTC days that end with the last full hour.",
		func(d *site.ServiceDetail) *float64 { return d.Uptime.D30 }),
	percent("uptime_90d", "As uptime_24h, of 90 UTC days that end with the last full hour.",
		func(d *site.ServiceDetail) *float64 { return d.Uptime.D90 }),
	service("avg_response_time_ms", Integer, "milliseconds", fromJudgment, "Mean time to the response of 24 hours.",
		false,
		func(d *site.ServiceDetail) Value { return intOrNull(d.AvgResponseTimeMS) }),
	service("response_p95_ms", Integer, "milliseconds", fromJudgment,
		"95 % of the responses of 7 days were not slower.", false,
		func(d *site.ServiceDetail) Value { return intOrNull(d.Assessment.Reliability.ResponseP95MS) }),
	service("endpoint_count", Integer, "endpoints", fromJudgment, "Active endpoints.", true,
		func(d *site.ServiceDetail) Value { return newInt(d.EndpointCount) }),
	usdOf("min_price_usd", fromJudgment, "Lowest counted price of an active endpoint.",
		func(d *site.ServiceDetail) *site.Decimal { return d.MinPriceUSD }),
	service("price_condition", Text, "", fromJudgment, "What a buyer needs before that price can be paid.", false,
		func(d *site.ServiceDetail) Value { return textOrNull(d.PriceCondition) }),
	usdOf("max_price_usd", fromJudgment, "Highest counted price of an active endpoint.",
		func(d *site.ServiceDetail) *site.Decimal { return d.Assessment.Economics.PriceMaxUSD }),
	service("networks", JSON, "", fromJudgment, "Networks on which it can be paid: short names, or CAIP-2 IDs.", true,
		func(d *site.ServiceDetail) Value { return newJSON(d.Networks) }),
	service("networks_caip2", JSON, "", fromJudgment, "CAIP-2 IDs of the same networks, in the same order.", true,
		func(d *site.ServiceDetail) Value { return newJSON(d.NetworksCAIP2) }),
	service("grade", Text, "", fromJudgment, "Grade of the compliance checks: A, B, C, D, F or unknown.", true,
		func(d *site.ServiceDetail) Value { return NewText(d.Assessment.Compliance.Grade) }),
	service("failed_checks", JSON, "", fromJudgment, "IDs of the compliance checks that fail.", true, failedChecks),
	service("risk_level", Text, "", fromJudgment, "clean, warning or danger.", true,
		func(d *site.ServiceDetail) Value { return NewText(d.Assessment.Risk.Level) }),
	service("risk_flags", JSON, "", fromJudgment, "Codes of the reasons for the risk level.", true, riskFlags),
	service("advice_level", Text, "", fromJudgment, "Whether it may be paid: good, caution, do_not_pay or unknown.", true,
		func(d *site.ServiceDetail) Value { return verdictLevel(&d.Assessment.Advice) }),
	service("advice_codes", JSON, "", fromJudgment, "Codes of the main reasons for advice_level.", true,
		func(d *site.ServiceDetail) Value { return verdictCodes(&d.Assessment.Advice) }),
	service("traction", Text, "", fromJudgment, "Whether settlements to the service are measured.", true,
		func(d *site.ServiceDetail) Value { return NewText(d.Assessment.Traction.Status) }),
	usdOf("volume_usd_30d", fromChain, "Settled to the service in 30 UTC days. What several services share is divided.",
		func(d *site.ServiceDetail) *site.Decimal { return d.Assessment.Traction.VolumeUSD30d }),
	service("settlements_30d", Integer, "settlements", fromChain, "Settlements to the service in 30 UTC days.", false,
		func(d *site.ServiceDetail) Value { return intOrNull(d.Assessment.Traction.TxCount30d) }),
	usdOf("organic_volume_usd_30d", fromChain, "Part of volume_usd_30d that neither relatives nor scouts paid.",
		func(d *site.ServiceDetail) *site.Decimal { return d.Assessment.Traction.OrganicVolumeUSD30d }),
	service("organic_settlements_30d", Integer, "settlements", fromChain,
		"Settlements of settlements_30d that neither relatives nor scouts paid.", false,
		func(d *site.ServiceDetail) Value { return intOrNull(d.Assessment.Traction.OrganicTxCount30d) }),
	service("buyers_30d", Integer, "buyers", fromChain, "Different payers that settlements of 30 UTC days name.", false,
		func(d *site.ServiceDetail) Value { return intOrNull(d.Assessment.Traction.UniqueBuyers30d) }),
	service("organic_buyers_30d", Integer, "buyers", fromChain,
		"Buyers of buyers_30d that are neither relatives nor scouts.", false,
		func(d *site.ServiceDetail) Value { return intOrNull(d.Assessment.Traction.OrganicBuyers30d) }),
	service("returning_buyers_30d", Integer, "buyers", fromChain,
		"Organic buyers that paid on two or more UTC days.", false,
		func(d *site.ServiceDetail) Value { return intOrNull(d.Assessment.Traction.ReturningBuyers30d) }),
	usdOf("volume_usd_all", fromChain, "Settled to the service since it is measured.",
		func(d *site.ServiceDetail) *site.Decimal { return d.Assessment.Traction.VolumeUSDAllTime }),
	service("settlements_all", Integer, "settlements", fromChain, "Settlements to the service since it is measured.",
		false,
		func(d *site.ServiceDetail) Value { return intOrNull(d.Assessment.Traction.TxCountAllTime) }),
	service("listed_by", JSON, "", fromPublic, "Names of the public sources that list the service now.", true,
		listedBy),
)

// service returns a column of a service's detail.
func service(name string, kind Kind, unit, source, description string, required bool,
	of func(*site.ServiceDetail) Value) field[*site.Listing] {
	return field[*site.Listing]{
		Column{Name: name, Kind: kind, Required: required, Unit: unit, Description: description, Source: source},
		func(l *site.Listing) Value { return of(&l.Detail) },
	}
}

// percent returns a column with a percentage.
func percent(name, description string, of func(*site.ServiceDetail) *float64) field[*site.Listing] {
	return field[*site.Listing]{
		Column{Name: name, Kind: Decimal, Scale: 2, Unit: "percent", Description: description, Source: fromJudgment},
		func(l *site.Listing) Value { return percentOrNull(of(&l.Detail)) },
	}
}

// usdOf returns a column with dollars.
func usdOf(name, source, description string, of func(*site.ServiceDetail) *site.Decimal) field[*site.Listing] {
	return field[*site.Listing]{
		usdColumn(name, source, description), func(l *site.Listing) Value { return usdOrNull(of(&l.Detail)) },
	}
}

func usdColumn(name, source, description string) Column {
	return Column{Name: name, Kind: Decimal, Scale: usdScale, Unit: "US dollars", Description: description,
		Source: source}
}

func failedChecks(d *site.ServiceDetail) Value {
	failed := []string{}
	for _, c := range d.Assessment.Compliance.Checks {
		if !c.Pass {
			failed = append(failed, c.ID)
		}
	}
	return newJSON(failed)
}

func riskFlags(d *site.ServiceDetail) Value {
	flags := []string{}
	for _, f := range d.Assessment.Risk.Flags {
		flags = append(flags, f.Code)
	}
	return newJSON(flags)
}

func listedBy(d *site.ServiceDetail) Value {
	names := []string{}
	for _, l := range d.ListedBy {
		if l.Until == nil {
			names = append(names, l.Source)
		}
	}
	return newJSON(names)
}

// Endpoint is an endpoint of a service: one that is active, as judged, or else the fact that it was.
type Endpoint struct {
	Slug   string
	Active *site.Endpoint // nil for an inactive endpoint
	Past   *postgres.EndpointFacts
}

// EndpointsOf returns the endpoints of a service: active ones as judged, then the others among its facts.
func EndpointsOf(l *site.Listing, facts []postgres.EndpointFacts) []Endpoint {
	list := make([]Endpoint, 0, len(l.Detail.Endpoints))
	active := map[string]bool{}
	for i := range l.Detail.Endpoints {
		e := &l.Detail.Endpoints[i]
		active[e.ID] = true
		list = append(list, Endpoint{Slug: l.Detail.Slug, Active: e})
	}
	for i := range facts {
		if e := &facts[i]; !active[e.ID.String()] {
			list = append(list, Endpoint{Slug: l.Detail.Slug, Past: e})
		}
	}
	return list
}

// Endpoints makes the table of endpoints, also of those that do not answer any more.
var Endpoints = newMaker(
	Table{
		Name: "endpoints", Description: "Endpoints of listed services; of inactive ones prices and networks are null.",
		Key: []string{"endpoint_id"}, References: []Reference{{"slug", "services", "slug"}},
	},
	endpoint(Column{Name: "endpoint_id", Required: true, Source: fromOperator, Description: "ID of the endpoint."},
		func(e *site.Endpoint) Value { return NewText(e.ID) },
		func(e *postgres.EndpointFacts) Value { return NewText(e.ID.String()) }),
	field[Endpoint]{slugColumn(fromOperator), func(e Endpoint) Value { return NewText(e.Slug) }},
	endpoint(Column{Name: "method", Required: true, Source: fromVisits, Description: "HTTP method."},
		func(e *site.Endpoint) Value { return NewText(e.Method) },
		func(e *postgres.EndpointFacts) Value { return NewText(e.Method) }),
	endpoint(Column{Name: "path", Required: true, Source: fromOperator,
		Description: "Path below the service's base URL; a fragment names a tool of an MCP server."},
		func(e *site.Endpoint) Value { return NewText(e.Path) },
		func(e *postgres.EndpointFacts) Value { return NewText(e.Path) }),
	endpoint(Column{Name: "description", Source: fromVisits, Description: "What the endpoint says it does."},
		func(e *site.Endpoint) Value { return textOrNull(e.Description) },
		func(e *postgres.EndpointFacts) Value { return textOrNull(e.Description) }),
	endpoint(Column{Name: "mime_type", Source: fromVisits, Description: "Media type of the paid answer."},
		func(e *site.Endpoint) Value { return textOrNull(e.MimeType) },
		func(e *postgres.EndpointFacts) Value { return textOrNull(e.MimeType) }),
	endpoint(Column{Name: "is_active", Kind: Boolean, Required: true, Source: fromJudgment,
		Description: "Whether it asked for payment lately."},
		func(*site.Endpoint) Value { return newBool(true) },
		func(*postgres.EndpointFacts) Value { return newBool(false) }),
	endpoint(Column{Name: "first_seen_at", Kind: Timestamp, Required: true, Source: fromVisits,
		Description: "When the endpoint was listed."},
		func(e *site.Endpoint) Value { return newTime(e.FirstSeenAt.Time) },
		func(e *postgres.EndpointFacts) Value { return newTime(e.FirstSeenAt) }),
	endpoint(Column{Name: "last_paid_at", Kind: Timestamp, Source: fromVisits,
		Description: "When it last asked for payment; for an active endpoint that never did, when it was listed."},
		func(e *site.Endpoint) Value { return newTime(e.LastSeenAt.Time) },
		func(e *postgres.EndpointFacts) Value { return instantOrNull(e.LastPaidAt) }),
	endpoint(Column{Name: "variable_amount", Kind: Boolean, Source: fromJudgment,
		Description: "Whether its prices are maxima."},
		func(e *site.Endpoint) Value { return newBool(e.VariableAmount) }, nil),
	endpoint(usdColumn("min_price_usd", fromJudgment, "Lowest counted price."),
		func(e *site.Endpoint) Value { return usdOrNull(e.MinPriceUSD) }, nil),
	endpoint(Column{Name: "price_condition", Source: fromJudgment,
		Description: "What a buyer needs before that price can be paid."},
		func(e *site.Endpoint) Value { return textOrNull(e.PriceCondition) }, nil),
	endpoint(Column{Name: "networks", Kind: JSON, Source: fromJudgment, Description: "As in services."},
		func(e *site.Endpoint) Value { return newJSON(e.Networks) }, nil),
	endpoint(Column{Name: "protocol", Source: fromVisits,
		Description: "Protocol of its first price: x402, mpp, l402 or crawler-price."},
		func(e *site.Endpoint) Value { return textOrNull(e.Protocol) }, nil),
	endpoint(Column{Name: "verdict_level", Source: fromJudgment,
		Description: "Whether it may be paid, as advice_level of services."},
		func(e *site.Endpoint) Value { return verdictLevel(&e.Verdict) }, nil),
	endpoint(Column{Name: "verdict_codes", Kind: JSON, Source: fromJudgment,
		Description: "Codes of the main reasons for verdict_level."},
		func(e *site.Endpoint) Value { return verdictCodes(&e.Verdict) }, nil),
)

// verdictLevel returns the level of a verdict. A service that is set aside may have none.
func verdictLevel(a *site.Advice) Value { return NewText(cmp.Or(a.Level, site.AdviceUnknown)) }

// verdictCodes returns the codes of the reasons for a verdict.
func verdictCodes(a *site.Advice) Value {
	codes := []string{}
	for _, r := range a.Reasons {
		codes = append(codes, r.Code)
	}
	return newJSON(codes)
}

// endpoint returns a column of endpoints; past is nil if the value of an inactive endpoint is null.
func endpoint(c Column, active func(*site.Endpoint) Value, past func(*postgres.EndpointFacts) Value) field[Endpoint] {
	return field[Endpoint]{c, func(e Endpoint) Value {
		switch {
		case e.Active != nil:
			return active(e.Active)
		case past == nil:
			return Value{}
		}
		return past(e.Past)
	}}
}
