package serve

import (
	"net/http"
	"strconv"
	"time"
)

// What is known and lies ready in memory is most of what readers ask for. It is answered here without the handler's general
// path: fields are written where they belong, instead of being put into a map, sorted and taken out again. TestDirect holds
// the two to the same answers.

// everyAnswer are the fields that all answers from a snapshot have.
var everyAnswer = "Access-Control-Allow-Origin: " + headerAny[0] + "\r\nAccess-Control-Expose-Headers: " + headerExpose[0] +
	"\r\nVary: " + headerVary[0] + "\r\nX-Content-Type-Options: " + headerNosniff[0] + "\r\n"

// repeat answers r with what is known, and counts it. It is false, and nothing was sent, where that is not ready, or the client
// has no requests left.
func (h *handler) repeat(a *directAnswer, r *http.Request, k *known, began time.Time) bool {
	content, ok := h.cache.get(k.body)
	if !ok {
		return false
	}
	b := content.(*body)
	gzipped := b.canGzip() && acceptsGzip(r.Header["Accept-Encoding"])
	data, size, err := b.form(gzipped)
	if err != nil {
		return false
	}
	tag := b.tag(gzipped)[0]
	code := http.StatusOK
	if notModified(r.Header, tag, k.origin.built) {
		code, data = http.StatusNotModified, nil
	}
	a.status(code)
	a.out = append(a.out, everyAnswer...)
	if h.limiter != nil && isAPI(k.path) {
		left, ends, ok := h.limiter.take(clientOf(clientAddr(r, h.trusted)), h.now())
		if !ok {
			return false
		}
		a.field("Ratelimit-Policy", h.limiter.policy[0])
		a.field("Ratelimit", rateLimit(left, ends))
	}
	a.field("X-Snapshot", k.origin.name[0])
	if h.source.Err() != nil {
		a.field("X-Snapshot-Warning", headerStale[0])
	}
	for _, link := range k.link {
		a.field("Link", link)
	}
	a.field("Etag", tag)
	a.field("Last-Modified", k.origin.lastModified[0])
	a.field("Cache-Control", h.cacheControl(k.key, k.origin)[0])
	if code == http.StatusOK {
		a.field("Content-Type", k.mime)
		if k.mime == typeHTML {
			a.field("Content-Security-Policy", contentPolicy)
		}
		if gzipped {
			a.field("Content-Encoding", headerGzip[0])
		}
		a.field("Content-Length", size[0])
	}
	a.endHead(began)
	a.send(data)
	h.metrics.count(k.route, code, time.Since(began))
	return true
}

// status begins a head.
func (a *directAnswer) status(code int) {
	a.code = code
	a.out = append(strconv.AppendInt(append(a.out[:0], statusPrefix...), int64(code), 10), ' ')
	a.out = append(append(a.out, http.StatusText(code)...), "\r\n"...)
}

// field appends one to the head.
func (a *directAnswer) field(name, value string) {
	a.out = append(append(append(append(a.out, name...), ": "...), value...), "\r\n"...)
}

// endHead appends the last field, and the end of the head.
func (a *directAnswer) endHead(now time.Time) {
	a.field("Date", httpDate(now))
	a.out = append(a.out, "\r\n"...)
}
