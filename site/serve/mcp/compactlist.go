package mcp

import (
	"encoding/json"

	"tollbook/site"
)

// changeRow is a compact change record, without the payment options before and after.
type changeRow struct {
	Slug        string    `json:"slug"`
	Name        string    `json:"name"`
	Type        string    `json:"type"`
	ObservedAt  site.Time `json:"observed_at"`
	Changes     []string  `json:"changes"` // prices are in atomic units, addresses abbreviated
	MoreChanges int       `json:"more_changes,omitempty"`
}

func compactChanges(v *site.List[site.ChangeRecord, json.RawMessage], limit size) any {
	return compactList[changeRow]{Meta: v.Meta, Data: rowsOf(v.Data, func(c *site.ChangeRecord) changeRow {
		lines, omitted := changeLines(c)
		n := min(len(lines), max(min(limit.rows, 3), 1))
		row := changeRow{Slug: c.Slug, Name: cut(c.Name, limit.name), Type: c.Type, ObservedAt: c.ObservedAt,
			Changes: []string{}, MoreChanges: len(lines) - n + omitted}
		for _, line := range lines[:n] {
			row.Changes = append(row.Changes, cut(line, limit.text))
		}
		return row
	})}
}

// changeLines returns a line for each change of a record, and how many changes the record leaves out. A summary of an
// unknown form has none.
func changeLines(c *site.ChangeRecord) (lines []string, omitted int) {
	var schema site.SchemaSummary
	var s struct {
		PriceChanges []site.PriceChange
		PayToChanges []site.RecipientChange
		Omitted      site.Omitted
	}
	if json.Unmarshal(c.Summary, &schema) != nil || json.Unmarshal(c.Summary, &s) != nil {
		return nil, 0
	}
	for _, p := range s.PriceChanges {
		lines = append(lines, p.Endpoint+" "+p.Network+" "+p.AssetName+": "+p.OldPrice+" → "+p.NewPrice)
	}
	for _, p := range s.PayToChanges {
		lines = append(lines, p.Endpoint+" "+p.Network+": "+abbreviate(p.OldPayTo)+" → "+abbreviate(p.NewPayTo))
	}
	for _, list := range []struct {
		what  string
		lines []string
	}{
		{"endpoint added: ", schema.EndpointsAdded}, {"endpoint removed: ", schema.EndpointsRemoved},
		{"option added: ", schema.SchemaAdded}, {"option removed: ", schema.SchemaRemoved},
	} {
		for _, line := range list.lines {
			lines = append(lines, list.what+line)
		}
	}
	return lines, max(0, s.Omitted.Differences)
}

// abbreviate returns a recipient without its middle, or "none".
func abbreviate(address *string) string {
	if address == nil {
		return "none"
	}
	return site.Abbreviate(*address)
}

// facilitatorRow is a compact facilitator. Volume and settlements are those of the timeframe in meta.
type facilitatorRow struct {
	FacilitatorID  string       `json:"facilitator_id"`
	Name           string       `json:"name"`
	VolumeUSD      site.Decimal `json:"volume_usd"`
	TxCount        int64        `json:"tx_count"`
	LastActivityAt *site.Time   `json:"last_activity_at"`
	Verification   string       `json:"verification"`
}

func compactFacilitators(v *site.List[site.FacilitatorListItem, site.FacilitatorPaginationMeta], limit size) any {
	rows := rowsOf(v.Data, func(f *site.FacilitatorListItem) facilitatorRow {
		counts := map[string]int64{site.Timeframe24h: f.TxCount24h, site.Timeframe7d: f.TxCount7d,
			site.Timeframe30d: f.TxCount30d, site.TimeframeAll: f.TxCountAll}
		return facilitatorRow{f.FacilitatorID, cut(f.Name, limit.name), f.Volume(v.Meta.Timeframe),
			counts[v.Meta.Timeframe], f.LastActivityAt, f.Verification}
	})
	return compactList[facilitatorRow]{Data: rows, Meta: v.Meta}
}

