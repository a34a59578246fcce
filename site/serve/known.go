package serve

import (
	"net/http"
	"strconv"

	"tollbook/output"
	"tollbook/site"
)

// known is what an address was found to name in a snapshot: who asks for it again is answered without parsing it, looking
// anything up, or a single allocation.
type known struct {
	address
	origin *origin
	key    string // of the file that answers
	route  string // as it is counted
	counts *routeMetrics
	link   []string // to the next page, nil where there is none
	body   *entry   // of the cache
	api    bool     // held to the rate of clients
	keeps  bool     // by caches, for good

	heads [2][]byte // of an answer of status 200, plain and packed, but for what changes from one to the next
}

// maxAddress is the length in bytes of the longest address that is remembered: what readers write is shorter by far.
const maxAddress = 400

func (k *known) size() int {
	n := len(k.key) + cap(k.heads[0]) + cap(k.heads[1])
	for _, l := range k.link {
		n += len(l)
	}
	return n + 2*maxAddress
}

// addressOf is where the cache has what a request's address names in the current snapshot.
func addressOf(r *http.Request, snap *output.Snapshot) cacheKey {
	return cacheKey{snapshot: snap.ID, address: address{r.URL.Path, r.URL.RawPath, r.URL.RawQuery}}
}

// remember keeps what an address names, unless it names the snapshot itself, or its answer is not kept.
func (h *handler) remember(r *http.Request, snap *output.Snapshot, q site.Query, b *body, k *known) {
	if q.Snapshot != "" || b.kept == (cacheKey{}) || len(r.URL.Path)+len(r.URL.RawPath)+len(r.URL.RawQuery) > maxAddress {
		return
	}
	var ok bool
	if k.body, ok = h.cache.entry(b.kept); !ok {
		return
	}
	at := addressOf(r, snap)
	k.address, k.counts, k.api, k.keeps = at.address, h.metrics.of(k.route), isAPI(r.URL.Path), site.IsHashed(k.key)
	k.heads[0] = k.appendHead(nil, http.StatusOK, false, b)
	if b.canGzip() {
		k.heads[1] = k.appendHead(nil, http.StatusOK, true, b)
	}
	h.cache.put(at, k, k.size()+entryBytes)
}

// everyAnswer are the fields that all answers from a snapshot have.
var everyAnswer = "Access-Control-Allow-Origin: " + headerAny[0] + "\r\nAccess-Control-Expose-Headers: " + headerExpose[0] +
	"\r\nVary: " + headerVary[0] + "\r\nX-Content-Type-Options: " + headerNosniff[0] + "\r\n"

// appendHead appends a status line and those fields that all answers with one form of b have.
func (k *known) appendHead(to []byte, code int, gzipped bool, b *body) []byte {
	to = k.origin.appendOrigin(to, code)
	for _, link := range k.link {
		to = appendField(to, "Link", link)
	}
	to = k.origin.appendValidators(to, []byte(b.tag(gzipped)[0]))
	if code != http.StatusOK {
		return to
	}
	size := b.length
	if gzipped {
		size = len(b.gzip)
	}
	return appendContent(to, site.ContentType(k.key), gzipped, size)
}

// appendOrigin begins the head of an answer from a snapshot.
func (v *origin) appendOrigin(to []byte, code int) []byte {
	return appendField(append(appendStatus(to, code), everyAnswer...), "X-Snapshot", v.name[0])
}

// appendValidators appends those of an answer with this tag.
func (v *origin) appendValidators(to, tag []byte) []byte {
	to = append(append(append(to, "Etag: "...), tag...), "\r\n"...)
	return appendField(to, "Last-Modified", v.lastModified[0])
}

// appendContent appends what a head says of the content.
func appendContent(to []byte, mime string, gzipped bool, size int) []byte {
	to = appendField(to, "Content-Type", mime)
	if mime == typeHTML {
		to = appendField(to, "Content-Security-Policy", contentPolicy)
	}
	if gzipped {
		to = appendField(to, "Content-Encoding", headerGzip[0])
	}
	return append(strconv.AppendInt(append(to, "Content-Length: "...), int64(size), 10), "\r\n"...)
}

// snapshot implements remembered.
func (k *known) snapshot() string { return k.origin.name[0] }

// appendStatus begins a head.
func appendStatus(to []byte, code int) []byte {
	to = append(strconv.AppendInt(append(to, statusPrefix...), int64(code), 10), ' ')
	return append(append(to, http.StatusText(code)...), "\r\n"...)
}

// appendField appends one to a head.
func appendField(to []byte, name, value string) []byte {
	return append(append(append(append(to, name...), ": "...), value...), "\r\n"...)
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
	content, ok := k.body.use()
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
