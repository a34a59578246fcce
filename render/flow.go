package render

import (
	"tollbook/render/money"
	"tollbook/site"
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
		Body: money.NewFlow(&e.snapshot.Flow, e.flowKey),
	})
}

// flowKey returns the key of the page of a node, "" without one.
func (e *Renderer) flowKey(n *site.FlowNode) string {
	switch n.Kind {
	case site.FlowFacilitator:
		if e.facilitators[n.Key] != nil {
			return facilitatorKey(n.Key)
		}
	case site.FlowNetwork:
		return e.network(n.Key).Key
	case site.FlowCategory:
		return e.shared.GroupKeys[n.Key]
	case site.FlowService:
		return serviceKey(n.Key)
	}
	return ""
}
