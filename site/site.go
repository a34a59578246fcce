// Package site defines the contract as Go types: the resources of the API, columns, orders and logs. Snapshot contains
// everything that one build publishes. Package site/routes defines how the resources are requested.
//
// The package is pure: its functions depend only on their arguments, including the current time. It does not know how
// facts are collected (crawl), stored (site/postgres), judged (build), rendered (render) or published (output).
package site

// APIVersion is the version of the API description. The path prefix /v1 contains the major version.
const APIVersion = "1.0.0"

// LicenseURL is the address of the licence of the data of every directory.
const LicenseURL = "https://creativecommons.org/licenses/by/4.0/"

// Limits of the API.
const (
	PageSize    = 25        // default per_page of a list
	MaxPageSize = 100       // largest per_page, and the number of rows in the files that pages are cut from
	MaxPage     = 1_000_000 // a larger page gets a 400
	BlockSize   = 100       // rows in a full block of a log
	LogDays     = 30        // number of days that checks stay in their logs
)

// Status of a service. /v1/services refuses StatusUnknown as a filter, as the contract says.
const (
	StatusOnline   = "online"
	StatusDegraded = "degraded"
	StatusOffline  = "offline"
	StatusUnknown  = "unknown"
)

// Statuses lists them.
var Statuses = []string{StatusOnline, StatusDegraded, StatusOffline, StatusUnknown}

// Windows are the four windows of uptime, in the order of the API.
var Windows = []string{"24h", "7d", "30d", "90d"}

// WindowDays contains the number of UTC days of a window, including today. The window 24h is measured in hours and
// touches 1 or 2 days.
var WindowDays = map[string]int{"7d": 7, "30d": 30, "90d": 90}

// Categories are accepted for a listing even if no service uses them yet, so that an empty directory accepts its first
// one.
var Categories = []string{"AI", "Blockchain", "Compute", "Content", "Data", "Finance", "Other", "Verification"}
