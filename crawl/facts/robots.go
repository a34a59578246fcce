package facts

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"tollbook/site/jsontext"
)

// Token is the product token of Tollbook in robots.txt.
const Token = "tollbook"

// States of a robots.txt.
const (
	RobotsDocument = "document" // the origin has one
	RobotsNone     = "none"     // the origin has none: everything is allowed
	RobotsUnknown  = "unknown"  // no answer: nothing is allowed for now
)

// Robots is an origin's answer to a request for robots.txt.
type Robots struct {
	Origin    string // "https://host" or "https://host:port"
	FetchedAt time.Time
	State     string
	Body      []byte // of a document
}

// RobotsStore stores the answers of origins, so that none is asked more than once a day.
type RobotsStore interface {
	// Robots returns the stored answer of an origin, nil for none.
	Robots(ctx context.Context, origin string) (*Robots, error)
	KeepRobots(ctx context.Context, r Robots) error
}

// memory is a RobotsStore that lasts as long as its fetcher.
type memory struct {
	mu      sync.Mutex
	origins map[string]Robots
}

func (m *memory) Robots(_ context.Context, origin string) (*Robots, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.origins[origin]
	if !ok {
		return nil, nil
	}
	return &r, nil
}

func (m *memory) KeepRobots(_ context.Context, r Robots) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.origins == nil || len(m.origins) >= 10_000 {
		m.origins = map[string]Robots{}
	}
	m.origins[r.Origin] = r
	return nil
}

// IsValid reports whether the answer is still valid: for a day, or for an hour if the origin did not answer.
func (r *Robots) IsValid(now time.Time) bool {
	age := now.Sub(r.FetchedAt)
	if r.State == RobotsUnknown {
		return age < recentRobotsAge
	}
	return age < 24*time.Hour
}

// recentRobotsAge is the age from which a survey requests robots.txt again, so that it sees an owner's opt-out.
const recentRobotsAge = time.Hour

// fetchRobots returns an origin's robots.txt. It requests it if no valid answer is stored.
func (f *Fetcher) fetchRobots(ctx context.Context, origin string) (*Robots, error) {
	stored, err := f.o.Robots.Robots(ctx, origin)
	if err != nil {
		return nil, err
	}
	if stored != nil && stored.IsValid(f.o.Now()) {
		return stored, nil
	}
	return f.requestRobots(ctx, origin)
}

// requestRobots requests an origin's robots.txt and stores the answer.
func (f *Fetcher) requestRobots(ctx context.Context, origin string) (*Robots, error) {
	now := f.o.Now()
	r := &Robots{Origin: origin, FetchedAt: now, State: RobotsUnknown}
	doc, err := f.get(ctx, origin+"/robots.txt", request{accept: "text/plain", limit: maxRobots})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrElsewhere):
		r.State = RobotsNone
	case err != nil:
		f.failures.store(origin, err.Error())
	case doc.status == 429 || doc.status >= 500:
		f.failures.store(origin, fmt.Sprintf("%s/robots.txt answers %d", origin, doc.status))
	case doc.status == 200 && isRobots(doc):
		r.State, r.Body = RobotsDocument, doc.body
	default:
		r.State = RobotsNone
	}
	return r, f.o.Robots.KeepRobots(ctx, *r)
}

// failures are the causes for which robots.txt of origins could not be read, at most maxFailures of the latest.
type failures struct {
	mu sync.Mutex
	of map[string]string
}

const maxFailures = 10_000

func (f *failures) store(origin, cause string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil || len(f.of) >= maxFailures {
		f.of = map[string]string{}
	}
	f.of[origin] = cause
}

// cause returns why an origin says nothing about its documents.
func (f *failures) cause(origin string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return cmp.Or(f.of[origin], origin+"/robots.txt could not be read a short time ago")
}

// isRobots reports whether an answer has rules for robots. Comments in another encoding than UTF-8 do not matter, since
// an owner's rules must not be missed for them.
func isRobots(d document) bool {
	d.body = bytes.ToValidUTF8(d.body, []byte("?"))
	d.truncated = false
	return isText(d)
}

