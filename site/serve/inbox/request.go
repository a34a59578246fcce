package inbox

import (
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
	"tollbook/site/message"
)

// request is a request that sends a message.
type request struct {
	segment string // of its path: a slug
	media   string // mediaJSON or mediaForm; "" for any other
	key     string // value of Idempotency-Key; "" if absent
	client  string // the sender, as limits count it
	body    []byte
	form    url.Values // the body of a form
}

// read reads a request within the limits of messages. After an error, the rest of the body is not read, so the
// connection ends. The request is never nil.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, segment, client string) (q *request, err error) {
	q = &request{segment: segment, client: client}
	if q.media, err = mediaType(r); err == nil {
		err = checkOrigin(r, q.media)
	}
	if err == nil {
		q.key, err = idempotencyKey(r)
	}
	if err == nil {
		q.body, err = h.body(w, r)
	}
	if err != nil {
		w.Header().Set("Connection", "close")
		return q, err
	}
	if q.media == mediaForm {
		if q.form, err = url.ParseQuery(string(q.body)); err != nil {
			err = message.NewReader("form", nil).BodyError("is not a valid form")
		}
	}
	return q, err
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

	errForeignForm = errors.New("the form is on a page of another site")

	errBrokenBody = errors.New("the body ended early")
)

// keyError reports an invalid Idempotency-Key.
type keyError struct{ message string }

func (e *keyError) Error() string { return "Idempotency-Key " + e.message }

// checkOrigin refuses a form, or an empty request, that a browser sends from a page of another site without a preflight
// request. JSON needs a preflight request, which permits it to pages of all sites.
func checkOrigin(r *http.Request, media string) error {
	if (media == mediaForm || r.ContentLength == 0) && crossOrigin.Check(r) != nil {
		return errForeignForm
	}
	return nil
}

var crossOrigin = http.NewCrossOriginProtection()

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
func (h *Handler) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > site.MaxSubmission {
		return nil, errTooLarge
	}
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(h.BodyTime)) // fails only without a real connection, in tests
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
