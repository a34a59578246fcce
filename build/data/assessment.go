package data

import (
	"tollbook/site/postgres/bulk"
)

// Assessments makes the table of what the directory published of services by day.
var Assessments = newMaker(
	Table{
		Name: "assessments",
		Description: "What the directory published last of a service on a UTC day. Today's judgments are in " +
			"services. Days before the directory recorded them have no rows.",
		Days: true, Recent: true, Key: []string{"slug", "day"}, Sort: []string{"slug", "day"},
		References: []Reference{slugReference},
	},
	assessed(slugColumn(fromOperator), func(a *bulk.Assessment) Value { return NewText(a.Slug) }),
	assessed(dayColumn, func(a *bulk.Assessment) Value { return newDate(a.Day) }),
	assessed(Column{Name: "grade", Required: true, Source: fromJudgment, Description: "A, B, C, D, F or unknown."},
		func(a *bulk.Assessment) Value { return NewText(a.Grade) }),
	assessed(Column{Name: "checks", Kind: Integer, Required: true, Unit: "checks", Source: fromJudgment,
		Description: "Compliance checks."}, func(a *bulk.Assessment) Value { return newInt(a.Checks) }),
	assessed(Column{Name: "failed_checks", Kind: JSON, Required: true, Source: fromJudgment,
		Description: "IDs of the checks that failed."}, func(a *bulk.Assessment) Value { return listOf(a.Failed) }),
	assessed(Column{Name: "risk_level", Required: true, Source: fromJudgment, Description: "clean, warning or danger."},
		func(a *bulk.Assessment) Value { return NewText(a.RiskLevel) }),
	assessed(Column{Name: "risk_flags", Kind: JSON, Required: true, Source: fromJudgment,
		Description: "Codes of the reasons for the risk level, the most serious first."},
		func(a *bulk.Assessment) Value { return listOf(a.RiskFlags) }),
	assessed(usdColumn("min_price_usd", fromJudgment, "Lowest counted price; null without one."), lowestPrice),
	assessed(Column{Name: "response_p95_ms", Kind: Integer, Unit: "milliseconds", Source: fromJudgment,
		Description: "95 % of the responses of 7 days were not slower; null without response times."},
		func(a *bulk.Assessment) Value { return intOrNull(a.ResponseP95MS) }),
	assessed(Column{Name: "methodology", Kind: Integer, Required: true, Source: fromJudgment,
		Description: "Version of the rules that judged."},
		func(a *bulk.Assessment) Value { return newInt(a.Methodology) }),
	assessed(Column{Name: "verdict_level", Source: fromJudgment,
		Description: "good, caution, unknown or do_not_pay; null before it was recorded."},
		func(a *bulk.Assessment) Value { return textOrNull(a.Verdict) }),
)

func assessed(c Column, of func(*bulk.Assessment) Value) field[*bulk.Assessment] {
	return field[*bulk.Assessment]{c, of}
}

// listOf returns a list, empty for nil.
func listOf(list []string) Value { return newJSON(append([]string{}, list...)) }

func lowestPrice(a *bulk.Assessment) Value {
	if a.MinPriceUSD == nil {
		return Value{}
	}
	return newDecimal(*a.MinPriceUSD, usdScale)
}
