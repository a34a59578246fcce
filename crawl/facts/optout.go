package facts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tollbook/site/jsontext"
)

// optOutLine is the line of the document at OwnershipPath by which an owner opts out.
const optOutLine = "opt-out"

// ErrNoAnswer says that a host did not answer whether it opted out.
var ErrNoAnswer = errors.New("the host does not say whether it opted out")

// OptOut returns the URL of the document in which the owner of an origin opts out of every directory, "" for none. The
// document is a robots.txt that excludes Tollbook by name from everything, or a line "opt-out" in
// /.well-known/tollbook. If robots.txt says so, nothing else is requested. Rules for all robots do not keep Tollbook
// from the second document, which exists for it alone. The error is ErrNoAnswer if one of the answers says nothing.
//
// With fresh it requests robots.txt even if a recent answer is stored.
func (f *Fetcher) OptOut(ctx context.Context, base string, fresh bool) (saidBy string, err error) {
	origin := originOf(base)
	if origin == "" {
		return "", fmt.Errorf("%w: %.80q is not a URL", ErrNoAnswer, base)
	}
	robots, err := f.recentRobots(ctx, origin, fresh)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	switch {
	case robots.State == RobotsUnknown:
		return "", fmt.Errorf("%w: %s does not answer a request for robots.txt", ErrNoAnswer, origin)
	case robots.State == RobotsDocument && ReadRobots(robots.Body, Token).ExcludesUs():
		return origin + "/robots.txt", nil
	}
	address := origin + OwnershipPath
	doc, err := f.get(ctx, address, request{accept: "text/plain", limit: maxOwnership})
	says, reason := judgeDocument(doc, err, func(d document) (*bool, string) {
		return new(hasLine(d.body, optOutLine)), ""
	})
	switch {
	case says == nil:
		return "", fmt.Errorf("%w: %s: %s", ErrNoAnswer, address, reason)
	case *says:
		return address, nil
	}
	return "", nil
}

// recentRobots returns an origin's robots.txt that is less than recentRobotsAge old. With fresh it always requests it.
func (f *Fetcher) recentRobots(ctx context.Context, origin string, fresh bool) (*Robots, error) {
	if !fresh {
		stored, err := f.o.Robots.Robots(ctx, origin)
		if err != nil {
			return nil, err
		}
		if stored != nil && f.o.Now().Sub(stored.FetchedAt) < recentRobotsAge {
			return stored, nil
		}
	}
	return f.requestRobots(ctx, origin)
}

// hasLine reports whether a text has a line, in any case and with white space around it.
func hasLine(text []byte, line string) bool {
	for l := range strings.Lines(string(text)) {
		if strings.EqualFold(strings.TrimSpace(strings.TrimPrefix(l, jsontext.ByteOrderMark)), line) {
			return true
		}
	}
	return false
}
