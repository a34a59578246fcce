package data

import (
	"strings"

	"tollbook/site/postgres/bulk"
)

var dayColumn = Column{Name: "day", Kind: Date, Required: true, Source: fromVisits, Description: "UTC day."}

// Checks makes the table of visits.
var Checks = newMaker(
	Table{
		Name: "checks", Description: "Visits of services, one row each.", Days: true, Retention: 30,
		Key: []string{"check_id"}, Sort: []string{"slug", "checked_at", "check_id"},
		References: []Reference{slugReference},
	},
	check(slugColumn(fromOperator), func(c *bulk.Check) Value { return NewText(c.Slug) }),
	check(Column{Name: "checked_at", Kind: Timestamp, Required: true, Source: fromVisits,
		Description: "When it ended."},
		func(c *bulk.Check) Value { return newTime(c.CheckedAt) }),
	check(Column{Name: "check_id", Required: true, Source: fromVisits, Description: "ID of the visit."},
		func(c *bulk.Check) Value { return NewText(c.ID) }),
	check(Column{Name: "counted", Kind: Boolean, Required: true, Source: fromVisits,
		Description: "Whether it counts in uptime, response times and failures."},
		func(c *bulk.Check) Value { return newBool(c.Counted) }),
	check(Column{Name: "is_up", Kind: Boolean, Required: true, Source: fromVisits,
		Description: "Whether an endpoint asked for payment."},
		func(c *bulk.Check) Value { return newBool(c.IsUp && c.Counted) }),
	check(Column{Name: "status", Source: fromVisits,
		Description: "What the visit found: online, degraded or offline; null before the first that counts."},
		func(c *bulk.Check) Value { return textOrNull(c.Status) }),
	check(Column{Name: "status_code", Kind: Integer, Source: fromVisits,
		Description: "HTTP status of the first response; null without one."},
		func(c *bulk.Check) Value { return intOrNull(c.StatusCode) }),
	check(Column{Name: "response_time_ms", Kind: Integer, Unit: "milliseconds", Source: fromVisits,
		Description: "Median time to the response headers, without opening the connection; null without a response."},
		func(c *bulk.Check) Value { return intOrNull(c.ResponseTimeMS) }),
	check(Column{Name: "endpoints_found", Kind: Integer, Required: true, Unit: "endpoints", Source: fromVisits,
		Description: "Endpoints that asked for payment."},
		func(c *bulk.Check) Value { return newInt(c.EndpointsFound) }),
	check(Column{Name: "error_message", Source: fromVisits, Description: "What went wrong; null if nothing did."},
		func(c *bulk.Check) Value { return textOrNull(c.ErrorMessage) }),
	check(Column{Name: "uncounted_reason", Source: fromVisits, Description: "Why it does not count; null if it does."},
		func(c *bulk.Check) Value { return textOrNull(c.UncountedReason) }),
)

func check(c Column, of func(*bulk.Check) Value) field[*bulk.Check] { return field[*bulk.Check]{c, of} }

// Uptime makes the table of sums of visits by day.
var Uptime = newMaker(
	Table{
		Name: "uptime", Description: "What is known of a service on a UTC day. Uptime is 100 × up_ms / known_ms.",
		Days: true, Open: true, Recent: true, Key: []string{"slug", "day"}, Sort: []string{"slug", "day"},
		References: []Reference{slugReference},
	},
	uptime(slugColumn(fromOperator), func(u *bulk.Uptime) Value { return NewText(u.Slug) }),
	uptime(dayColumn, func(u *bulk.Uptime) Value { return newDate(u.Day) }),
	uptime(Column{Name: "checks", Kind: Integer, Required: true, Unit: "visits", Source: fromVisits,
		Description: "All visits."}, func(u *bulk.Uptime) Value { return newInt(u.Checks) }),
	uptime(Column{Name: "counted", Kind: Integer, Required: true, Unit: "visits", Source: fromVisits,
		Description: "Visits that count."}, func(u *bulk.Uptime) Value { return newInt(u.Counted) }),
	uptime(Column{Name: "up", Kind: Integer, Required: true, Unit: "visits", Source: fromVisits,
		Description: "Counted visits that were up."}, func(u *bulk.Uptime) Value { return newInt(u.Up) }),
	uptime(Column{Name: "timed", Kind: Integer, Required: true, Unit: "visits", Source: fromVisits,
		Description: "Counted visits with a response time."}, func(u *bulk.Uptime) Value { return newInt(u.Timed) }),
	uptime(Column{Name: "response_ms", Kind: Integer, Required: true, Unit: "milliseconds", Source: fromVisits,
		Description: "Sum of the response times of the timed visits."},
		func(u *bulk.Uptime) Value { return newInt(u.ResponseMS) }),
	uptime(Column{Name: "known_ms", Kind: Integer, Required: true, Unit: "milliseconds", Source: fromVisits,
		Description: "Time in which it was known whether the service was up, up to the last full hour."},
		func(u *bulk.Uptime) Value { return newInt(u.KnownMS) }),
	uptime(Column{Name: "up_ms", Kind: Integer, Required: true, Unit: "milliseconds", Source: fromVisits,
		Description: "Time of known_ms in which the service was up."},
		func(u *bulk.Uptime) Value { return newInt(u.UpMS) }),
)

