package crawl

import (
	"tollbook/site/postgres"
	"tollbook/site/postgres/consent"
	"tollbook/site/postgres/inbox"
	"tollbook/site/postgres/sources"
)

type directoryHead struct {
	Kind     string `json:"kind"`
	Version  int    `json:"version"`
	Contacts bool   `json:"contacts"`
}

type directoryFacilitator struct {
	Kind string `json:"kind"`
	FacilitatorEntry
}

type directoryToken struct {
	Kind     string `json:"kind"`
	Network  string `json:"network"`
	Address  string `json:"address"`
	Symbol   string `json:"symbol"`
	Decimals int    `json:"decimals"`
	USD      bool   `json:"usd"`
}

type directoryService struct {
	Kind string `json:"kind"`
	postgres.DirectoryService
}

type directorySubmission struct {
	Kind string `json:"kind"`
	inbox.Submission
}

type directoryErased struct {
	Kind string `json:"kind"`
	postgres.RemovedService
}

type directoryOptOut struct {
	Kind string `json:"kind"`
	consent.OptOut
}

type directorySource struct {
	Kind string `json:"kind"`
	sources.Decision
}

type directorySuggestion struct {
	Kind string `json:"kind"`
	inbox.Suggestion
}

type directoryEnd struct {
	Kind  string `json:"kind"`
	Lines int    `json:"lines"`
}
