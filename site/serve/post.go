package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/fields"
)

// post is a request that sends something to be stored.
type post struct {
	media  string // mediaJSON or mediaForm; "" for any other
	key    string // value of Idempotency-Key; "" if absent
	client string // the sender, as limits count it
	body   []byte
	form   url.Values // the body of a form
}

// readPost reads a request within the limits of submissions. Its response is never cached. After an error, the rest of
// the body is not read, so the connection ends. The post is never nil.
func (h *handler) readPost(w *responseWriter, r *http.Request) (p *post, err error) {
	w.Header()["Cache-Control"] = headerNoStore
	p = &post{client: clientName(clientAddr(r, h.trusted))}
	if p.media, err = mediaType(r); err == nil {
		p.key, err = idempotencyKey(r)
	}
	if err == nil {
		p.body, err = h.submitter.body(w, r)
	}
	if err != nil {
		w.Header().Set("Connection", "close")
		return p, err
	}
	if p.media == mediaForm {
		if p.form, err = url.ParseQuery(string(p.body)); err != nil {
			err = fields.NewReader("form", nil).BodyError("is not a valid form")
		}
	}
	return p, err
}

// enter waits until one more request may be stored; leave lets the next one in.
func (s *submitter) enter(ctx context.Context) (leave func(), err error) {
	select {
	case s.receiving <- struct{}{}:
		return func() { <-s.receiving }, nil
	case <-ctx.Done():
		return nil, errCrowded
	}
}

const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
)

var (
	errMedia    = errors.New("the body is neither JSON nor a form")
	errTooLarge = errors.New("the body is too large")
	errSlowBody = errors.New("the body did not arrive in time")
	errCrowded  = errors.New("too many submissions at once")

	errBrokenBody = errors.New("the body ended early")
)

// keyError reports an invalid Idempotency-Key.
type keyError struct{ message string }

func (e *keyError) Error() string { return "Idempotency-Key " + e.message }

// mediaType returns the media type of a request's body. It accepts JSON and forms in UTF-8 without encoding.
func mediaType(r *http.Request) (string, error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, hasCharset := params["charset"]
	encoding := r.Header.Get("Content-Encoding")
	if err != nil || media != mediaJSON && media != mediaForm || hasCharset && !strings.EqualFold(charset, "utf-8") ||
		encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "", errMedia
	}
	return media, nil
}

// idempotencyKey returns the Idempotency-Key of a request, or "".
func idempotencyKey(r *http.Request) (string, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key := strings.TrimSpace(values[0])
	unseen := func(c rune) bool { return c < ' ' || c > '~' }
	if len(values) > 1 || key == "" || len(key) > maxKey || strings.ContainsFunc(key, unseen) {
		return "", &keyError{fmt.Sprintf("must be a single value of 1 to %d printable ASCII characters", maxKey)}
	}
	return key, nil
}

// body reads the body of a request, if it is small enough and arrives in time.
func (s *submitter) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > site.MaxSubmission {
		return nil, errTooLarge
	}
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(s.BodyTime)) // fails only without a real connection, in tests
	body, err := io.ReadAll(io.LimitReader(r.Body, site.MaxSubmission+1))
	if len(body) > site.MaxSubmission {
		return nil, errTooLarge
	}
	if err != nil {
		if slow := net.Error(nil); errors.As(err, &slow) && slow.Timeout() {
			return nil, errSlowBody
		}
		return nil, errBrokenBody
	}
	// A deadline that expired during the probe would look like a closed connection.
	_ = connection.SetReadDeadline(time.Time{})
	return body, nil
}
