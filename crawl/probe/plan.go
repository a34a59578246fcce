package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"tollbook/site/x402"
)

// A call is what one attempt asks.
type call struct {
	method      string
	url         *url.URL
	body        []byte // nil: none
	contentType string
	resampled   bool // repeats an earlier call, with a sample this time
}

// A try is a call and what came of it.
type try struct {
	call
	reply
	captured x402.Captured
	verdict  Verdict
	class    string
	reason   string
}

// tries are the attempts of one probe, in order.
type tries []try

// A plan says which call comes first and which follows from the answers so far. It is pure.
type plan struct {
	url         *url.URL
	methods     []string // in the order of trying
	declared    bool     // the first was declared, not guessed or remembered
	body        []byte   // declared by whoever asks, nil without
	contentType string
	last        func() x402.Discovery // what the endpoint declared before; zero without
}

// maxSample bounds a declared sample body: what is larger is not sent.
const maxSample = 64 << 10

// newPlan puts the declared method first, else the remembered one, else GET. Only GET and POST are ever tried
// unasked: the other methods may change things, and HEAD is answered unpaid by most sellers.
func newPlan(t Target, u *url.URL) plan {
	pl := plan{url: u, body: t.Body, contentType: t.ContentType}
	pl.last = sync.OnceValue(func() (none x402.Discovery) {
		if t.Discovery != nil {
			if d := t.Discovery(); d != nil && !d.MCP {
				return *d
			}
		}
		return none
	})
	method := declarable(t.Method)
	if method == "" {
		method = declarable(pl.last().Method)
	}
	pl.declared = method != ""
	if hint := declarable(t.MethodHint); method == "" && (hint == http.MethodGet || hint == http.MethodPost) {
		method = hint
	}
	switch method {
	case "", http.MethodGet:
		pl.methods = []string{http.MethodGet, http.MethodPost}
	case http.MethodPost:
		pl.methods = []string{http.MethodPost, http.MethodGet}
	default:
		pl.methods = []string{method}
	}
	return pl
}

// declarable gives a method that may be sent because somebody declared it, in upper case, or "".
func declarable(method string) string {
	method = strings.ToUpper(strings.TrimSpace(method))
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return method
	}
	return ""
}

// next gives the call that the answers so far ask for, and false when they suffice. A method is tried once, and
// once more with a sample.
func (pl plan) next(tried tries) (call, bool) {
	if len(tried) == 0 {
		return pl.call(pl.methods[0]), true
	}
	last := tried[len(tried)-1]
	if len(tried) == maxAttempts {
		return call{}, false
	}
	if last.class == ClassNeedsInput && !last.resampled {
		if c, ok := pl.sample(last); ok {
			return c, true
		}
	}
	if len(pl.methods) < 2 || last.method == pl.methods[1] || !pl.another(last) {
		return call{}, false
	}
	return pl.call(pl.methods[1]), true
}

// maxAttempts bounds the calls of one probe.
const maxAttempts = 3

// another says whether an answer to the first method leaves room for the second. A declared method is doubted
// only when the service itself does; a guessed one whenever the service answered for itself, but not with a 402.
func (pl plan) another(last try) bool {
	switch last.class {
	case ClassWrongMethod:
		allow := last.answer.Header.Get("Allow")
		return allow == "" || allows(allow, pl.methods[1])
	case ClassGone:
		return true
	case ClassOpen, ClassNeedsInput, ClassAuth, ClassClientError, ClassServerError, ClassRedirect:
		return !pl.declared
	}
	return false
}

func allows(allow, method string) bool {
	for _, m := range strings.Split(allow, ",") {
		if strings.EqualFold(strings.TrimSpace(m), method) {
			return true
		}
	}
	return false
}

func (pl plan) call(method string) call {
	c := call{method: method, url: pl.url}
	if !hasBody(method) {
		return c
	}
	c.body, c.contentType = pl.body, pl.contentType
	if c.body == nil {
		c.body, c.contentType = pl.last().Body, ""
	}
	if len(c.body) == 0 || len(c.body) > maxSample {
		c.body, c.contentType = []byte("{}"), ""
	}
	c.contentType = cmp.Or(c.contentType, "application/json")
	return c
}

func hasBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// sample repeats a call that wanted input, with the sample that the answer's own envelope declares or that is known
// from before; false when there is none, or it was sent already.
func (pl plan) sample(last try) (call, bool) {
	body, query := json.RawMessage(nil), pl.last().QueryParams
	for _, e := range last.captured.Others { // the status is no 402, so none was chosen
		if d := e.Discovery; d != nil && !d.MCP {
			body = d.Body
			if d.QueryParams != nil {
				query = d.QueryParams
			}
			break
		}
	}
	c := last.call
	c.resampled = true
	if hasBody(c.method) {
		if len(body) > 0 && len(body) <= maxSample && !bytes.Equal(body, c.body) {
			c.body, c.contentType = body, "application/json"
			return c, true
		}
	}
	u, ok := withQuery(c.url, query)
	c.url = u
	return c, ok
}

// maxParams bounds the sample parameters that are put into an address.
const maxParams = 32

// withQuery adds sample parameters to an address, except those it has already; false when nothing was added.
func withQuery(u *url.URL, sample json.RawMessage) (*url.URL, bool) {
	var params map[string]any
	if json.Unmarshal(sample, &params) != nil {
		return u, false
	}
	have, added := u.Query(), url.Values{}
	keys := make([]string, 0, len(params))
	for k := range params {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys[:min(len(keys), maxParams)] {
		if !have.Has(k) {
			added.Set(k, sampleText(params[k]))
		}
	}
	if len(added) == 0 {
		return u, false
	}
	c := *u
	c.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+added.Encode(), "&")
	return &c, len(c.String()) <= maxURL
}

// sampleText gives the text of a sample parameter. Version 1 sellers put a schema where the example belongs:
// then it is the example, default or first allowed value, else the plainest value of the type.
func sampleText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		for _, key := range []string{"example", "default"} {
			if x, ok := v[key]; ok {
				return sampleText(x)
			}
		}
		if enum, ok := v["enum"].([]any); ok && len(enum) > 0 {
			return sampleText(enum[0])
		}
		switch v["type"] {
		case "number", "integer":
			return "0"
		case "boolean":
			return "false"
		}
		return "sample"
	case nil, []any:
		return "sample"
	case float64:
		b, _ := json.Marshal(v)
		return string(b)
	}
	return fmt.Sprint(v)
}

// ranks orders the classes by how much they say, best first: of the answers to several methods, the one to the
// method that the endpoint really has. A 405 or 404 says only that this method is not it.
var ranks = []string{
	ClassInterrupted, ClassRefused, // nothing else may be concluded from
	ClassPaidOK, ClassPaidBroken, ClassOther402, ClassUnreadable, ClassHostDisabled,
	ClassOpen,
	ClassNeedsInput, ClassAuth, ClassChallenge, ClassRateLimited, ClassUnavailable,
	ClassServerError, ClassClientError, ClassRedirect,
	ClassOversized, ClassInvalidHTTP, ClassUnreachable,
	ClassWrongMethod, ClassGone,
}

// choose gives the index of the try that stands for the probe. A call repeated with a sample replaces the one
// before it; of equal ones the earlier stands.
func (t tries) choose() int {
	best := -1
	for i, x := range t {
		replaced := i+1 < len(t) && t[i+1].resampled
		if replaced {
			continue
		}
		if best < 0 || slices.Index(ranks, x.class) < slices.Index(ranks, t[best].class) {
			best = i
		}
	}
	return best
}

// result tells the chosen try as the probe's result, all but the times that need a clock.
func (t tries) result() Result {
	x := t[t.choose()]
	r := Result{
		Verdict: x.verdict, Class: x.class, Reason: x.reason,
		Method: x.method, Status: x.answer.Status,
		Sent: x.sent, Answer: x.answer, Captured: x.captured,
		Phases: x.phases, ResponseTime: x.responseTime,
		FinalURL: x.sent.URL, Redirects: x.redirects, TLSVerified: x.tlsVerified,
		Attempts: len(t),
	}
	for _, y := range t {
		r.Requests += y.requests
	}
	return r
}

var (
	braced  = regexp.MustCompile(`\{[A-Za-z_][\w.*-]*\}`)
	segment = regexp.MustCompile(`^(:[A-Za-z_]\w*|\[[A-Za-z_.][\w.-]*\])$`)
)

// placeholder finds a part of an address that stands for a value to be filled in, "" without one. Nothing is ever
// invented for it.
func placeholder(u *url.URL) string {
	for _, s := range strings.Split(u.Path, "/") {
		if segment.MatchString(s) {
			return s
		}
	}
	if m := braced.FindString(u.Path); m != "" {
		return m
	}
	query, err := url.QueryUnescape(u.RawQuery)
	if err != nil {
		return ""
	}
	return braced.FindString(query)
}
