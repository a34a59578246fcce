package sample

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// request is the part of an HTTP request that an answer depends on.
type request struct {
	method string
	host   string
	path   string
	accept string // header
	body   []byte
}

// reply is an answer with the time to wait before it.
type reply struct {
	status int
	header http.Header
	body   []byte
	delay  time.Duration // before the response headers
	hang   bool          // never answer; the client gives up
}

// answer returns the answer of a host to a request at a time. It is a pure function, without a clock or state.
func answer(r request, now time.Time) reply {
	slug, _ := slugOf(r.host)
	s := bySlug(slug)
	if s == nil {
		if f := facilitatorByHost(slug); f != nil {
			return f.answer(r)
		}
		return text(http.StatusNotFound, "no such sample service\n")
	}
	return s.answer(s.Behaviour, r, now)
}

// answer returns the answer of s with a behaviour.
func (s *service) answer(behaviour string, r request, now time.Time) reply {
	b := behaviours[behaviour]
	if b.deaf { // the request came over another host's connection
		return text(http.StatusMisdirectedRequest, "nobody here\n")
	}
	if b.always != nil {
		a := b.always(scene{s: s, request: r, now: now})
		a.delay += s.responseTime(now)
		return a
	}
	if doc, ok := s.document(r); ok {
		return doc
	}
	var methods []string
	for _, e := range s.endpoints {
		if e.path != r.path {
			continue
		}
		switch {
		case e.method == r.method:
			a := b.paid(scene{s: s, e: e, request: r, now: now})
			a.delay += s.responseTime(now)
			return a
		case e.method == http.MethodGet && r.method == http.MethodHead:
			return json200("") // as with the common SDKs, whose paywall lets HEAD through
		}
		methods = append(methods, e.method)
	}
	if len(methods) == 0 {
		return text(http.StatusNotFound, "not found\n")
	}
	a := text(http.StatusMethodNotAllowed, "method not allowed\n")
	slices.Sort(methods)
	a.header.Set("Allow", strings.Join(methods, ", "))
	return a
}

func text(status int, body string) reply {
	return reply{status: status, header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, body: []byte(body)}
}

func page(status int, body string) reply {
	return reply{status: status, header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, body: []byte(body)}
}

func jsonReply(status int, body string) reply {
	return reply{status: status, header: http.Header{"Content-Type": {"application/json; charset=utf-8"},
		"Cache-Control": {"no-store"}}, body: []byte(body)}
}

func json200(body string) reply { return jsonReply(http.StatusOK, body) }
