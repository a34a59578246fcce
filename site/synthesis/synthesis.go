// Package synthesis is what a language model is asked about a service, and what of its answer counts.
//
// A question is made of kept facts: the service's own words and what it sells, without anything that moves from check
// to check. All of it is a stranger's text, so it goes to the model as JSON strings in one document, apart from the
// instructions, and whatever comes back is read as a stranger's text too: an answer counts whole or not at all. The
// package is pure. It must never know a network, a clock or a schedule, and never judges a service.
package synthesis

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// Input is what a model is told of a service. Its texts are clipped, and hold nothing that is not seen.
type Input struct {
	Service   Service    `json:"service"`
	Endpoints []Endpoint `json:"endpoints"` // by path, then method
	LeftOut   int        `json:"endpoints_left_out"`
}

// Service is what it says of itself.
type Service struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Category    string   `json:"category"`
	BaseURL     string   `json:"base_url"`
	Documents   []string `json:"documents"` // that its site has
}

// Endpoint is one address of it, with what its answer says of itself.
type Endpoint struct {
	Method      string `json:"method"`
	Path        string `json:"path"`
	Description string `json:"description"`
	MimeType    string `json:"mime_type"`
	Offer       *Offer `json:"x402,omitempty"`
}

// Offer is what an endpoint's 402 says of what is sold, and how it is called.
type Offer struct {
	ServiceName  string   `json:"service_name"`
	Description  string   `json:"description"`
	MimeType     string   `json:"mime_type"`
	Tags         []string `json:"tags"`
	ExampleBody  string   `json:"example_body"`
	ExampleQuery string   `json:"example_query"`
}

// Lengths in characters to which texts are cut, and bounds of the whole. Another prompt version goes with other bounds.
const (
	maxName        = 100
	maxDescription = 1000
	maxAddress     = 200
	maxShort       = 60
	maxOffer       = 300
	maxExample     = 500
	maxTags        = 8
	maxEndpoints   = 25
	maxBytes       = 24 << 10 // of the endpoints, in JSON
)

// InputOf makes a service's input of facts. captured gives what an endpoint's kept envelope was read as; x402.Capture
// of it where the caller has nothing better.
func InputOf(f *postgres.ServiceFacts, captured func(*postgres.EndpointFacts) x402.Captured) Input {
	in := Input{
		Service: Service{
			Name: plain(f.Name, maxName), Description: plain(f.Description, maxDescription),
			Category: plain(f.Category, maxShort),
			BaseURL:  plain(f.BaseURL, maxAddress), Documents: documents(f.Site),
		},
		Endpoints: []Endpoint{},
	}
	size := 0
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		row := Endpoint{Method: plain(e.Method, maxShort), Path: plain(e.Path, maxAddress),
			Description: plain(text(e.Description), maxOffer), MimeType: plain(text(e.MimeType), maxShort)}
		if e.Envelope != nil {
			row.Offer = offerOf(captured(e))
		}
		if size += len(encode(row)); len(in.Endpoints) == maxEndpoints || size > maxBytes {
			in.LeftOut = len(f.Endpoints) - i
			break
		}
		in.Endpoints = append(in.Endpoints, row)
	}
	return in
}

// Capture reads an endpoint's kept envelope.
func Capture(e *postgres.EndpointFacts) x402.Captured {
	v := e.Envelope
	return x402.Capture(x402.Answer{Status: v.StatusCode, Header: v.Header, Body: v.Body, Truncated: v.Truncated,
		URL: v.URL})
}

// offerOf is nil where an answer says nothing but the price.
func offerOf(c x402.Captured) *Offer {
	if c.Envelope == nil {
		return nil
	}
	r := c.Envelope.Resource
	o := Offer{ServiceName: plain(r.ServiceName, maxName), Description: plain(r.Description, maxOffer),
		MimeType: plain(r.MimeType, maxShort), Tags: []string{}}
	for _, tag := range r.Tags[:min(len(r.Tags), maxTags)] {
		o.Tags = append(o.Tags, plain(tag, maxShort))
	}
	if d := c.Envelope.Discovery; d != nil {
		o.ExampleBody, o.ExampleQuery = plain(string(d.Body), maxExample), plain(string(d.QueryParams), maxExample)
	}
	if o.ServiceName+o.Description+o.MimeType+o.ExampleBody+o.ExampleQuery == "" && len(o.Tags) == 0 {
		return nil
	}
	return &o
}

// documents are those that are known to be there. What is not known and what is not there are one: a site that does not
// answer today is no reason to ask again.
func documents(s *postgres.SiteFacts) []string {
	names := []string{}
	if s == nil {
		return names
	}
	for _, d := range []struct {
		name string
		is   *bool
	}{{"homepage", s.Homepage}, {"openapi", s.OpenAPI}, {"pricing", s.Pricing}, {"llms.txt", s.LLMsTxt},
		{"terms", s.Terms}} {
		if d.is != nil && *d.is {
			names = append(names, d.name)
		}
	}
	return names
}

// Document is the input as the model gets it: JSON in one line, always the same for the same input.
func (in Input) Document() string { return string(encode(in)) }

// Hash is the sha256 of the document, in hex. An answer belongs to one hash; asked again is only what has another, or
// was answered by another model or to another prompt.
func (in Input) Hash() string {
	sum := sha256.Sum256(encode(in))
	return hex.EncodeToString(sum[:])
}

func encode(v any) []byte {
	b, _ := json.Marshal(v) // texts, numbers and structs of them always encode
	return b
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// plain is s in one line of at most limit characters, without anything that is not seen: no control, direction,
// zero-width, tag, private or unassigned characters, in which an order could be hidden from people.
func plain(s string, limit int) string {
	line, _ := site.Line(s, limit, hidden)
	return line
}

// hidden says whether a character is not seen, or changes how others are.
func hidden(r rune) bool {
	switch {
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x034f, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 &&
		r <= 0xe01ef:
		return true // fillers and variation selectors, which carry hidden bytes
	case r == ' ':
		return false
	}
	return !unicode.IsGraphic(r)
}