func uptime(c Column, of func(*bulk.Uptime) Value) field[*bulk.Uptime] {
	return field[*bulk.Uptime]{c, of}
}

// Changes makes the table of changes of what services ask for.
var Changes = newMaker(
	Table{
		Name: "changes", Description: "Changes of terms, prices, recipients, grades and listings of services.",
		Days: true, Open: true, Recent: true, Key: []string{"number"}, Sort: []string{"number"},
		References: []Reference{slugReference},
	},
	changed(Column{Name: "number", Kind: Integer, Required: true, Source: fromVisits,
		Description: "Number in the log of all changes, from 0."},
		func(c *bulk.Change) Value { return newInt(c.Number) }),
	changed(slugColumn(fromOperator), func(c *bulk.Change) Value { return NewText(c.Slug) }),
	changed(Column{Name: "type", Required: true, Source: fromVisits,
		Description: "price_changed, schema_changed, payto_changed, listed, dropped, …"},
		func(c *bulk.Change) Value { return NewText(c.Type) }),
	changed(Column{Name: "observed_at", Kind: Timestamp, Required: true, Source: fromVisits,
		Description: "When the change was observed."}, func(c *bulk.Change) Value { return newTime(c.ObservedAt) }),
	changed(Column{Name: "summary", Kind: JSON, Required: true, Source: fromVisits,
		Description: "What changed, as in /v1/changes."},
		func(c *bulk.Change) Value { return NewJSON(c.Summary) }),
)

func changed(c Column, of func(*bulk.Change) Value) field[*bulk.Change] {
	return field[*bulk.Change]{c, of}
}

// Settlement is a settlement with the number of decimals of its token.
type Settlement struct {
	*bulk.Settlement
	Decimals int // -1 if the token has no known value in dollars
}

// Settlements makes the table of settlements by day, facilitator, network, token, recipient and payer.
var Settlements = newMaker(
	Table{
		Name: "settlements",
		Description: "Payments that known facilitators settled, summed by day, facilitator, network, token, " +
			"recipient and payer. Figures are lower bounds.",
		Days: true, Open: true, Recent: true,
		Key:        []string{"day", "facilitator_id", "network_caip2", "token_address", "payee", "payer"},
		Sort:       []string{"day", "facilitator_id", "network_caip2"},
		References: []Reference{{"facilitator_id", "facilitators", "facilitator_id"}},
	},
	settled(Column{Name: "day", Kind: Date, Required: true, Source: fromChain, Description: "UTC day of the blocks."},
		func(s Settlement) Value { return newDate(s.Day) }),
	settled(Column{Name: "facilitator_id", Required: true, Source: fromFetches, Description: "ID of the facilitator."},
		func(s Settlement) Value { return NewText(s.Facilitator) }),
	settled(Column{Name: "network_caip2", Required: true, Source: fromChain, Description: "CAIP-2 ID of the network."},
		func(s Settlement) Value { return NewText(s.Network) }),
	settled(Column{Name: "token_address", Required: true, Source: fromChain,
		Description: "Address of the token, as its chain writes it."},
		func(s Settlement) Value { return NewText(spell(&s.Network, s.Token)) }),
	settled(Column{Name: "payee", Required: true, Source: fromChain,
		Description: "Account of the recipient, as its chain writes it; compare with pay_to of prices."},
		func(s Settlement) Value { return NewText(spell(&s.Network, s.Payee)) }),
	settled(Column{Name: "payer", Kind: Integer, Required: true, Source: fromChain,
		Description: "Number of the payer among those who paid this recipient on this day, from 1; 0 for " +
			"redemptions of batch settlement, whose payers are unknown. Numbers of other days or recipients are " +
			"not comparable."},
		func(s Settlement) Value { return newInt(s.Payer) }),
	settled(Column{Name: "settlements", Kind: Integer, Required: true, Unit: "settlements", Source: fromChain,
		Description: "Number of settlements."},
		func(s Settlement) Value { return newInt(s.Settlement.Settlements) }),
	settled(Column{Name: "amount", Kind: Decimal, Unit: "atomic units of the token", Source: fromChain,
		Description: "Sum of the amounts; null if it has more than 38 digits."},
		func(s Settlement) Value { return newDecimal(s.Amount, 0) }),
	settled(amountText, func(s Settlement) Value { return unlessDecimal(s.Amount) }),
	settled(usdColumn("volume_usd", fromJudgment,
		"The amount in dollars; null on test networks, for tokens without a known value, and for facilitators whose "+
			"accounts are not confirmed."), volumeUSD),
)

func settled(c Column, of func(Settlement) Value) field[Settlement] { return field[Settlement]{c, of} }

func volumeUSD(s Settlement) Value {
	if s.Decimals < 0 || strings.Contains(s.Amount, ".") {
		return Value{}
	}
	return newDecimal(shiftPoint(s.Amount, s.Decimals), usdScale)
}
