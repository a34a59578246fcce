package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tollbook/output/archive"
)

// Web is a published place that is read over HTTP: a bucket's public URL, a CDN, a folder behind a web server, or a
// running tollbook serve. It cannot be written or listed. Web waits as long as a Retry-After header says.
type Web struct {
	base   *url.URL
	client *http.Client

	mu       sync.Mutex
	snapshot string // the id of the first response, if the server sends one
}

// webAttempts is the number of attempts of a request.
const webAttempts = 5

// OpenWeb opens the place at a URL. It sends no request.
func OpenWeb(address string) (*Web, error) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" ||
		base.Fragment != "" {
		return nil, fmt.Errorf("open %.80q: want a URL such as https://tollbook.example", withoutUser(address))
	}
	t := newTransport(stallAfter)
	t.http.DialContext = (&net.Dialer{
		Timeout: 5 * time.Second, KeepAlive: 30 * time.Second, Control: new(addressGuard).check,
	}).DialContext
	return &Web{base: base, client: &http.Client{Transport: t, CheckRedirect: checkRedirect}}, nil
}

// maxRedirects is the most redirects that are followed.
const maxRedirects = 5

// checkRedirect allows redirects within the host, and from http to https. A publication may be on the server of
// a stranger, who must not choose which hosts this machine asks.
func checkRedirect(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("the server redirects more than %d times: %w", maxRedirects, errRedirect)
	case r.URL.Hostname() != first.Hostname():
		return fmt.Errorf("the server redirects to another host; use the URL of %s: %w", r.URL.Host, errRedirect)
	case r.URL.Scheme != first.Scheme && r.URL.Scheme != "https":
		return fmt.Errorf("the server redirects from %s to %s: %w", first.Scheme, r.URL.Scheme, errRedirect)
	case r.URL.Port() != first.Port() && (r.URL.Port() != "" || r.URL.Scheme == first.Scheme):
		return fmt.Errorf("the server redirects to another port; use the URL of %s: %w", r.URL.Host, errRedirect)
	}
	return nil
}

var (
	errRedirect = errors.New("redirect refused")
	errRebound  = errors.New("the name of the server led to a public address before, and now leads to a private one; " +
		"start again if that is meant")
)

// addressGuard refuses private addresses after a public one. The operator may choose a place on a private network, but
// the owner of a public name must not turn it into one.
type addressGuard struct{ isPublic atomic.Bool }

// check is a net.Dialer.Control.
func (g *addressGuard) check(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	a := target.Addr().Unmap()
	if a.IsGlobalUnicast() && !a.IsPrivate() {
		g.isPublic.Store(true)
		return nil
	}
	if g.isPublic.Load() {
		return errRebound
	}
	return nil
}

// withoutUser returns an address for an error, without what may be a password or a key.
func withoutUser(address string) string {
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		address = "…" + address[i:]
	}
	address, _, _ = strings.Cut(address, "?")
	return address
}

// String implements Store.
func (w *Web) String() string { return w.base.Redacted() }

// Traffic implements Store.
func (w *Web) Traffic() Traffic { return w.client.Transport.(*transport).traffic() }

// KeepsHeader implements Store.
func (w *Web) KeepsHeader() bool { return true }

// Get implements Store.
func (w *Web) Get(ctx context.Context, name string, o GetOptions) (Object, io.ReadCloser, error) {
	res, err := w.do(ctx, http.MethodGet, name, o)
	if err != nil {
		return Object{}, nil, fmt.Errorf("get %s: %w", name, err)
	}
	obj := w.object(name, res)
	if o.Offset > 0 || o.Length > 0 {
		total := res.Header.Get("Content-Range")
		if obj.Size, err = strconv.ParseInt(total[strings.LastIndexByte(total, '/')+1:], 10, 64); err != nil ||
			res.StatusCode != http.StatusPartialContent {
			res.Body.Close()
			return Object{}, nil, fmt.Errorf("get %s: the server does not support ranges", name)
		}
	}
	return obj, &responseBody{res.Body, name}, nil
}

