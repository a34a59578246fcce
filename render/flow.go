package render

import (
	"tollbook/render/money"
	"tollbook/site"
	"tollbook/site/display"
)

const (
	kindFlow  = "flow"
	flowRoute = "flow-page"
)

// FlowPage returns flow.html: who pays whom.
func (e *Renderer) FlowPage() ([]byte, error) {
	return e.render(page{
		Key: bareKey(flowRoute, ""), Kind: kindFlow, JSON: bareKey("flow", ""),
		Title: "Payment flow", HasMarkdown: true, Up: breadcrumb{"Facilitators", bareKey(facilitatorsRoute, "")},
		Description: "Where payments go: settlements of 30 days from facilitators over networks and categories to " +
			"services.",
		Body: e.flow(),
	})
}

func (e *Renderer) flow() money.Flow {
	return money.NewFlow(&e.snapshot.Flow, money.FlowWords{Page: e.flowKey, Payers: e.flowPayers})
}

// flowPayers returns how many accounts paid through a facilitator or to a service, in words; "" if that is not known.
// Accounts of a facilitator are counted on each network, so their sum is an upper bound.
func (e *Renderer) flowPayers(n *site.FlowNode) string {
	switch n.Kind {
	case site.FlowFacilitator:
		if f := e.facilitators[n.Key]; f != nil && f.Buyers.TotalUpperBound30d != nil {
			return "up to " + display.Plural(*f.Buyers.TotalUpperBound30d, "payer", "payers")
		}
	case site.FlowService:
		if l := e.service(n.Key); l != nil && l.Trend.Buyers30d != nil {
			return display.Plural(*l.Trend.Buyers30d, "payer", "payers")
		}
	}
	return ""
}

// flowKey returns the key of the page of a node, "" without one.
func (e *Renderer) flowKey(n *site.FlowNode) string {
	switch n.Kind {
	case site.FlowFacilitator:
		if e.facilitators[n.Key] != nil {
			return facilitatorKey(n.Key)
		}
	case site.FlowNetwork:
		return e.shared.Networks.Chip(n.Key).Key
	case site.FlowCategory:
		return e.shared.Categories[n.Key]
	case site.FlowService:
		return serviceKey(n.Key)
	}
	return ""
}
