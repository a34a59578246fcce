// Package model asks a language model one question: one request to an OpenAI-compatible endpoint, one answer.
//
// The operator chooses the endpoint, so it may be a private address; the size of its answers is limited all the same.
// The package contains requests, limits and the reasons for a missing answer. It must never know a service, the meaning
// of a question, a database or a schedule. It never reveals its key: errors consist of fixed words and status codes.
package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"tollbook/crawl/probe"

	"github.com/sashabaranov/go-openai"
)

// Options are the settings of a client.
type Options struct {
	BaseURL string // https://model.example/v1
	Model   string
	Key     string        // "" for an endpoint without keys
	Timeout time.Duration // of a question, to the last byte of its answer; 60 s when zero
}

// Client asks one model. Several goroutines may use it.
type Client struct {
	api      *openai.Client // sends each request once: a question counts towards the day's limit
	model    string
	timeout  time.Duration
	noSchema atomic.Bool // whether the endpoint accepts no schema, so that requests have none
}

// maxBody is the largest body of an answer in bytes, decompressed.
const maxBody = 256 << 10

// maxRedirects is the most redirects that are followed, all on the endpoint's own host.
const maxRedirects = 3

// Reasons for a missing answer.
const (
	Unreachable = "unreachable" // no connection, or a broken one
	Timeout     = "timeout"     //
	TooLarge    = "too-large"   // a body beyond maxBody
	Redirect    = "redirect"    // to another host, or too many
	NoAnswer    = "no-answer"   // the body is not a completion
	Cut         = "cut"         // the model reached its limit of tokens
	Declined    = "declined"    // the model refused, or the endpoint filtered its answer
	NoSchema    = "no-schema"   // the endpoint accepts no schema: later requests have none
	statusCode  = "status-"     // followed by the code
)

// Fault says why there is no answer.
type Fault struct {
	Reason string
	Code   string        // of the endpoint's error, such as model_not_found; "" for none
	Wait   time.Duration // pause that the endpoint asks for; zero if it does not say
	Ours   bool          // the fault concerns this question alone; others may be answered
	Fatal  bool          // the endpoint will answer no question with this configuration
}

func (f *Fault) Error() string {
	if f.Code != "" {
		return "ask the model: " + f.Reason + " (" + f.Code + ")"
	}
	return "ask the model: " + f.Reason
}

var (
	errTooLarge = errors.New("body too large")
	errRedirect = errors.New("redirect refused")
)

// New returns a client. It reads no environment variable and sends nothing that is not in o.
func New(o Options) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	client := &http.Client{Transport: bounded{transport},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
				return errRedirect
			}
			return nil
		}}
	config := openai.DefaultConfig(o.Key)
	config.BaseURL, config.HTTPClient = strings.TrimSuffix(o.BaseURL, "/"), client
	return &Client{api: openai.NewClientWithConfig(config), model: o.Model, timeout: cmp.Or(o.Timeout, time.Minute)}
}

// Model returns the name of the model.
func (c *Client) Model() string { return c.model }

// Ask sends instructions as the system message and document as the user message, and returns the model's text. schema
// is the JSON Schema of the answer; an endpoint need not enforce it. The error is a *Fault or ctx's.
func (c *Client) Ask(ctx context.Context, instructions, document, name string, schema any) (string, error) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	r := openai.ChatCompletionRequest{Model: c.model, Messages: []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: instructions},
		{Role: openai.ChatMessageRoleUser, Content: document},
	}}
	strict := !c.noSchema.Load()
	if strict {
		text, err := json.Marshal(schema)
		if err != nil {
			return "", fmt.Errorf("ask the model: encode the schema: %w", err)
		}
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: name, Strict: true,
				Schema: json.RawMessage(text)},
		}
	}
	got, err := c.api.CreateChatCompletion(limited, r)
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", c.newFault(err, got.Header(), strict, limited.Err() != nil)
	}
	if len(got.Choices) != 1 {
		return "", &Fault{Reason: NoAnswer}
	}
	switch choice := got.Choices[0]; {
	case choice.Message.Refusal != "" || choice.FinishReason == openai.FinishReasonContentFilter:
		return "", &Fault{Reason: Declined, Ours: true}
	case choice.FinishReason == openai.FinishReasonLength:
		return "", &Fault{Reason: Cut, Ours: true}
	case choice.FinishReason != openai.FinishReasonStop || len(choice.Message.ToolCalls) > 0:
		return "", &Fault{Reason: NoAnswer, Ours: true}
	default:
		return choice.Message.Content, nil
	}
}

// codes matches error codes of endpoints that may be logged.
var codes = regexp.MustCompile(`^[a-z][a-z_]{1,40}$`)

// errorBody is the error in the body of an endpoint's answer.
type errorBody struct {
	Code, Message, Param string
}

// readErrorBody returns the status and complaint of an error answer, 0 if there was no answer.
func readErrorBody(err error) (status int, c errorBody) {
	if e, ok := errors.AsType[*openai.RequestError](err); ok { // may wrap an APIError without a status
		var body struct{ Error errorBody }
		_ = json.Unmarshal(e.Body, &body) // a body that is not JSON has no complaint
		return e.HTTPStatusCode, body.Error
	}
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		c.Code, _ = e.Code.(string)
		if c.Message = e.Message; e.Param != nil {
			c.Param = *e.Param
		}
		return e.HTTPStatusCode, c
	}
	return 0, c
}

// newFault converts an error of a request to a Fault; strict means that the request had a schema. It repeats nothing
// from the answer but a plain code, since an endpoint could repeat the key.
func (c *Client) newFault(err error, header http.Header, strict, timedOut bool) *Fault {
	status, said := readErrorBody(err)
	switch {
	case errors.Is(err, errTooLarge):
		return &Fault{Reason: TooLarge}
	case errors.Is(err, errRedirect):
		return &Fault{Reason: Redirect, Fatal: true}
	case timedOut:
		return &Fault{Reason: Timeout}
	case status == 0:
		if _, broke := errors.AsType[*url.Error](err); broke || errors.Is(err, io.ErrUnexpectedEOF) {
			return &Fault{Reason: Unreachable}
		}
		return &Fault{Reason: NoAnswer}
	}
	f := &Fault{Reason: statusCode + strconv.Itoa(status)}
	if codes.MatchString(said.Code) {
		f.Code = said.Code
	}
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		about := said.Message + said.Param
		if strict && (strings.Contains(about, "response_format") || strings.Contains(about, "json_schema")) {
			c.noSchema.Store(true)
			return &Fault{Reason: NoSchema, Ours: true}
		}
		f.Ours = true
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusPaymentRequired:
		f.Fatal = true
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		f.Wait, _ = probe.RetryAfter(header, time.Now())
	}
	return f
}

// bounded is a transport that limits bodies of answers to maxBody, decompressed.
type bounded struct{ *http.Transport }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.Transport.RoundTrip(r)
	if err == nil {
		res.Body = &boundedBody{ReadCloser: res.Body, left: maxBody}
	}
	return res, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
