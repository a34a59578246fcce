package sample

import (
	"time"

	"tollbook/site/postgres"
)

// Histories are what the services did in the ninety days before start, by slug. Equal starts give equal histories.
func Histories(start time.Time) []postgres.History {
	list := make([]postgres.History, 0, len(cast()))
	for _, s := range cast() {
		list = append(list, postgres.History{Slug: s.Slug})
	}
	return list
}