// checkRobots returns nil if robots.txt allows to request a URL, else ErrDisallowed or the error of reading robots.txt.
func (f *Fetcher) checkRobots(ctx context.Context, u *url.URL) error {
	r, err := f.fetchRobots(ctx, u.Scheme+"://"+u.Host)
	if err != nil {
		return err
	}
	if r.State == RobotsUnknown {
		return fmt.Errorf("%w: %s did not answer a request for robots.txt", ErrDisallowed, u.Host)
	}
	if !ReadRobots(r.Body, Token).Allows(u.RequestURI()) {
		return fmt.Errorf("%w: %s", ErrDisallowed, u)
	}
	return nil
}

// Rules are the rules of a robots.txt that apply to us.
type Rules struct {
	Own   bool // a group names us; else the rules are those for all robots
	rules []rule
}

type rule struct {
	pattern string // normalised: "*" matches any text, a final "$" the end
	allow   bool
}

// ExcludesUs reports whether the rules name us and allow us nothing at all: "Disallow: /" without any "Allow".
func (r Rules) ExcludesUs() bool {
	isAllow := func(r rule) bool { return r.allow }
	isAll := func(r rule) bool { return !r.allow && (r.pattern == "/" || r.pattern == "/*" || r.pattern == "*") }
	return r.Own && slices.ContainsFunc(r.rules, isAll) && !slices.ContainsFunc(r.rules, isAllow)
}

// Limits of a robots.txt. RFC 9309, section 2.5, asks for at least 500 KiB.
const (
	maxRobots = 512 << 10 // bytes
	maxRules  = 100_000   // rules of a group; more than fit into maxRobots
)

// ReadRobots reads a robots.txt by RFC 9309. It returns the rules of all groups that name token, in any case, or if no
// group does, of all groups for "*".
func ReadRobots(text []byte, token string) Rules {
	var own, everybody []rule
	var named, forAll, forUs, inRules bool
	text = bytes.TrimPrefix(text, []byte(jsontext.ByteOrderMark))
	if len(text) >= maxRobots-len(jsontext.ByteOrderMark) {
		text = text[:bytes.LastIndexByte(text, '\n')+1] // the last line may be the beginning of a longer one
	}
	for line := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		name, value, ok := strings.Cut(string(line), ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "user-agent":
			if inRules { // a new group begins
				forAll, forUs, inRules = false, false, false
			}
			switch {
			case value == "*":
				forAll = true
			case strings.EqualFold(productToken(value), token):
				forUs, named = true, true
			}
		case "allow", "disallow":
			inRules = true
			r := rule{normalPath(value), name == "allow"}
			if value == "" { // matches nothing
				continue
			}
			if forUs && len(own) < maxRules {
				own = append(own, r)
			}
			if forAll && len(everybody) < maxRules {
				everybody = append(everybody, r)
			}
		}
	}
	if named {
		return Rules{true, own}
	}
	return Rules{false, everybody}
}

// productToken returns the name at the start of a user agent: "Tollbook" of "Tollbook/1.0".
func productToken(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '-')
	})
	if end < 0 {
		return s
	}
	return s[:end]
}

// Allows reports whether a path with its query may be requested. The longest matching rule decides, allow before
// disallow among rules of equal length. Without a matching rule the path is allowed.
func (r Rules) Allows(path string) bool {
	path = normalPath(path)
	if path == "/robots.txt" {
		return true
	}
	longest, allow := -1, true
	for _, rule := range r.rules {
		if n := len(rule.pattern); (n > longest || n == longest && rule.allow) && rule.matches(path) {
			longest, allow = n, rule.allow
		}
	}
	return allow
}

// matches compares the parts between stars literally, each at its first match, so that no pattern takes more steps than
// its length times the path's.
func (r rule) matches(path string) bool {
	pattern, anchored := strings.CutSuffix(r.pattern, "$")
	parts := strings.Split(pattern, "*")
	path, ok := strings.CutPrefix(path, parts[0])
	if !ok {
		return false
	}
	if len(parts) == 1 {
		return !anchored || path == ""
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(path, part)
		if i < 0 {
			return false
		}
		path = path[i+len(part):]
	}
	if anchored {
		return strings.HasSuffix(path, last)
	}
	return strings.Contains(path, last)
}

const upperHex = "0123456789ABCDEF"

// normalPath returns a path in the form in which two paths are compared: characters other than printable ASCII are
// percent-encoded, and unreserved characters are not.
func normalPath(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		encoded := c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2])
		if encoded {
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
		}
		unreserved := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("-._~", c) >= 0
		if c <= ' ' || c >= 0x7f || c == '%' || encoded && !unreserved {
			b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}
