package data

import (
	"tollbook/site"
)

// Facilitators makes the table of facilitators.
var Facilitators = newMaker(
	Table{
		Name: "facilitators", Description: "Facilitators, with what their settlers settled. Figures are lower bounds.",
		Key: []string{"facilitator_id"}, Sort: []string{"facilitator_id"},
	},
	facilitator(Column{Name: "facilitator_id", Required: true, Source: fromFetches, Description: "ID."},
		func(f *site.FacilitatorDetail) Value { return NewText(f.FacilitatorID) }),
	facilitator(Column{Name: "name", Required: true, Source: fromFetches, Description: "Name."},
		func(f *site.FacilitatorDetail) Value { return NewText(f.Name) }),
	facilitator(Column{Name: "website_url", Required: true, Source: fromFetches, Description: "URL for people."},
		func(f *site.FacilitatorDetail) Value { return NewText(f.WebsiteURL) }),
	facilitator(Column{Name: "facilitator_url", Source: fromFetches, Description: "Base URL of its API."},
		func(f *site.FacilitatorDetail) Value { return textOrNull(f.FacilitatorURL) }),
	facilitator(Column{Name: "verification", Required: true, Source: fromJudgment,
		Description: "on-chain if its settlements count, else listed."},
		func(f *site.FacilitatorDetail) Value { return NewText(f.Verification) }),
	facilitator(Column{Name: "settler_count", Kind: Integer, Required: true, Unit: "accounts", Source: fromFetches,
		Description: "Accounts that it settles from."},
		func(f *site.FacilitatorDetail) Value { return newInt(f.SettlerCount) }),
	facilitator(Column{Name: "last_activity_at", Kind: Timestamp, Source: fromChain,
		Description: "Time of its newest settlement; null if none was observed."},
		func(f *site.FacilitatorDetail) Value { return timeOrNull(f.LastActivityAt) }),
	volume("volume_usd_24h", "24 full hours and the current one",
		func(f *site.FacilitatorDetail) *site.Decimal { return &f.VolumeUSD24h }),
	volume("volume_usd_7d", "7 UTC days, today included",
		func(f *site.FacilitatorDetail) *site.Decimal { return &f.VolumeUSD7d }),
	volume("volume_usd_30d", "30 UTC days, today included",
		func(f *site.FacilitatorDetail) *site.Decimal { return &f.VolumeUSD30d }),
	volume("volume_usd_all", "all time", func(f *site.FacilitatorDetail) *site.Decimal { return &f.VolumeUSDAll }),
	settlements("settlements_24h", func(f *site.FacilitatorDetail) int64 { return f.TxCount24h }),
	settlements("settlements_7d", func(f *site.FacilitatorDetail) int64 { return f.TxCount7d }),
	settlements("settlements_30d", func(f *site.FacilitatorDetail) int64 { return f.TxCount30d }),
	settlements("settlements_all", func(f *site.FacilitatorDetail) int64 { return f.TxCountAll }),
)

func facilitator(c Column, of func(*site.FacilitatorDetail) Value) field[*site.FacilitatorDetail] {
	return field[*site.FacilitatorDetail]{c, of}
}

func volume(name, window string, of func(*site.FacilitatorDetail) *site.Decimal) field[*site.FacilitatorDetail] {
	return facilitator(usdColumn(name, fromChain, "Settled on main networks over "+window+"."),
		func(f *site.FacilitatorDetail) Value { return usdOrNull(of(f)) })
}

func settlements(name string, of func(*site.FacilitatorDetail) int64) field[*site.FacilitatorDetail] {
	return facilitator(Column{Name: name, Kind: Integer, Required: true, Unit: "settlements", Source: fromChain,
		Description: "Settlements on main networks over the same time as the volume."},
		func(f *site.FacilitatorDetail) Value { return newInt(of(f)) })
}

// Settler is an account of a facilitator.
type Settler struct {
	Facilitator string
	*site.FacilitatorSettler
}

// SettlersOf returns the settlers of all facilitators.
func SettlersOf(list []site.FacilitatorDetail) []Settler {
	var all []Settler
	for i := range list {
		for k := range list[i].Settlers {
			all = append(all, Settler{list[i].FacilitatorID, &list[i].Settlers[k]})
		}
	}
	return all
}

