package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tollbook/cmd/tollbook/settings"
	"tollbook/crawl"
	"tollbook/crawl/chain"
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
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		return nil, nil, errors.New("it is no URL") // without the text, which may contain a secret
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
		return nil, nil, err
	}
	res.Body.Close()
	return res.Header, res.TLS, nil
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
