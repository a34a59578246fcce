package routes

import (
	"embed"
	"slices"

	"tollbook/site"
)

// RouteTable says what a program needs to answer requests from the files of a snapshot.
//
// It is the data of v1/routes.json.
type RouteTable struct {
	// Version of this description.
	APIVersion string `json:"api_version"`
	// Path prefixes that are served as other prefixes.
	Aliases []Alias `json:"aliases"`
	// Path of the index of lists and slugs.
	Index string `json:"index"`
	// Limits that apply to requests.
	Limits TableLimits `json:"limits"`
	// Variable parts of paths.
	Segments []Segment `json:"segments"`
	// How responses are cut from files, in words.
	Rules []RuleText `json:"rules"`
	// Values of parameters by their spellings in lower case, by the name of a table.
	Spellings map[string]map[string]string `json:"spellings"`
	// Parameters that every route accepts and no key contains.
	Common []Param `json:"common"`
	// The routes; the first one whose pattern matches a path applies.
	Routes []Route `json:"routes"`
}

// Alias is a path prefix that is served as another prefix.
type Alias struct {
	// The prefix in the request.
	From string `json:"from"`
	// The prefix that is served.
	To string `json:"to"`
}

// TableLimits: limits that apply to requests.
type TableLimits struct {
	// Maximum length of a query string in bytes.
	MaxQuery int `json:"max_query"`
	// Maximum length of a text parameter in characters.
	MaxText int `json:"max_text"`
	// Maximum number of digits of a decimal parameter before and after the point.
	MaxDigits int `json:"max_digits"`
	// Default number of rows on a page.
	PageSize int `json:"page_size"`
	// Rows in each file that pages are cut from.
	MaxPageSize int `json:"max_page_size"`
	// Rows in a full block of a log.
	BlockSize int `json:"block_size"`
}

// RuleText is a rule, in words.
type RuleText struct {
	// Name of the rule, as in a route.
	Name  Rule   `json:"name"`
	About string `json:"about"`
}

// Rules describes each rule of the table.
var Rules = []RuleText{
	{RuleLiteral, "The request's key names a file. Without that file the response is 404."},
	{RuleWindow,
		"A page of any size is cut from at most two neighbouring files of 100 rows of the same list. Its meta is " +
			"recomputed."},
	{RuleTrim, "One file contains the whole history. The response contains the requested newest part of each " +
		"series in it."},
	{RuleLog,
		"Rows are numbered from the oldest and stored in blocks of 100. The requested rows, counted from the " +
			"newest, are in at most two blocks."},
	{RuleCatalogue,
		"Each filter compares one column of the catalogue, a file with the values of every row. The rows that " +
			"pass are paginated and read from the files of 100 rows. A row passes several filters about payment " +
			"options if one of its options passes all of them. A text orders rows by the score of their service, as " +
			"/v1/search does; of one service, rows with a path or description that matches come first."},
	{RuleFind,
		"Words and phrases of the query are read as terms: stems, concepts and beginnings of words. The files of " +
			"these terms give each service's score. The services that match and pass all filters, which compare " +
			"columns, are sorted by score or by the column of the order, ties by slug. The page is read from the " +
			"blocks of rows that contain them."},
	{RuleRank,
		"The columns of a snapshot select services and say how good they are, and their rows which endpoint to " +
			"use. The methodology page has the formula."},
	{RuleScan,
		"Each filter compares one column, a file with a value of every service. The services that pass all filters " +
			"are sorted by the column of the order: nulls are last, and ties are sorted by slug. The page is read " +
			"from the blocks of rows that contain them. A text is compared by words: each word of it is the " +
			"beginning of a word of the column, ignoring case and diacritics; a text without words matches nothing."},
	{RuleLookup, "The first two hexadecimal digits of the hash in the path name a shard. The response is one row " +
		"of that shard."},
}

// Table returns the route table as it is published.
func Table() RouteTable {
	t := RouteTable{
		APIVersion: site.APIVersion,
		Aliases:    []Alias{{From: "/api/v1/", To: "/v1/"}},
		Index:      IndexFile,
		Limits: TableLimits{MaxQuery: maxQuery, MaxText: MaxText, MaxDigits: maxDigits, PageSize: site.PageSize,
			MaxPageSize: site.MaxPageSize,
			BlockSize:   site.BlockSize},
		Segments: Segments, Rules: Rules, Spellings: spellings, Common: Common,
		Routes: slices.Clone(All),
	}
	for i := range t.Routes {
		if t.Routes[i].Params == nil {
			t.Routes[i].Params = []Param{} // written as [], not as null
		}
	}
	return t
}

// GoFiles contains the Go files of this package; see site.GoFiles.
//
//go:embed *.go
var GoFiles embed.FS

// Enums contains the lists that tags of fields name; see site.Enums.
var Enums = map[string][]string{
	"Comparisons": {string(CompareIs), string(CompareHas), string(CompareAtMost), string(CompareAtLeast),
		string(CompareWords)},
	"Kinds": {string(KindChoice), string(KindText), string(KindInteger), string(KindSet), string(KindBoolean),
		string(KindDecimal), string(KindAddress), string(KindCursor), string(KindSnapshot)},
}
