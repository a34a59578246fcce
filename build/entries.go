package build

import (
	"encoding/json"

	"tollbook/site"
)

// entries reads the price entries of a change record. Only this program writes the column; a value that cannot be read
// gives an empty list.
func entries(text json.RawMessage) []site.SnapshotEntry {
	list := []site.SnapshotEntry{}
	if json.Unmarshal(text, &list) != nil || list == nil {
		return []site.SnapshotEntry{}
	}
	return list
}
