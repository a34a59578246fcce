// Package model asks a language model one question: an OpenAI-compatible endpoint, one request, one answer.
//
// The endpoint is the operator's own, so it may be a private address; what it sends is bounded all the same. The
// package knows requests, limits and the reasons for which there is no answer. It must never know a service, what a
// question means, a database or a schedule, and never tells its key: errors are made of fixed words and status codes.
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

	"github.com/sashabaranov/go-openai"
)

// Options of a client.
type Options struct {
	BaseURL string // https://model.example/v1
	Model   string
	Key     string        // "" for an endpoint that wants none
	Timeout time.Duration // of a question, to the last byte of its answer; 60 s when zero
}

// Client asks one model. It may be used by several goroutines.
type Client struct {
	api     *openai.Client // sends each request once: a question counts towards the day's limit
	model   string
	timeout time.Duration
	plain   atomic.Bool // the endpoint does not take a schema: ask without
}

// maxBody bounds an answer's body, decompressed.
const maxBody = 256 << 10

// maxRedirects is how many are followed, all on the endpoint's own host.
const maxRedirects = 3

// Why there is no answer.
const (
	Unreachable = "unreachable" // no connection, or one that broke
	Timeout     = "timeout"     //
	TooLarge    = "too-large"   // a body beyond maxBody
	Redirect    = "redirect"    // to another host, or too many
	NoAnswer    = "no-answer"   // a body that is no completion
	Cut         = "cut"         // the model came to the end of its room
	Declined    = "declined"    // it refused, or its endpoint filtered it
	NoSchema    = "no-schema"   // the endpoint does not take one: the next question goes without
	statusCode  = "status-"     // and the code
)

// Fault is why there is no answer.
type Fault struct {
	Reason string
	Code   string        // of the endpoint's error, such as model_not_found; "" without
	Wait   time.Duration // that the endpoint wants before the next question; zero when it does not say
	Ours   bool          // of this question alone: others may well be answered
	Fatal  bool          // the endpoint will answer no question as it is configured
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

// New makes a client. It reads no variable: what is not in o is not sent.
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

// Model is the name of the model that is asked.
func (c *Client) Model() string { return c.model }

// Ask sends instructions as the system's words and document as the user's, and gives the text that the model answers.
// The schema is that of its answer; an endpoint need not hold its model to it. An error is a *Fault, or ctx's.
func (c *Client) Ask(ctx context.Context, instructions, document, name string, schema any) (string, error) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	r := openai.ChatCompletionRequest{Model: c.model, Messages: []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: instructions},
		{Role: openai.ChatMessageRoleUser, Content: document},
	}}
	strict := !c.plain.Load()
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
		return "", c.fault(err, got.Header(), strict, limited.Err() != nil)
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

// codes are error codes of endpoints that are fit to be logged.
var codes = regexp.MustCompile(`^[a-z][a-z_]{1,40}$`)

// complaint is the error that an endpoint put into the body of its answer.
type complaint struct {
	Code, Message, Param string
}

// answered returns the status of an answer that is an error, and its complaint; 0 if there was no such answer.
func answered(err error) (status int, c complaint) {
	if e, ok := errors.AsType[*openai.RequestError](err); ok { // may wrap an APIError that has no status
		var body struct{ Error complaint }
		_ = json.Unmarshal(e.Body, &body) // what is no JSON has no complaint
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

// fault says what an error of the request is, with a schema if strict. It repeats nothing that was received but a plain
// code, since an endpoint could repeat the key.
func (c *Client) fault(err error, header http.Header, strict, timedOut bool) *Fault {
	status, said := answered(err)
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
			c.plain.Store(true)
			return &Fault{Reason: NoSchema, Ours: true}
		}
		f.Ours = true
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusPaymentRequired:
		f.Fatal = true
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		f.Wait = retryAfter(header.Get("Retry-After"), time.Now())
	}
	return f
}

// retryLimit bounds how long an endpoint may put us off.
const retryLimit = 24 * time.Hour

// retryAfter reads the header: seconds or a date; zero when it is neither.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(max(0, min(seconds, int(retryLimit/time.Second)))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, min(at.Sub(now), retryLimit))
	}
	return 0
}

// bounded is a transport whose answers have bodies of at most maxBody, decompressed.
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
