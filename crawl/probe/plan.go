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

	"tollbook/site/rail"
	"tollbook/site/x402"
)

// A call is the request of one attempt.
type call struct {
	method      string
	url         *url.URL
	body        []byte // nil for none
	contentType string
	header      http.Header // further headers, over the usual ones
	resampled   bool        // repeats the call before with a sample
	unsigned    bool
}

// A try is a call with its result.
type try struct {
	call
	reply
	captured x402.Captured
	offers   []rail.Offer // of a 402
	verdict  Verdict
	class    string
	reason   string
}

// tries are the attempts of a probe in order.
type tries []try

// A plan decides which call comes first, and which one follows from the answers so far. It does no I/O.
type plan struct {
	url         *url.URL
	methods     []string // in the order of attempts
	declared    bool     // whether the first method was declared, not guessed or remembered
	body        []byte   // declared by the caller; nil for none
	contentType string
	last        func() x402.Discovery // the endpoint's last discovery document; zero for none
}

// maxSample is the size of the largest declared sample body that is sent, in bytes.
const maxSample = 64 << 10

// newPlan returns a plan that begins with the declared method, else the remembered one, else GET. Only GET and POST are
// tried without a declaration: other methods may change things, and most sellers answer HEAD unpaid.
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
	method := allowedMethod(t.Method)
	if method == "" {
		method = allowedMethod(pl.last().Method)
	}
	pl.declared = method != ""
	if hint := allowedMethod(t.MethodHint); method == "" && (hint == http.MethodGet || hint == http.MethodPost) {
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
	if t.OnlyMethod {
		pl.methods = pl.methods[:1]
	}
	return pl
}

// allowedMethod returns a declared method in upper case, or "" if it must not be sent.
func allowedMethod(method string) string {
	method = strings.ToUpper(strings.TrimSpace(method))
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return method
	}
	return ""
}

// next returns the call that follows from the answers so far, and false if no further call is needed. Each method is
// tried once, and once more with a sample.
func (pl plan) next(tried tries) (call, bool) {
	if len(tried) == 0 {
		return pl.call(pl.methods[0]), true
	}
	last := tried[len(tried)-1]
	if len(tried) == maxAttempts {
		return call{}, false
	}
	if last.class == ClassNeedsInput && !last.resampled {
		if c, ok := pl.sampleCall(last); ok {
			return c, true
		}
	}
	if len(pl.methods) < 2 || last.method == pl.methods[1] || !pl.triesSecond(last) {
		return call{}, false
	}
	return pl.call(pl.methods[1]), true
}

// maxAttempts is the most calls of one probe.
const maxAttempts = 3

// triesSecond reports whether to try the second method after an answer to the first. A declared method is doubted only
// if the service itself rejects it, a guessed one after any answer of the service except 402.
func (pl plan) triesSecond(last try) bool {
	switch last.class {
	case ClassWrongMethod:
		allow := last.answer.Header.Get("Allow")
		return allow == "" || allowsMethod(allow, pl.methods[1])
	case ClassGone:
		return true
	case ClassOpen, ClassNeedsInput, ClassAuth, ClassClientError, ClassServerError, ClassRedirect:
		return !pl.declared
	}
	return false
}

func allowsMethod(allow, method string) bool {
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

// sampleCall returns the last call with a sample of input, from the answer's own envelope or from a previous one. It
// returns false if there is no sample or the last call contained it.
func (pl plan) sampleCall(last try) (call, bool) {
	body, query := json.RawMessage(nil), pl.last().QueryParams
	for _, e := range last.captured.Others { // the status is not 402, so Capture chose no envelope
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

// maxParams is the most sample parameters that are added to a URL.
const maxParams = 32

// withQuery adds sample parameters to a URL, except those that it has. It returns false if none was added.
func withQuery(u *url.URL, sampleCall json.RawMessage) (*url.URL, bool) {
	var params map[string]any
	if json.Unmarshal(sampleCall, &params) != nil {
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

// sampleText returns the text of a sample parameter. Sellers of version 1 put a schema where the example belongs. Then
// the text is its example, default or first allowed value, else a simple value of its type.
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

// ranks orders the classes by how much they say, most first. The answer to the method that the endpoint supports says
// most; a 405 or 404 only says that another method is needed.
var ranks = []string{
	ClassInterrupted, ClassRefused, // the probe has no other result
	ClassPaidOK, ClassPaidOther, ClassPaidBroken, ClassOther402, ClassUnreadable, ClassSignIn, ClassHostDisabled,
	ClassOpen,
	ClassNeedsInput, ClassGRPC, ClassAuth, ClassChallenge, ClassRateLimited, ClassUnavailable,
	ClassServerError, ClassClientError, ClassRedirect,
	ClassOversized, ClassInvalidHTTP, ClassUnreachable,
	ClassWrongMethod, ClassGone,
}

// choose returns the index of the try that decides the probe. A call repeated with a sample replaces the one before it.
// Among equal classes the first wins.
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

// result returns the chosen try as the probe's result, without the times that need a clock.
func (t tries) result() Result {
	x := t[t.choose()]
	r := Result{
		Verdict: x.verdict, Class: x.class, Reason: x.reason,
		Method: x.method, Status: x.answer.Status,
		Sent: x.sent, Answer: x.answer, Captured: x.captured, Offers: x.offers,
		Phases: x.phases, ResponseTime: x.responseTime,
		FinalURL: x.sent.URL, Redirects: x.redirects, MovedHost: x.movedHost, TLSVerified: x.tlsVerified,
		Attempts: len(t),
	}
	for _, y := range t {
		r.Requests += y.requests
		if y.url != nil {
			r.Calls = append(r.Calls, Call{Method: y.method, URL: y.url.String(), Body: y.body, Sample: y.resampled,
				Status: y.answer.Status, Class: y.class})
		}
	}
	return r
}

var (
	braced  = regexp.MustCompile(`\{[A-Za-z_][\w.*-]*\}`)
	segment = regexp.MustCompile(`^(:[A-Za-z_]\w*|\[[A-Za-z_.][\w.-]*\])$`)
)

// findPlaceholder returns the first part of a URL that stands for a value to be filled in, "" for none. Tollbook never
// invents such values.
func findPlaceholder(u *url.URL) string {
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
