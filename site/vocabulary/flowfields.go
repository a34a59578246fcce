package vocabulary

import "tollbook/site"

// flowFields describes the fields of who pays whom. Its keys are those of serviceFields.
var flowFields = map[string]Field{
	"NetworkCoverage.facilitators": {
		About: "Facilitators that settled there in 60 UTC days, largest volume of 30 days first; none unless the " +
			"network is measured",
	},
	"NetworkFacilitator.name":           {About: "Name of the facilitator"},
	"NetworkFacilitator.volume_usd_30d": {About: "Volume on the network in 30 UTC days, including today, in USD"},
	"NetworkFacilitator.tx_count_30d":   {About: "Number of settlements on the network in 30 UTC days"},
	"volume_usd_prev_30d":               {About: "Volume on the network in the 30 UTC days before, in USD"},
	"trend_30d_vs_prev_30d": {
		About: "Volume of 30 days divided by that of the 30 before; 1 is steady. Null without volume in the days " +
			"before, and until 60 days after the facilitator's first settlement on the network",
	},

	"Flow.volume_usd_30d": {About: "Volume of all nodes of a column in USD; null unless a network is measured"},
	"Flow.tx_count_30d":   {About: "Number of settlements of all nodes of a column; null unless a network is measured"},
	"Flow.nodes": {
		About: "Nodes by column, the largest volume first; the last ones are others and unattributed",
	},
	"Flow.links":  {About: "Links from the nodes of a column to those of the next, in the order of nodes"},
	"Flow.method": {About: "How payments are attributed"},
	"Flow.caveat": {About: "What the figures leave out"},
	"FlowNode.id": {About: "Id of the node: its column, a colon and its key"},
	"FlowNode.column": {About: "Column of the node; money flows from the first value to the last",
		Values: site.FlowColumns},
	"FlowNode.kind": {
		About: "What the node is: the column, or shared for a recipient that several services name and for their " +
			"different categories, others for all nodes of the column that are not listed, unattributed for " +
			"recipients that no listed service names", Values: site.FlowKinds,
	},
	"FlowNode.key": {
		About: "Id of a facilitator, CAIP-2 id of a network, category, slug of a service, or the network and " +
			"address of a shared recipient with a colon between them; the kind of any other node",
	},
	"FlowNode.name": {About: "Name of the node; the address of a shared recipient"},
	"FlowNode.member_count": {
		About: "Number of nodes that others stands for, or of services that share the recipient; 1 for a node that " +
			"stands for itself; 0 for unattributed settlements and several categories",
	},
	"FlowNode.volume_usd_30d": {About: "Volume of the node in USD"},
	"FlowNode.tx_count_30d":   {About: "Number of settlements of the node"},
	"FlowLink.from":           {About: "Id of the node that pays"},
	"FlowLink.to":             {About: "Id of the node that is paid"},
	"FlowLink.volume_usd_30d": {About: "Volume in USD"},
	"FlowLink.tx_count_30d":   {About: "Number of settlements"},
}
