package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"tollbook/output"
	"tollbook/site"
)

// view is what the handler knows of a snapshot beside its files.
type view struct {
	name         []string // its id, as a header value
	built, next  time.Time
	lastModified []string // header value

	mu    sync.Mutex // held while the index is read
	index *site.Index
}

// maxViews is how many snapshots are known at once: as many as a source keeps open, those that readers named among them,
// and one more while one replaces another.
const maxViews = 8

// view answers what is known of a snapshot, new or from before.
func (h *handler) view(snap *output.Snapshot) *view {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.views, func(v *view) bool { return v.name[0] == snap.ID })
	if i >= 0 {
		v := h.views[i]
		copy(h.views[1:i+1], h.views[:i])
		h.views[0] = v
		return v
	}
	built := snap.Checkpoint.Built()
	v := &view{
		name: []string{snap.ID}, built: built, next: snap.Checkpoint.Next(),
		lastModified: []string{built.Format(http.TimeFormat)},
	}
	h.views = slices.Insert(h.views, 0, v)
	h.views = h.views[:min(len(h.views), maxViews)]
	return v
}

// readIndex is the snapshot's v1/index.json, parsed once; what fails is tried again.
func (v *view) readIndex(snap *output.Snapshot) (*site.Index, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.index != nil {
		return v.index, nil
	}
	data, err := snap.ReadFile(site.IndexFile)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", snap.ID, err)
	}
	var index site.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("snapshot %s: parse %s: %w", snap.ID, site.IndexFile, err)
	}
	if !slices.IsSorted(index.Slugs) || !slices.IsSorted(index.Facilitators) {
		return nil, fmt.Errorf("snapshot %s: %s: %w: slugs or ids are not sorted", snap.ID, site.IndexFile, output.ErrDamaged)
	}
	v.index = &index
	return v.index, nil
}
