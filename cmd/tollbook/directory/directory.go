// Package directory reads the API of a directory for its users: over HTTP, or from the publication in a data folder by
// the handler that serves readers. It limits time and size, follows no redirect to another site, and explains every
// failure. It must never know a command, or print anything.
package directory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/cmd/tollbook/version"
	"tollbook/output"
	"tollbook/site/routes"
	"tollbook/site/serve"
)

const (
	// defaultTimeout is the longest time of a request, with its redirects and its whole response.
	defaultTimeout = 30 * time.Second
	// maxResponse is the maximum size of a response in bytes. The index of 20,000 services has 2 MB.
	maxResponse = 16 << 20
	// maxHeader is the maximum size of a response's headers in bytes.
	maxHeader = 64 << 10
	// maxRedirects is the maximum number of redirects of a request.
	maxRedirects = 5
)

// Options say which directory is read.
type Options struct {
	URL    string // base URL of a directory; "" for the publication in Public
	Public string // folder that snapshots are published to
}

// Reader sends requests to a directory. The caller must Close it.
type Reader struct {
	base   *url.URL
	name   string // the directory in messages, without a secret
	client http.Client
	close  func()
}

// CheckURL returns an error of the command line unless text is the base URL of a directory. It accepts "".
func CheckURL(text string) error {
	if text == "" {
		return nil
	}
	_, err := parseURL(text)
	return err
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, terminal.UsageErrorf("--directory %q: give a URL such as https://directory.example", settings.RedactUser(text))
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), ""
	return u, nil
}

// Open returns a reader of a directory. A remote directory is not contacted yet; a local one must be published.
func Open(o Options) (*Reader, error) {
	if o.URL == "" {
		return openFolder(o.Public)
	}
	base, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = maxHeader
	return newReader(base, settings.RedactURL(o.URL), transport, transport.CloseIdleConnections), nil
}

func openFolder(public string) (*Reader, error) {
	const advice = `name a directory with --directory https://… or TOLLBOOK_DIRECTORY, or the data of one with --data`
	source, err := output.OpenSource(public, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, advice)
	}
	snap, err := source.Current()
	if err != nil {
		source.Close()
		if errors.Is(err, output.ErrEmpty) {
			return nil, fmt.Errorf("read %s: nothing is published there; %s", public, advice)
		}
		return nil, fmt.Errorf("read %s: %w", public, err)
	}
	snap.Release()
	handler := serve.NewHandler(serve.Options{Source: source})
	base := &url.URL{Scheme: "http", Host: "localhost"}
	return newReader(base, public, serve.InProcessTransport{Handler: handler}, func() { source.Close() }), nil
}

func newReader(base *url.URL, name string, transport http.RoundTripper, closer func()) *Reader {
	return &Reader{
		base: base, name: name, close: closer,
		client: http.Client{Transport: transport, CheckRedirect: checkRedirect, Timeout: defaultTimeout},
	}
}

// Close closes idle connections or the folder.
func (r *Reader) Close() { r.close() }

// Name returns the directory's URL without a secret, or its folder.
func (r *Reader) Name() string { return r.name }

// errRedirect is returned for a redirect to another site.
type errRedirect struct{ to string }

func (e errRedirect) Error() string {
	return "it redirects to " + e.to + "; if you trust that site, give it as --directory"
}

var errRedirects = fmt.Errorf("it redirects more than %d times", maxRedirects)

// checkRedirect follows redirects within one origin only. Another site is not the directory that the user named, and
// must not learn what the user looks for.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if from := via[0].URL; req.URL.Scheme != from.Scheme || req.URL.Host != from.Host {
		return errRedirect{settings.SchemeAndHost(req.URL.String())}
	}
	if len(via) > maxRedirects {
		return errRedirects
	}
	return nil
}

// Get returns the JSON of an API path, such as "/v1/networks". Every other response is an error that names the
// directory: a *StatusError if the API refused the request.
func (r *Reader) Get(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	res, body, err := r.request(ctx, path, query)
	if err != nil {
		return nil, r.fail(ctx, err)
	}
	if res.StatusCode != http.StatusOK {
		if err := statusErrorOf(res, body); err != nil {
			return nil, r.fail(ctx, err)
		}
		return nil, r.explainForeign(ctx, path, fmt.Sprintf("%s answers %d without the JSON of an error", path,
			res.StatusCode))
	}
	if !isObject(body) {
		return nil, r.explainForeign(ctx, path, path+" answers no JSON")
	}
	return body, nil
}

// request sends a request and reads the whole response.
func (r *Reader) request(ctx context.Context, path string, query url.Values) (*http.Response, []byte, error) {
	u := *r.base
	u.Path, u.RawQuery = r.base.Path+path, query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", routes.TypeJSON)
	req.Header.Set("User-Agent", version.UserAgent(""))
	res, err := r.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, nil, fmt.Errorf("%s ends after %d bytes, before its end; try again", path, len(body))
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	case len(body) > maxResponse:
		return nil, nil, fmt.Errorf("%s is larger than %d MB", path, maxResponse>>20)
	}
	return res, body, nil
}

// isObject reports whether body is one JSON object. Every response of the API is one.
func isObject(body []byte) bool {
	return strings.HasPrefix(strings.TrimLeft(string(body[:min(len(body), 100)]), " \t\r\n"), "{") && json.Valid(body)
}

// GetData decodes the member data of the JSON of an API path.
func GetData[T any](ctx context.Context, r *Reader, path string) (data T, err error) {
	body, err := r.Get(ctx, path, nil)
	if err != nil {
		return data, err
	}
	return data, r.Decode(path, body, &struct {
		Data *T `json:"data"`
	}{&data})
}

// Decode decodes a response into a value of the contract. Its error names the directory.
func (r *Reader) Decode(path string, body json.RawMessage, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		var fault *json.UnmarshalTypeError
		detail := "it has another form than this program reads"
		if errors.As(err, &fault) {
			detail = fmt.Sprintf("its member %q has another type than this program reads", cmp.Or(fault.Field, "data"))
		}
		return fmt.Errorf("read the directory %s: %s: %s", r.name, path, detail)
	}
	return nil
}
