package serve

import (
	"net/http"
	"time"
)

// What is known and lies ready in memory is most of what readers ask for. It is answered here without the handler's general
// path: all that stays the same of its head is ready, too. TestDirect holds the two to the same answers.

// repeat answers r, which c brought, with what is known, and counts it. It is false, and nothing was sent, where that is not
// ready, or the client has no requests left.
func (h *handler) repeat(a *directAnswer, r *plain, k *known, began time.Time) bool {
	content, ok := k.body.use()
	if !ok {
		return false
	}
	b := content.(*body)
	gzipped := b.canGzip() && r.acceptsGzip(a.conn)
	data, _, err := b.form(gzipped)
	if err != nil {
		return false
	}
	now := began
	if !h.steady {
		now = h.now()
	}
	a.code = http.StatusOK
	if r.has(heardIfNoneMatch) || r.has(heardIfModifiedSince) {
		if r.notModified(b.tag(gzipped)[0], k.origin.built) {
			a.code, data = http.StatusNotModified, nil
		}
	}
	if a.code == http.StatusOK && gzipped {
		a.out = append(a.out[:0], k.heads[1]...)
	} else if a.code == http.StatusOK {
		a.out = append(a.out[:0], k.heads[0]...)
	} else {
		a.out = k.appendHead(a.out[:0], a.code, gzipped, b)
	}
	if !h.appendEnd(a, r, k.origin, k.api, k.keeps, now, began) {
		return false
	}
	a.send(data)
	k.counts.count(a.code, time.Since(began))
	return true
}

// appendEnd appends what a head ends with. It is false where the client has no requests left.
func (h *handler) appendEnd(a *directAnswer, r *plain, from *origin, api, forever bool, now, began time.Time) bool {
	if h.limiter != nil && api {
		left, ends, ok := h.limiter.take(clientOf(r.client(a.conn, h.trusted)), now)
		if !ok {
			return false
		}
		a.field("Ratelimit-Policy", h.limiter.policy[0])
		a.out = append(a.out, "Ratelimit: "...)
		a.out = append(appendRateLimit(a.out, left, ends), "\r\n"...)
	}
	if h.source.Err() != nil {
		a.field("X-Snapshot-Warning", headerStale[0])
	}
	a.out = append(a.out, from.ending(forever, now, began)...)
	return true
}

// ending is how the heads of a second end.
type ending struct {
	age, second int64
	text        string
}

// ending is what a head ends with: how long caches may keep the answer, for good or by the age it has now, and the date.
func (v *origin) ending(forever bool, now, date time.Time) string {
	last, age := &v.endings[0], int64(0)
	if forever {
		last = &v.endings[1]
	} else {
		age = v.age(now)
	}
	e := last.Load()
	if second := date.Unix(); e == nil || e.age != age || e.second != second {
		policy := headerForever[0]
		if !forever {
			policy = freshFor(age)
		}
		e = &ending{age, second, "Cache-Control: " + policy + "\r\nDate: " + httpDate(date) + "\r\n\r\n"}
		last.Store(e)
	}
	return e.text
}

// field appends one to the head.
func (a *directAnswer) field(name, value string) { a.out = appendField(a.out, name, value) }
