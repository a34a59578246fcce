// Package synthesis writes the question to a language model about a service, and reads the model's reply.
//
// A question consists of stored facts: the service's own texts and what it sells, without values that differ between
// checks. All of it is a stranger's text, so the model gets it as JSON strings in one document, separate from the
// instructions. The reply is a stranger's text too: it is accepted as a whole or refused.
//
// The package is pure. It must never know a network, a clock or a schedule, and never judges a service.
package synthesis

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode"

	"tollbook/site/invisible"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// Input contains the facts about a service that are sent to a model. Its texts are cut and have no invisible
// characters.
type Input struct {
	Service   Service    `json:"service"`
	Endpoints []Endpoint `json:"endpoints"` // by path, then method
	LeftOut   int        `json:"endpoints_left_out"`
}

// Service contains what a service says of itself.
type Service struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Category    string   `json:"category"`
	BaseURL     string   `json:"base_url"`
	Documents   []string `json:"documents"` // documents on its site
}

// Endpoint is an endpoint of the service, with the offer in its response.
type Endpoint struct {
	Method      string `json:"method"`
	Path        string `json:"path"`
	Description string `json:"description"`
	MimeType    string `json:"mime_type"`
	Offer       *Offer `json:"x402,omitempty"`
}

// Offer contains what an endpoint's 402 response says about the product and how to call the endpoint.
type Offer struct {
	ServiceName  string   `json:"service_name"`
	Description  string   `json:"description"`
	MimeType     string   `json:"mime_type"`
	Tags         []string `json:"tags"`
	ExampleBody  string   `json:"example_body"`
	ExampleQuery string   `json:"example_query"`
}

// Lengths in characters to which texts are cut, and limits of the whole. Change PromptVersion with them.
const (
	maxName        = 100
	maxDescription = 1000
	maxAddress     = 200
	maxShort       = 60
	maxOffer       = 300
	maxExample     = 500
	maxTags        = 8
	maxEndpoints   = 25
	maxBytes       = 24 << 10 // of all endpoints, in JSON
)

// InputOf returns the input for a service. captured returns an endpoint's stored envelope as it was read before; pass
// Capture to read it again.
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
			row.Offer = newOffer(captured(e))
		}
		if size += len(encode(row)); len(in.Endpoints) == maxEndpoints || size > maxBytes {
			in.LeftOut = len(f.Endpoints) - i
			break
		}
		in.Endpoints = append(in.Endpoints, row)
	}
	return in
}

// Capture reads an endpoint's stored envelope.
func Capture(e *postgres.EndpointFacts) x402.Captured {
	v := e.Envelope
	return x402.Capture(x402.Answer{Status: v.StatusCode, Header: v.Header, Body: v.Body, Truncated: v.Truncated,
		URL: v.URL})
}

// newOffer returns the offer in a response, or nil if the response says nothing but the price.
func newOffer(c x402.Captured) *Offer {
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

// documents returns the documents that exist on a site. It treats an unknown document as a missing one, so that a site
// that does not respond today causes no new question.
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

// Document returns the input in the form that the model gets: one line of JSON, always the same for the same input.
func (in Input) Document() string { return string(encode(in)) }

// Hash returns the SHA-256 of the document in hex. A reply belongs to one hash. The question is sent again only if the
// hash, the model or the prompt changed.
func (in Input) Hash() string { return HashDocument(in.Document()) }

// HashDocument returns the Hash of the input with this document.
func HashDocument(document string) string {
	sum := sha256.Sum256([]byte(document))
	return hex.EncodeToString(sum[:])
}

func encode(v any) []byte {
	b, _ := json.Marshal(v) // cannot fail: v consists of strings and numbers
	return b
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// plain returns s in one line of at most limit characters, without invisible characters: control, direction,
// zero-width, tag, private or unassigned ones. They could hide an instruction from people.
func plain(s string, limit int) string {
	line, _ := listing.Line(s, limit, isHidden)
	return line
}

// isHidden reports whether a character is invisible, or could hide something from people that a model reads: joiners,
// variation selectors and unassigned characters.
func isHidden(r rune) bool {
	switch {
	case r == 0x034f, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef:
		return true
	}
	return invisible.Is(r) || !unicode.IsGraphic(r)
}
