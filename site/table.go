package site

import "slices"

// RouteTable is the data of v1/routes.json: everything that a program must know to answer requests from the files of a
// snapshot, whatever language it is written in.
type RouteTable struct {
	APIVersion string      `json:"api_version"`
	Aliases    []Alias     `json:"aliases"`
	Index      string      `json:"index"` // the file that says what there is: see Index
	Limits     TableLimits `json:"limits"`
	Segments   []Segment   `json:"segments"`
	Rules      []RuleText  `json:"rules"`
	Common     []Param     `json:"common"` // parameters of every address, which stand in no key
	Routes     []Route     `json:"routes"` // the first whose pattern a path has is meant
}

// Alias is a prefix that answers as another.
type Alias struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// TableLimits are the numbers that parsing and rules go by.
type TableLimits struct {
	MaxQuery    int `json:"max_query"` // bytes of a query string
	MaxText     int `json:"max_text"`  // characters of a text parameter
	PageSize    int `json:"page_size"`
	MaxPageSize int `json:"max_page_size"` // rows of the files that pages are cut from
	BlockSize   int `json:"block_size"`    // rows of a full block of a log
}

// RuleText says in words what a rule does.
type RuleText struct {
	Name  Rule   `json:"name"`
	About string `json:"about"`
}

// Rules are the rules of the table, in words.
var Rules = []RuleText{
	{RuleLiteral, "A file or nothing: the key of the request names the file that answers it."},
	{RuleWindow,
		"A page of any size is cut from at most two neighbouring files of 100 rows of the same list; its meta is counted anew."},
	{RuleTrim, "One file holds the whole history; of each series in it the newest part that was asked for is kept."},
	{RuleLog,
		"Rows are numbered from the oldest and lie in blocks of 100. A window, counted from the newest row, touches two blocks at most."},
	{RuleSearch,
		"The smallest shard that holds every match is read; a row matches where every word of the query begins some word of its name, marks and case aside. Filters, order and window are then applied to those rows. A query without words finds nothing."},
	{RuleLookup, "What is asked for has a hash; its first two digits name a shard, of which one row is the answer."},
}

// Table is the route table as it is published.
func Table() RouteTable {
	t := RouteTable{
		APIVersion: APIVersion,
		Aliases:    []Alias{{From: "/api/v1/", To: "/v1/"}},
		Index:      IndexFile,
		Limits: TableLimits{MaxQuery: maxQuery, MaxText: MaxText, PageSize: PageSize, MaxPageSize: MaxPageSize,
			BlockSize: BlockSize},
		Segments: Segments, Rules: Rules, Common: Common, Routes: slices.Clone(Routes),
	}
	for i := range t.Routes {
		if t.Routes[i].Params == nil {
			t.Routes[i].Params = []Param{} // none is a list too
		}
	}
	return t
}
