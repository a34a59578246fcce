package sample

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// scene is the input of an answer: the service, the endpoint, the request and the time.
type scene struct {
	s *service
	e endpoint
	request
	now time.Time
}

// challenge is a PaymentRequired object of either version, with its keys in the order of the TypeScript SDK. Fields
// that some behaviours spoil have type any.
type challenge struct {
	X402Version any            `json:"x402Version"`
	Error       string         `json:"error"`
	Resource    *resource      `json:"resource,omitempty"`
	Accepts     any            `json:"accepts"` // []option unless a behaviour spoils it
	Extensions  map[string]any `json:"extensions,omitempty"`
}

type resource struct {
	URL         string   `json:"url"`
	Description string   `json:"description"`
	MimeType    string   `json:"mimeType"`
	ServiceName string   `json:"serviceName,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

// option is one requirement in accepts.
type option struct {
	Scheme            string         `json:"scheme"`
	Network           string         `json:"network"`
	Amount            any            `json:"amount,omitempty"`
	MaxAmountRequired string         `json:"maxAmountRequired,omitempty"`
	Resource          string         `json:"resource,omitempty"`
	Description       string         `json:"description,omitempty"`
	MimeType          string         `json:"mimeType,omitempty"`
	Asset             string         `json:"asset"`
	PayTo             string         `json:"payTo,omitempty"`
	PayToAddress      string         `json:"payToAddress,omitempty"`
	MaxTimeoutSeconds int            `json:"maxTimeoutSeconds"`
	OutputSchema      any            `json:"outputSchema,omitempty"`
	Extra             map[string]any `json:"extra,omitempty"`
}

// options returns the ways to pay for the endpoint, as in version 2.
func (c scene) options() []option {
	var list []option
	for _, r := range c.e.rails {
		amount, recipient := r.atomic(c.e.price), c.e.recipient
		switch c.s.Behaviour {
		case "raiser":
			amount = raised(amount, c.now)
		case "mover":
			recipient = moved(c.now)
		}
		list = append(list, option{
			Scheme: r.scheme, Network: r.network.ID, Amount: amount, Asset: r.asset.Address,
			PayTo: r.recipient(c.s.Owner, recipient), MaxTimeoutSeconds: c.e.timeout, Extra: r.extra(c.s.Owner),
		})
	}
	return list
}

// v2 returns a valid challenge of version 2.
func (c scene) v2() challenge {
	return challenge{
		X402Version: 2,
		Error:       "Payment required",
		Resource: &resource{
			URL: c.s.baseURL() + c.e.path, Description: c.e.description, MimeType: c.s.Mime,
			ServiceName: c.s.Name, Tags: []string{c.s.Category},
		},
		Accepts: c.options(),
		Extensions: map[string]any{"bazaar": map[string]any{"info": map[string]any{"input": c.input(),
			"output": map[string]any{"type": "json"}}}},
	}
}

// v1 returns the same challenge in version 1.
func (c scene) v1() challenge {
	list := c.options()
	for i := range list {
		o := &list[i]
		o.Network = c.e.rails[i].word
		o.Amount, o.MaxAmountRequired = nil, o.Amount.(string)
		o.Resource, o.Description, o.MimeType = c.s.baseURL()+c.e.path, c.e.description, c.s.Mime
		o.OutputSchema = map[string]any{"input": c.input(), "output": nil}
	}
	return challenge{X402Version: 1, Error: "X-PAYMENT header is required", Accepts: list}
}

// input describes how to call the endpoint.
func (c scene) input() map[string]any {
	if c.e.method == http.MethodGet {
		return map[string]any{"type": "http", "method": c.e.method, "queryParams": map[string]string{"q": "sample"}}
	}
	if input := toolInput(c.e.path); input != nil {
		return input
	}
	return map[string]any{"type": "http", "method": c.e.method, "bodyType": "json",
		"body": map[string]string{"q": "sample"}}
}

func (c challenge) json() string { return string(encode(c)) }

// encode encodes strings, numbers and lists of them, which always succeeds.
func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("write JSON: %w", err))
	}
	return b
}

// first returns the first way to pay, for behaviours that spoil it.
func (c *challenge) first() *option { return &c.Accepts.([]option)[0] }
