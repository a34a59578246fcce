package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
)

// StatusError is an error response of the API.
type StatusError struct {
	API        site.Error
	retryAfter time.Duration // 0 if the response does not say
}

// maxRetryAfter is the longest wait that a message repeats.
const maxRetryAfter = 24 * time.Hour

// Error returns what the API says, in one line.
func (e *StatusError) Error() string {
	switch {
	case e.API.Code == http.StatusTooManyRequests && e.retryAfter > 0:
		return fmt.Sprintf("it got too many requests from you; wait %s, then run the command again", e.retryAfter)
	case e.API.Code == http.StatusTooManyRequests:
		return "it got too many requests from you; wait a minute, then run the command again"
	case e.API.Code >= http.StatusInternalServerError:
		return fmt.Sprintf("it answers %d: %s; try again later", e.API.Code, e.API.Message)
	}
	return e.API.Message
}

// statusErrorOf reads an error response of the API. It returns nil for a response in another form, which no Tollbook
// sends.
func statusErrorOf(res *http.Response, body []byte) error {
	var b site.ErrorBody
	err := json.Unmarshal(body, &b)
	isAPI := err == nil && b.Error.Code == res.StatusCode && b.Error.Type != ""
	if !isAPI && res.StatusCode != http.StatusTooManyRequests { // which a proxy may answer, too
		return nil
	}
	e := &StatusError{API: b.Error}
	e.API.Code, e.API.Message = res.StatusCode, display.Line(b.Error.Message, display.MaxLine)
	for i := range e.API.Fields {
		e.API.Fields[i].Message = display.Line(e.API.Fields[i].Message, display.MaxLine)
	}
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && n > 0 {
		e.retryAfter = min(time.Duration(n)*time.Second, maxRetryAfter)
	}
	return e
}

// IsNotFound reports whether the API found nothing at a path of a directory that works.
func IsNotFound(err error) bool {
	var e *StatusError
	return errors.As(err, &e) && e.API.Code == http.StatusNotFound
}

// fail adds the directory to an error, and leaves out the URL of the request, which may contain a secret.
func (r *Reader) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err() // Ctrl-C
	}
	var redirect errRedirect
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	var failed *url.Error
	switch {
	case errors.As(err, &redirect):
		err = redirect
	case errors.As(err, &dns) && dns.IsNotFound:
		err = errors.New("there is no such host; check --directory")
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		err = fmt.Errorf("it does not answer within %s", r.client.Timeout)
	case errors.As(err, &failed):
		err = failed.Err
	}
	return fmt.Errorf("read the directory %s: %w", r.name, err)
}

// explainForeign returns an error for a response that the API does not send at a path. It asks for the route table to
// tell a directory that is older or consists of files alone from a server that is no directory.
func (r *Reader) explainForeign(ctx context.Context, path, what string) error {
	table, ok := r.routes(ctx)
	switch {
	case ctx.Err() != nil:
		return r.fail(ctx, ctx.Err())
	case !ok:
		return r.fail(ctx, fmt.Errorf("%s: this is not a Tollbook directory; check --directory", what))
	case !hasRoute(table, path):
		return r.fail(ctx, errOlder(path))
	}
	return r.fail(ctx, fmt.Errorf("%s: its server sends files alone and can't answer this; ask its operator to serve "+
		"it with tollbook serve or with the configuration of tollbook edge", what))
}

func errOlder(path string) error {
	return fmt.Errorf("its Tollbook is older than this program and has no %s", path)
}

// routes returns the route table of the directory, and false if it has none.
func (r *Reader) routes(ctx context.Context) (table []route, ok bool) {
	res, body, err := r.request(ctx, "/"+routes.TableFile, nil)
	if err != nil || res.StatusCode != http.StatusOK {
		return nil, false
	}
	var t struct {
		Data struct{ Routes []route }
	}
	err = json.Unmarshal(body, &t)
	return t.Data.Routes, err == nil && len(t.Data.Routes) > 0
}

type route struct{ Pattern string }

// hasRoute reports whether a table has a route for a path.
func hasRoute(table []route, path string) bool {
	path = strings.TrimSuffix(path, ".json")
	for _, r := range table {
		head, tail, variable := strings.Cut(r.Pattern, "{")
		if _, tail, _ = strings.Cut(tail, "}"); path == r.Pattern ||
			variable && strings.HasPrefix(path, head) && len(path) > len(head) && strings.HasSuffix(path, tail) {
			return true
		}
	}
	return false
}

// RequireRoute turns a 404 for the path of a route without a variable segment into an error that says that the
// directory is older, and returns other errors as they are.
func (r *Reader) RequireRoute(ctx context.Context, path string, err error) error {
	if !IsNotFound(err) {
		return err
	}
	if table, ok := r.routes(ctx); ok && !hasRoute(table, path) {
		return r.fail(ctx, errOlder(path))
	}
	return err
}