// Settlers makes the table of accounts that facilitators settle from.
var Settlers = newMaker(
	Table{
		Name: "settlers", Description: "Accounts that facilitators settle payments from, and marks of payments.",
		Key:        []string{"network_caip2", "address"},
		References: []Reference{{"facilitator_id", "facilitators", "facilitator_id"}},
	},
	settler(Column{Name: "facilitator_id", Required: true, Source: fromFetches, Description: "ID of the facilitator."},
		func(s Settler) Value { return NewText(s.Facilitator) }),
	settler(Column{Name: "network_caip2", Required: true, Source: fromFetches,
		Description: "CAIP-2 ID of the network."},
		func(s Settler) Value { return NewText(s.NetworkCAIP2) }),
	settler(Column{Name: "network", Required: true, Source: fromJudgment, Description: "Short name of the network."},
		func(s Settler) Value { return NewText(s.Network) }),
	settler(Column{Name: "address", Required: true, Source: fromFetches,
		Description: "Account, as its chain writes it, or a mark such as memo:0xef1ed71201."},
		func(s Settler) Value { return NewText(s.Address) }),
	settler(Column{Name: "kind", Required: true, Source: fromFetches, Description: "account; or memo or source_tag, " +
		"which are marks that any payer can write."}, func(s Settler) Value { return NewText(s.Kind) }),
	settler(Column{Name: "tokens", Kind: JSON, Required: true, Source: fromFetches,
		Description: "Addresses of the tokens that it settles."}, func(s Settler) Value { return newJSON(s.Tokens) }),
	settler(Column{Name: "since", Kind: Timestamp, Source: fromFetches,
		Description: "Settlements before are not counted; null if unknown."},
		func(s Settler) Value { return timeOrNull(s.Since) }),
	settler(Column{Name: "deprecated", Kind: Boolean, Required: true, Source: fromFetches,
		Description: "Whether it settles no more."}, func(s Settler) Value { return newBool(s.Deprecated) }),
)

func settler(c Column, of func(Settler) Value) field[Settler] { return field[Settler]{c, of} }

// PublicSources makes the table of public sources.
var PublicSources = newMaker(
	Table{
		Name: "sources", Description: "Public catalogues and directories that are read, and what they list.",
		Key: []string{"source"}, Sort: []string{"source"},
	},
	public(Column{Name: "source", Required: true, Source: fromPublic, Description: "Name."},
		func(s *site.Source) Value { return NewText(s.Source) }),
	public(Column{Name: "kind", Required: true, Source: fromPublic, Description: "How its answers are read."},
		func(s *site.Source) Value { return NewText(s.Kind) }),
	public(Column{Name: "address", Required: true, Source: fromPublic, Description: "URL of the first request."},
		func(s *site.Source) Value { return NewText(s.Address) }),
	public(Column{Name: "last_attempt_at", Kind: Timestamp, Required: true, Source: fromPublic,
		Description: "When it was last asked."},
		func(s *site.Source) Value { return newTime(s.LastAttemptAt.Time) }),
	public(Column{Name: "last_success_at", Kind: Timestamp, Source: fromPublic,
		Description: "When it was last read to its end; null for never."},
		func(s *site.Source) Value { return timeOrNull(s.LastSuccessAt) }),
	public(Column{Name: "resource_count", Kind: Integer, Required: true, Unit: "URLs", Source: fromPublic,
		Description: "Different URLs that it lists now."},
		func(s *site.Source) Value { return newInt(s.ResourceCount) }),
	public(Column{Name: "unique_count", Kind: Integer, Required: true, Unit: "URLs", Source: fromPublic,
		Description: "Of these, URLs that no other source lists."},
		func(s *site.Source) Value { return newInt(s.UniqueCount) }),
	public(Column{Name: "service_count", Kind: Integer, Required: true, Unit: "services", Source: fromPublic,
		Description: "Listed services with one of its URLs."},
		func(s *site.Source) Value { return newInt(s.ServiceCount) }),
)

func public(c Column, of func(*site.Source) Value) field[*site.Source] {
	return field[*site.Source]{c, of}
}

// Tables lists all tables, in the order in which they are published.
func Tables() []*Table {
	return []*Table{&Services.Table, &ServiceNetworks.Table, &Endpoints.Table, &Prices.Table, &Envelopes.Table,
		&Buyers.Table, &Facilitators.Table, &Settlers.Table, &PublicSources.Table, &Checks.Table, &Uptime.Table,
		&Changes.Table, &Settlements.Table, &Assessments.Table}
}

// TableOf returns the table with a name, nil without one.
func TableOf(name string) *Table {
	for _, t := range Tables() {
		if t.Name == name {
			return t
		}
	}
	return nil
}
