package facts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"tollbook/site/jsontext"
)

// OwnershipPath is the path at which a site shows its ownership token.
const OwnershipPath = "/.well-known/tollbook"

// maxOwnership is the most that is read of the document, in bytes. A token takes one line.
const maxOwnership = 4 << 10

// ErrNotShown is returned for a document without the token, and if there is no document. Any other answer says nothing
// about the token.
var ErrNotShown = errors.New("the document does not contain the token")

// OwnershipURL returns the URL at which the owner of the service at base shows a token.
func OwnershipURL(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("parse URL of service: %w", err)
	}
	return u.Scheme + "://" + u.Host + OwnershipPath, nil
}

// CheckToken checks that a site shows the token on a line of its own. It ignores robots.txt, because the site's owner
// asked for the check.
func (f *Fetcher) CheckToken(ctx context.Context, base, token string) error {
	address, err := OwnershipURL(base)
	if err != nil {
		return err
	}
	doc, err := f.get(ctx, address, request{accept: "text/plain", limit: maxOwnership})
	if err != nil {
		return fmt.Errorf("read %s: %w", address, err)
	}
	switch doc.status {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("read %s: %w: the answer is %d", address, ErrNotShown, doc.status)
	default:
		return fmt.Errorf("read %s: the answer is %d", address, doc.status)
	}
	for line := range strings.Lines(strings.TrimPrefix(string(doc.body), jsontext.ByteOrderMark)) {
		if strings.TrimSpace(line) == token {
			return nil
		}
	}
	return fmt.Errorf("read %s: %w", address, ErrNotShown)
}
