package probe

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"tollbook/site/rail"
	"tollbook/site/x402"
)

// browserAccept is the Accept header of browsers. The User-Agent stays that of Tollbook.
const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// clientAgent returns a user agent whose product is that of clients in JavaScript, which pay most. The contact stays, so
// that owners know who asks.
func clientAgent(agent string) string {
	const product = "node"
	if _, contact, ok := strings.Cut(agent, " "); ok {
		return product + " " + contact
	}
	return product
}

// Look sends the request of a probe with the verdict Paid again as a browser would, with the user agent of a client
// that pays, without a signature if the prober signs, and by the other one of GET and POST if anyMethod says that
// nobody declared a method. It returns what each reader is asked for, the agent first.
//
// A service whose terms differ in every request contradicts itself for no reader. So if two readers are asked for
// different payments, Look asks once more as an agent, and leaves out the other readers if the agent's terms changed
// too. The caller keeps the pace.
func (p *Prober) Look(ctx context.Context, r Result, anyMethod bool) []rail.Reader {
	u, err := url.Parse(r.Sent.URL)
	if err != nil || r.Verdict != Paid || x402.ToolOf(r.FinalURL) != "" {
		return nil
	}
	again := call{method: r.Sent.Method, url: u, body: r.Sent.Body, contentType: r.Sent.Header.Get("Content-Type")}
	agent := rail.Reader{As: rail.AsAgent, Method: r.Method, Status: r.Status, Terms: termsOf(r.Captured, r.Offers)}
	readers := []rail.Reader{agent}

	browser := again
	browser.header = http.Header{"Accept": {browserAccept}}
	readers = append(readers, p.readAs(ctx, rail.AsBrowser, browser))
	client := again
	client.header = http.Header{"User-Agent": {clientAgent(p.userAgent)}}
	readers = append(readers, p.readAs(ctx, rail.AsClient, client))
	if p.signer != nil {
		unsigned := again
		unsigned.unsigned = true
		readers = append(readers, p.readAs(ctx, rail.AsUnsigned, unsigned))
	}
	if other := otherMethod(again.method); anyMethod && other != "" {
		c := call{method: other, url: u}
		if hasBody(other) {
			c.body, c.contentType = []byte("{}"), "application/json"
		}
		readers = append(readers, p.readAs(ctx, rail.AsOtherMethod, c))
	}
	if len(rail.CompareReaders(readers)) > 0 {
		second := p.readAs(ctx, rail.AsAgent, again)
		if len(rail.CompareReaders([]rail.Reader{agent, second})) > 0 {
			return readers[:1]
		}
	}
	return readers
}

func otherMethod(method string) string {
	switch method {
	case http.MethodGet:
		return http.MethodPost
	case http.MethodPost:
		return http.MethodGet
	}
	return ""
}

// readAs sends a call and returns the terms of its response, none unless it asks for payment.
func (p *Prober) readAs(ctx context.Context, as string, c call) rail.Reader {
	c.header = maps.Clone(c.header)
	reply := p.exchange(ctx, c, true)
	out := rail.Reader{As: as, Method: c.method, Status: reply.answer.Status}
	if out.Status == http.StatusPaymentRequired {
		out.Terms = termsOf(x402.Capture(reply.answer), p.readOffers(reply))
	}
	return out
}

// termsOf returns what can be paid by a response.
func termsOf(c x402.Captured, offers []rail.Offer) []rail.Terms {
	return append(rail.RowTerms(c.Envelope), rail.OfferTerms(offers)...)
}
