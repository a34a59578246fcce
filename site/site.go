// Package site is the domain: the resources of the directory as the contract words them, the table of routes, the
// way from a request to the key of a file, orders, windows and logs; Snapshot, whose fields are the endpoints.
//
// It is pure: functions of their arguments, `now` among them, over the standard library. It must never know how facts
// are found (crawl), kept (site/postgres), judged (build), drawn (render) or carried (output).
package site

// APIVersion is the version of the API's description; the address prefix /v1 carries the major one.
const APIVersion = "1.0.0"

// Limits that the contract and the design fix.
const (
	PageSize    = 25        // default per_page of a list
	MaxPageSize = 100       // largest per_page, and the size of the files that windows are cut from
	MaxPage     = 1_000_000 // a larger page is a 400
	BlockSize   = 100       // rows in a full block of a log
	LogDays     = 30        // days that checks stay in their logs
)

// Status of a service. StatusUnknown appears in records and counts, never as a filter.
const (
	StatusOnline   = "online"
	StatusDegraded = "degraded"
	StatusOffline  = "offline"
	StatusUnknown  = "unknown"
)

// Windows are the four spans of uptime, in the contract's order.
var Windows = []string{"24h", "7d", "30d", "90d"}

// WindowDays says how many UTC days a window spans, today included; 24h is told by hours and has 1 or 2.
var WindowDays = map[string]int{"7d": 7, "30d": 30, "90d": 90}

// Categories that a listing may be filed under before any service uses them: an empty directory must take its first.
var Categories = []string{"AI", "Blockchain", "Compute", "Content", "Data", "Finance", "Other", "Verification"}
