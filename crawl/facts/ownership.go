package facts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// OwnershipPath is where an owner shows that a service is his.
const OwnershipPath = "/.well-known/tollbook"

// maxOwnership bounds the document, in bytes: a token takes a line.
const maxOwnership = 4 << 10

// ErrNotShown is an answer that does not show the token.
var ErrNotShown = errors.New("the token is not there")

// OwnershipAddress is where the owner of what is behind base shows a token.
func OwnershipAddress(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("parse address of service: %w", err)
	}
	return u.Scheme + "://" + u.Host + OwnershipPath, nil
}

// ShowsToken looks for a token on a line of its own; nil is that it is there. It is asked for by somebody who stands
// behind the address, and so robots.txt has no say.
func (f *Fetcher) ShowsToken(ctx context.Context, base, token string) error {
	address, err := OwnershipAddress(base)
	if err != nil {
		return err
	}
	doc, err := f.get(ctx, address, request{accept: "text/plain", limit: maxOwnership})
	if err != nil {
		return fmt.Errorf("look at %s: %w", address, err)
	}
	if doc.status != http.StatusOK {
		return fmt.Errorf("look at %s: %w: it answers %d", address, ErrNotShown, doc.status)
	}
	for line := range strings.Lines(string(doc.body)) {
		if strings.TrimSpace(line) == token {
			return nil
		}
	}
	return fmt.Errorf("look at %s: %w", address, ErrNotShown)
}
