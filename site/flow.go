package site

// Columns of a Flow, from left to right.
const (
	FlowFacilitator = "facilitator"
	FlowNetwork     = "network"
	FlowCategory    = "category"
	FlowService     = "service"
)

// FlowColumns lists them.
var FlowColumns = []string{FlowFacilitator, FlowNetwork, FlowCategory, FlowService}

// Further kinds of nodes of a Flow. The kind of any other node is its column.
const (
	FlowShared       = "shared"       // a recipient of several services, or the categories of such services
	FlowOthers       = "others"       // the nodes of a column that are not listed themselves
	FlowUnattributed = "unattributed" // recipients that no listed service names
)

// FlowKinds lists the kinds of nodes.
var FlowKinds = []string{FlowFacilitator, FlowNetwork, FlowCategory, FlowService, FlowShared, FlowOthers,
	FlowUnattributed}

// FlowSize returns the maximum number of nodes of a column without others and unattributed ones.
func FlowSize(column string) int {
	if column == FlowService {
		return 20
	}
	return 10
}

// Flow says who pays whom: the settlements of 30 UTC days.
//
// It is the data of /v1/flow: the settlements of 30 UTC days, including today, from facilitators over networks and
// categories to services. It has settlements on main networks in tokens worth a dollar. The nodes of each column add up
// to the totals.
type Flow struct {
	// As [DirectoryTraction.AsOf].
	AsOf Time `json:"as_of"`
	// Volume of all nodes of a column in USD; null unless a network is measured.
	VolumeUSD30d *Decimal `json:"volume_usd_30d"`
	// Number of settlements of all nodes of a column; null unless a network is measured.
	TxCount30d *int64 `json:"tx_count_30d"`
	// Nodes by column, the largest volume first; the last ones are others and unattributed.
	Nodes []FlowNode `json:"nodes"`
	// Links from the nodes of a column to those of the next, in the order of nodes.
	Links []FlowLink `json:"links"`
	// How payments are attributed.
	Method string `json:"method"`
	// As [Traction.Caveat].
	Caveat string `json:"caveat"`
}

// FlowNode is a facilitator, network, category or service, and its part of the settlements.
type FlowNode struct {
	// Id of the node: its column, a colon and its key.
	ID string `json:"id"`
	// Column of the node; money flows from the first value to the last.
	Column string `json:"column" enum:"FlowColumns"`
	// The column, or shared for a recipient of several services and for their different categories, others for all
	// nodes of the column that are not listed, unattributed for recipients that no listed service names.
	Kind string `json:"kind" enum:"FlowKinds"`
	// Id of a facilitator, CAIP-2 id of a network, category, slug of a service, or the network and address of a shared
	// recipient with a colon between them; the kind of any other node.
	Key string `json:"key"`
	// Name of the node; the address of a shared recipient.
	Name string `json:"name"`
	// Number of nodes that others stands for, or of services that share the recipient; 1 for a node that stands for
	// itself; 0 for unattributed settlements and several categories.
	MemberCount int `json:"member_count"`
	// Volume of the node in USD.
	VolumeUSD30d Decimal `json:"volume_usd_30d"`
	// Number of settlements of the node.
	TxCount30d int64 `json:"tx_count_30d"`
}

// FlowLink says what the settlements of two nodes have in common.
type FlowLink struct {
	// Id of the node that pays.
	From string `json:"from"`
	// Id of the node that is paid.
	To string `json:"to"`
	// Volume in USD.
	VolumeUSD30d Decimal `json:"volume_usd_30d"`
	// Number of settlements.
	TxCount30d int64 `json:"tx_count_30d"`
}
