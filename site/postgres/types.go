package postgres

import (
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/consent"
)

// Package checks describes the types of visits and of their facts. Callers of DB and Reader find them here.
type (
	Response        = checks.Response
	Change          = checks.Change
	ChangeBlock     = checks.ChangeBlock
	ChangeDay       = checks.ChangeDay
	ChangeLogFacts  = checks.ChangeLogFacts
	Check           = checks.Check
	DaySum          = checks.DaySum
	FailureRun      = checks.FailureRun
	EndpointVisit   = checks.EndpointVisit
	Envelope        = checks.Envelope
	Exchange        = checks.Exchange
	LogBlock        = checks.LogBlock
	LogFacts        = checks.LogFacts
	PackBlock       = checks.PackBlock
	Offer           = checks.Offer
	OfferSet        = checks.OfferSet
	FormerRecipient = checks.FormerRecipient
	Phases          = checks.Phases
	Price           = checks.Price
	PriceDay        = checks.PriceDay
	PriceSpan       = checks.PriceSpan
	Rollup          = checks.Rollup
	Visit           = checks.Visit
)

// Package consent describes what hosts allow.
type (
	OptOut      = consent.OptOut
	OptOutError = consent.Error
	Robots      = consent.Robots
)