// Stat implements Store.
func (w *Web) Stat(ctx context.Context, name string) (Object, error) {
	res, err := w.do(ctx, http.MethodHead, name, GetOptions{})
	if err != nil {
		return Object{}, fmt.Errorf("stat %s: %w", name, err)
	}
	res.Body.Close()
	return w.object(name, res), nil
}

func (w *Web) object(name string, res *http.Response) Object {
	// Only a strong validator can be compared; without one, ranges have no condition.
	etag := ""
	if tag := res.Header.Get("ETag"); strings.HasPrefix(tag, `"`) {
		etag = strings.Trim(tag, `"`)
	}
	return Object{Name: name, Size: res.ContentLength, ETag: etag, Header: Header{
		Type: res.Header.Get("Content-Type"), Encoding: res.Header.Get("Content-Encoding"),
		Cache: res.Header.Get("Cache-Control"),
	}}
}

func (w *Web) do(ctx context.Context, method, name string, o GetOptions) (*http.Response, error) {
	if err := archive.CheckName(name); err != nil {
		return nil, err
	}
	var last error
	for try := range webAttempts {
		req, err := http.NewRequestWithContext(ctx, method, w.url(name), nil)
		if err != nil {
			return nil, err
		}
		switch {
		case o.Length > 0:
			req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", o.Offset, o.Offset+o.Length-1))
		case o.Offset > 0:
			req.Header.Set("Range", fmt.Sprintf("bytes=%d-", o.Offset))
		}
		if o.IfMatch != "" {
			req.Header.Set("If-Match", `"`+o.IfMatch+`"`)
		}
		res, err := w.client.Do(req)
		wait := time.Duration(try+1) * 200 * time.Millisecond
		if errors.Is(err, errRedirect) || errors.Is(err, errRebound) {
			return nil, err
		}
		if err != nil {
			last = fmt.Errorf("%w: %w", archive.ErrUnreachable, err)
		} else {
			if last = w.checkStatus(res); last == nil {
				return res, nil
			}
			res.Body.Close()
			if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
				wait = time.Duration(min(max(seconds, 1), 120)) * time.Second
			}
		}
		if !errors.Is(last, archive.ErrUnreachable) {
			return nil, last
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, last
}

func (w *Web) checkStatus(res *http.Response) error {
	switch code := res.StatusCode; {
	case code == http.StatusOK || code == http.StatusPartialContent:
		w.mu.Lock()
		defer w.mu.Unlock()
		if id := res.Header.Get("X-Snapshot"); w.snapshot == "" && id != "" {
			w.snapshot = id
		}
		return nil
	// A bucket that may not be listed answers 403 for a missing object.
	case code == http.StatusNotFound || code == http.StatusForbidden:
		return fs.ErrNotExist
	case code == http.StatusPreconditionFailed:
		return archive.ErrCondition
	case code == http.StatusTooManyRequests || code >= 500:
		return fmt.Errorf("%w: status %d", archive.ErrUnreachable, code)
	default:
		return fmt.Errorf("status %d", code)
	}
}

// url returns the URL of an object. If the server names its snapshots, the URL asks for that of the first response.
func (w *Web) url(name string) string {
	u := w.base.JoinPath(strings.Split(name, "/")...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.snapshot != "" && name != archive.CheckpointFile && !archive.IsDownload(name) {
		u.RawQuery = "snapshot=" + url.QueryEscape(w.snapshot)
	}
	return u.String()
}

// Put implements Store. It always fails.
func (w *Web) Put(context.Context, string, Body, PutOptions) (string, error) {
	return "", errors.ErrUnsupported
}

// List implements Store.
func (w *Web) List(context.Context, string) ([]Object, error) { return nil, errors.ErrUnsupported }

// Delete implements Store.
func (w *Web) Delete(context.Context, []string) error { return errors.ErrUnsupported }

// Sweep implements Store.
func (w *Web) Sweep(context.Context, string) error { return errors.ErrUnsupported }

var _ Store = (*Web)(nil)
