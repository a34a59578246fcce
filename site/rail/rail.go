// Package rail reads the response of a service that asks to be paid over another protocol than x402: MPP (the "Payment"
// authentication scheme), L402 (Lightning) or the crawler-price header. From the bytes of a 402 it extracts offers, and
// says of each which checks of its protocol's own specification it fails. SOURCES.md names the specifications.
//
// The package is pure: it uses no clock, network or database, and knows no service, check of a service or page. All
// input may be hostile: it reads at most MaxOffers offers of a response. It must never know x402's terms; package x402
// reads those.
package rail

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"tollbook/site/invisible"
	"tollbook/site/x402"
)

// The payment protocols, as the API names them.
const (
	X402         = "x402"
	MPP          = "mpp"
	L402         = "l402"
	CrawlerPrice = "crawler-price"
)

// Protocols are the protocols that this package reads, in the order in which a service's are listed.
var Protocols = []string{MPP, L402, CrawlerPrice}

// MaxOffers is the largest number of offers that are read from one response.
const MaxOffers = 16

// maxText is the largest length in bytes of a published text of an offer.
const maxText = 512

// Answer is a response with status 402, or an answer to the call of an MCP tool, as received.
type Answer struct {
	Status      int
	Header      http.Header
	Body        []byte // is read for an MCP tool alone
	URL         string // of the response, after redirects
	TLSVerified bool
	ReceivedAt  time.Time // offers that end before it are expired
}

// Terms is one way to pay, as it is stored.
type Terms struct {
	Protocol     string
	Scheme       string // MPP: method and intent, as in "tempo/charge"; L402: "bolt11"; crawler-price: "crawl"
	Network      string // CAIP-2 id, or the name of a network that has none, such as "stripe"
	NetworkCAIP2 string // "" if the network has none
	Asset        string // token address or currency, as received; "BTC" for L402
	// in the smallest unit of the asset (millisatoshis for L402); for crawler-price the value as a decimal; "" if there
	// is none
	Amount            string
	PayTo             string // "" if the offer names nobody
	MaxTimeoutSeconds *int   // how long an invoice is valid; nil without an invoice
	Variable          bool   // the amount is the price of a unit or a limit, not that of a call
}

// Offer is one way to pay, with the checks that it fails.
type Offer struct {
	Terms
	failed map[string]string // reasons, by the id of the check

	warnings []x402.Warning
}

// Usable reports whether the offer can be paid.
func (o Offer) Usable() bool { return o.Fault() == "" }

// Fault returns why the offer cannot be paid, "" if it can.
func (o Offer) Fault() string {
	for _, c := range checks[o.Protocol] {
		if reason := o.failed[c.ID]; reason != "" && c.Fatal {
			return reason
		}
	}
	return ""
}

// fail records the first reason for which the offer fails a check.
func (o *Offer) fail(id, format string, args ...any) {
	if o.failed[id] == "" {
		o.failed[id] = fmt.Sprintf(format, args...)
	}
}

// Read returns the offers in a response, by protocol and then in the order received.
func Read(a Answer) []Offer {
	var list []Offer
	for _, value := range a.Header.Values("Www-Authenticate") {
		if len(value) > x402.MaxHeader {
			continue
		}
		for _, c := range x402.ReadChallenges(value) {
			if len(list) == MaxOffers {
				break
			}
			switch strings.ToLower(c.Scheme) {
			case "payment":
				list = append(list, readMPP(a, c.Params))
			case "l402", "lsat":
				list = addL402(list, readL402(a, c))
			}
		}
	}
	for _, raw := range x402.ToolChallenges(x402.Answer{Status: a.Status, Header: a.Header, Body: a.Body, URL: a.URL}) {
		if len(list) < MaxOffers {
			list = append(list, readMPP(a, challengeParams(raw)))
		}
	}
	if values := a.Header.Values("Crawler-Price"); len(values) > 0 {
		list = append(list[:min(len(list), MaxOffers-1)], readCrawlerPrice(values))
	}
	for i := range list {
		if !a.TLSVerified || !strings.HasPrefix(a.URL, "https://") {
			list[i].fail(transportHTTPS, "the response did not come over https with a valid certificate")
		}
	}
	slices.SortStableFunc(list, func(a, b Offer) int {
		return slices.Index(Protocols, a.Protocol) - slices.Index(Protocols, b.Protocol)
	})
	return list
}

func newOffer(protocol string) Offer {
	return Offer{Terms: Terms{Protocol: protocol}, failed: map[string]string{}}
}

// setNetwork sets the network of an offer by its CAIP-2 id.
func (o *Offer) setNetwork(id string) {
	o.Network, o.NetworkCAIP2 = id, id
	if n, ok := x402.NetworkByID(id); ok {
		o.Network, o.NetworkCAIP2 = n.ID, n.ID
	}
}

// digits returns text as a whole number above zero without leading zeros, "" if it is none or has more than 78 digits,
// those of the largest uint256.
func digits(text string) string {
	if text == "" || len(text) > 256 || strings.Trim(text, "0123456789") != "" {
		return ""
	}
	if text = strings.TrimLeft(text, "0"); len(text) > 78 {
		return ""
	}
	return text
}

// clip returns at most maxText bytes of s as printable text.
func clip(s string) string {
	return invisible.Replace(invisible.Clip(s, maxText))
}
