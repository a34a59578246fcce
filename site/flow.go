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

// Flow is the data of /v1/flow: the settlements of 30 UTC days, including today, from facilitators over networks and
// categories to services. It has settlements on main networks in tokens worth a dollar. The nodes of each column add up
// to the totals.
type Flow struct {
	AsOf         Time       `json:"as_of"`
	VolumeUSD30d *Decimal   `json:"volume_usd_30d"` // null unless a network is measured, as the count
	TxCount30d   *int64     `json:"tx_count_30d"`
	Nodes        []FlowNode `json:"nodes"` // by column; largest volume first, then others, then unattributed
	Links        []FlowLink `json:"links"` // from each column to the next; in the order of nodes
	Method       string     `json:"method"`
	Caveat       string     `json:"caveat"`
}

// FlowNode is what one facilitator, network, category or service has of the settlements.
type FlowNode struct {
	ID     string `json:"id"` // column, colon, key
	Column string `json:"column"`
	Kind   string `json:"kind"`
	// the id of a facilitator, the CAIP-2 id of a network, a category, a slug, or network and address of a recipient,
	// with a colon between them; otherwise the kind
	Key  string `json:"key"`
	Name string `json:"name"`
	// nodes that others stands for, services of a shared recipient, recipients of no listed service as 0, otherwise 1
	MemberCount  int     `json:"member_count"`
	VolumeUSD30d Decimal `json:"volume_usd_30d"`
	TxCount30d   int64   `json:"tx_count_30d"`
}

// FlowLink is what the settlements of two nodes of neighbouring columns have in common.
type FlowLink struct {
	From         string  `json:"from"` // id of a node
	To           string  `json:"to"`
	VolumeUSD30d Decimal `json:"volume_usd_30d"`
	TxCount30d   int64   `json:"tx_count_30d"`
}
