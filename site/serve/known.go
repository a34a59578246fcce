package serve

import (
	"net/http"

	"tollbook/output"
	"tollbook/site"
)

// known is what an address was found to name in a snapshot: who asks for it again is answered without parsing it, looking
// anything up, or a single allocation.
type known struct {
	address
	origin *origin
	key    string   // of the file that answers
	mime   string   // of that, too
	route  string   // as it is counted
	link   []string // to the next page, nil where there is none
	body   cacheKey
}

// maxAddress is the length in bytes of the longest address that is remembered: what readers write is shorter by far.
const maxAddress = 400

func (k *known) size() int {
	n := len(k.key) + len(k.body.name)
	for _, l := range k.link {
		n += len(l)
	}
	return n + maxAddress
}

// addressOf is where the cache has what a request's address names in the current snapshot.
func addressOf(r *http.Request, snap *output.Snapshot) cacheKey {
	return cacheKey{snapshot: snap.ID, address: address{r.URL.Path, r.URL.RawPath, r.URL.RawQuery}}
}

// remember keeps what an address names, unless it names the snapshot itself, or its answer is not kept.
func (h *handler) remember(r *http.Request, snap *output.Snapshot, q site.Query, k *known) {
	if q.Snapshot != "" || k.body == (cacheKey{}) || len(r.URL.Path)+len(r.URL.RawPath)+len(r.URL.RawQuery) > maxAddress {
		return
	}
	at := addressOf(r, snap)
	k.address = at.address
	h.cache.put(at, k, k.size()+entryBytes)
}

// again answers an address that is known in the current snapshot. It is false, and nothing was sent, for any other.
func (h *handler) again(w *reply, r *http.Request) bool {
	snap, err := h.source.Current()
	if err != nil {
		return false
	}
	defer snap.Release()
	found, ok := h.cache.get(addressOf(r, snap))
	if !ok {
		return false
	}
	k := found.(*known)
	content, ok := h.cache.get(k.body)
	if !ok {
		return false
	}
	header := w.Header()
	h.tellSnapshot(header, k.origin, false)
	if k.link != nil {
		header["Link"] = k.link
	}
	w.route = k.route
	return h.send(w, r, k.origin, false, k.key, content.(*body)) == nil
}
