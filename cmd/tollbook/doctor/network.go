package doctor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"tollbook/cmd/tollbook/settings"
	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/site/webbotauth"
)

func node(ctx context.Context, network, address string) Finding {
	host := settings.SchemeAndHost(address)
	h, err := crawl.InspectNode(ctx, network, address, chain.Options{Timeout: 10 * time.Second})
	if err != nil {
		return wrong("try another node of this network: rpc of its [[network]]", "%s", oneLine(err))
	}
	if lag := h.PolledAt.Sub(h.Time); lag > maxLag {
		return wrong("wait until the node catches up, or add another one",
			"%s is at block %d, %s behind", host, h.Block, lag.Round(time.Second))
	}
	return good("%s serves %s, block %d", host, network, h.Block)
}

// head sends a HEAD request and does not follow redirects.
func head(ctx context.Context, address string) (http.Header, *tls.ConnectionState, error) {
	res, err := ask(ctx, http.MethodHead, address)
	if err != nil {
		return nil, nil, err
	}
	res.Body.Close()
	return res.Header, res.TLS, nil
}

// ask sends a request without a body and does not follow redirects. The caller closes the body of the response.
func ask(ctx context.Context, method, address string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, errors.New("it is no URL") // without the text, which may contain a secret
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	res, err := client.Do(r)
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, err
	}
	return res, nil
}

// maxDirectory is the most bytes that are read of a key directory.
const maxDirectory = 1 << 20

// crawlerKey checks that the site publishes the key that signs the crawler's requests.
func (o *Options) crawlerKey(ctx context.Context) Finding {
	switch {
	case o.SignerErr != nil:
		return wrong("set crawl.key to a key of its own, and site.base_url to where readers find the directory", "%s",
			oneLine(o.SignerErr))
	case o.Signer == nil:
		return none("crawl.key is not set: requests to services are not signed")
	}
	const build = "build and publish with crawl.key set; where another server has the root of the host, let it answer " +
		"/" + webbotauth.DirectoryFile
	res, err := ask(ctx, http.MethodGet, o.Signer.Agent()+"/"+webbotauth.DirectoryFile)
	if err != nil {
		return wrong(build, "the key directory of %s can't be read: %s", o.Signer.Agent(), oneLine(err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDirectory))
	if err != nil || res.StatusCode != http.StatusOK {
		return wrong(build, "the key directory of %s answers %s", o.Signer.Agent(), res.Status)
	}
	var directory struct {
		Keys []struct{ Kid, X string }
	}
	if err := json.Unmarshal(body, &directory); err != nil {
		return wrong(build, "the key directory of %s is no JSON Web Key Set", o.Signer.Agent())
	}
	if !slices.ContainsFunc(directory.Keys, func(k struct{ Kid, X string }) bool { return k.Kid == o.Signer.KeyID() }) {
		return wrong(build, "the key directory of %s lacks the key %s of crawl.key, so services refuse its signatures",
			o.Signer.Agent(), o.Signer.KeyID())
	}
	if mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); mediaType != webbotauth.DirectoryType {
		return warning("let the server send it with Content-Type: "+webbotauth.DirectoryType,
			"the key directory of %s has the media type %.60q, which verifiers may refuse", o.Signer.Agent(), mediaType)
	}
	if res.Header.Get("Signature") == "" {
		return good("%s publishes key %s, without a signature of its own, as a static host does", o.Signer.Agent(),
			o.Signer.KeyID())
	}
	return good("%s publishes key %s, signed", o.Signer.Agent(), o.Signer.KeyID())
}

func (o *Options) readers(ctx context.Context, clocks *clockSkews) Finding {
	if o.BaseURL == "" {
		return none("site.base_url is not set")
	}
	host := settings.SchemeAndHost(o.BaseURL)
	began := time.Now()
	header, state, err := head(ctx, strings.TrimSuffix(o.BaseURL, "/")+"/"+checkpointName)
	invalid := new(tls.CertificateVerificationError)
	switch {
	case errors.As(err, &invalid):
		return wrong("renew the certificate, for this name", "%s: %s", host, oneLine(err))
	case err != nil:
		return wrong("check that tollbook serve, or the server in its place, runs and can be reached from here",
			"%s does not answer: %s", host, oneLine(err))
	}
	differs := ""
	if skew, ok := clockSkew(header, began); ok {
		differs = clocks.differs(host, skew)
	}
	if state == nil {
		return withClock(good("%s answers, without a certificate", host), differs)
	}
	ends := state.PeerCertificates[0].NotAfter
	if left := time.Until(ends); left < certificateDays {
		return wrong("renew it, and find out why that was not automatic", "the certificate of %s ends on %s", host,
			ends.UTC().Format(time.DateOnly))
	}
	return withClock(good("%s answers, its certificate is valid until %s", host, ends.UTC().Format(time.DateOnly)),
		differs)
}