// facilitatorRecord is the compact form of one facilitator, without its days and tokens.
type facilitatorRecord struct {
	FacilitatorID  string                    `json:"facilitator_id"`
	Name           string                    `json:"name"`
	WebsiteURL     string                    `json:"website_url"`
	VolumeUSD7d    site.Decimal              `json:"volume_usd_7d"`
	VolumeUSD30d   site.Decimal              `json:"volume_usd_30d"`
	VolumeUSDAll   site.Decimal              `json:"volume_usd_all"`
	TxCount30d     int64                     `json:"tx_count_30d"`
	LastActivityAt *site.Time                `json:"last_activity_at"`
	Verification   string                    `json:"verification"`
	Settlers       []settlerRow              `json:"settlers"`
	MoreSettlers   int                       `json:"more_settlers,omitempty"`
	ServiceCount   int                       `json:"service_count"`
	Services       []site.FacilitatorService `json:"services"`
}

// settlerRow is an account that sends a facilitator's settlements.
type settlerRow struct {
	Network string `json:"network"` // CAIP-2 id
	Address string `json:"address"`
}

func compactFacilitator(v *site.One[site.FacilitatorDetail], limit size) any {
	f := &v.Data
	r := facilitatorRecord{
		FacilitatorID: f.FacilitatorID, Name: cut(f.Name, limit.name), WebsiteURL: cut(f.WebsiteURL, maxAddressText),
		VolumeUSD7d: f.VolumeUSD7d, VolumeUSD30d: f.VolumeUSD30d, VolumeUSDAll: f.VolumeUSDAll,
		TxCount30d: f.TxCount30d, LastActivityAt: f.LastActivityAt, Verification: f.Verification,
		ServiceCount: f.ServiceCount,
	}
	shown, more := limit.first(len(f.Settlers))
	r.MoreSettlers = more
	r.Settlers = rowsOf(f.Settlers[:shown], func(s *site.FacilitatorSettler) settlerRow {
		return settlerRow{s.NetworkCAIP2, s.Address}
	})
	shown, _ = limit.first(len(f.Services))
	r.Services = rowsOf(f.Services[:shown], func(s *site.FacilitatorService) site.FacilitatorService {
		return site.FacilitatorService{Slug: s.Slug, Name: cut(s.Name, limit.name), VolumeUSD30d: s.VolumeUSD30d,
			TxCount30d: s.TxCount30d}
	})
	return compactOne[facilitatorRecord]{Data: r}
}

// networkRow is a compact network.
type networkRow struct {
	Abbreviation string `json:"abbreviation"`
	Name         string `json:"name"`
	CAIP2        string `json:"caip2"`
	ServiceCount int    `json:"service_count"`
	Testnet      bool   `json:"testnet,omitempty"`
}

func compactNetworks(v *site.One[[]site.Network], limit size) any {
	return compactList[networkRow]{Data: rowsOf(v.Data, func(n *site.Network) networkRow {
		return networkRow{n.Abbreviation, cut(n.Name, limit.name), n.CAIP2, n.ServiceCount, n.Testnet}
	})}
}

// coverageRecord is the compact form of the report on what is measured, without its days and accounts.
type coverageRecord struct {
	AsOf              site.Time          `json:"as_of"`
	Networks          []coverageRow      `json:"networks"`
	MoreNetworks      int                `json:"more_networks,omitempty"`
	CandidateSettlers int                `json:"candidate_settler_count"`
	Volume30d         site.VolumeQuality `json:"volume_30d"`
	ServiceCount      int                `json:"service_count"`
	OperatorCount     int                `json:"operator_count"`
}

// coverageRow is a network and up to when its settlements are read.
type coverageRow struct {
	Network       string     `json:"network"`
	NetworkCAIP2  string     `json:"network_caip2"`
	ServiceCount  int        `json:"service_count"`
	Measured      bool       `json:"measured"`
	MeasuredSince *site.Time `json:"measured_since"`
	AgeSeconds    *int64     `json:"age_seconds,omitempty"`
}

func compactCoverage(v *site.One[site.CoverageReport], limit size) any {
	c := &v.Data
	shown, more := limit.first(len(c.Networks))
	rows := rowsOf(c.Networks[:shown], func(n *site.NetworkCoverage) coverageRow {
		row := coverageRow{n.Network, n.NetworkCAIP2, n.ServiceCount, n.Measured, n.MeasuredSince, nil}
		if n.Cursor != nil {
			row.AgeSeconds = n.Cursor.AgeSeconds
		}
		return row
	})
	return compactOne[coverageRecord]{Data: coverageRecord{c.AsOf, rows, more, len(c.CandidateSettlers), c.Volume30d,
		c.Operators.ServiceCount, c.Operators.OperatorCount}}
}
