// Package model asks a language model one question: an OpenAI-compatible endpoint, one request, one answer.
//
// The endpoint is the operator's own, so it may be a private address; what it sends is bounded all the same. The package
// knows requests, limits and the reasons for which there is no answer. It must never know a service, what a question means,
// a database or a schedule, and never tells its key: errors are made of fixed words and status codes.
package model

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"
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
	completions openai.ChatCompletionService
	model       string
	timeout     time.Duration
	plain       atomic.Bool // the endpoint does not take a schema: ask without
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
	client := &http.Client{Transport: bounded{transport}, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
			return errRedirect
		}
		return nil
	}}
	options := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(o.BaseURL, "/") + "/"), option.WithHTTPClient(client),
		option.WithMaxRetries(0), // a request is one of the day's questions; who asks again counts it again
	}
	if o.Key != "" {
		options = append(options, option.WithAPIKey(o.Key))
	}
	return &Client{completions: openai.NewChatCompletionService(options...), model: o.Model, timeout: cmp.Or(o.Timeout, time.Minute)}
}

// Model is the name of the model that is asked.
func (c *Client) Model() string { return c.model }

// Ask sends instructions as the system's words and document as the user's, and gives the text that the model answers. The
// schema is that of its answer; an endpoint need not hold its model to it. An error is a *Fault, or ctx's.
func (c *Client) Ask(ctx context.Context, instructions, document, name string, schema any) (string, error) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	p := openai.ChatCompletionNewParams{
		Model:    c.model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(instructions), openai.UserMessage(document)},
	}
	strict := !c.plain.Load()
	if strict {
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: name, Strict: param.NewOpt(true), Schema: schema},
		}
	}
	got, err := c.completions.New(limited, p)
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", c.fault(err, strict, limited.Err() != nil)
	}
	if got == nil || len(got.Choices) != 1 {
		return "", &Fault{Reason: NoAnswer}
	}
	switch choice := got.Choices[0]; {
	case choice.Message.Refusal != "" || choice.FinishReason == "content_filter":
		return "", &Fault{Reason: Declined, Ours: true}
	case choice.FinishReason == "length":
		return "", &Fault{Reason: Cut, Ours: true}
	case choice.FinishReason != "stop" || len(choice.Message.ToolCalls) > 0:
		return "", &Fault{Reason: NoAnswer, Ours: true}
	default:
		return choice.Message.Content, nil
	}
}

// codes are error codes of endpoints that are fit to be logged.
var codes = regexp.MustCompile(`^[a-z][a-z_]{1,40}$`)

// fault says what an error of the request, with a schema if strict, is: without a word of what was received: it could repeat the key.
func (c *Client) fault(err error, strict, timedOut bool) *Fault {
	var answered *openai.Error
	switch {
	case errors.Is(err, errTooLarge):
		return &Fault{Reason: TooLarge}
	case errors.Is(err, errRedirect):
		return &Fault{Reason: Redirect, Fatal: true}
	case timedOut:
		return &Fault{Reason: Timeout}
	case !errors.As(err, &answered):
		if _, broke := errors.AsType[*url.Error](err); broke || errors.Is(err, io.ErrUnexpectedEOF) {
			return &Fault{Reason: Unreachable}
		}
		return &Fault{Reason: NoAnswer}
	}
	f := &Fault{Reason: statusCode + strconv.Itoa(answered.StatusCode)}
	if codes.MatchString(answered.Code) {
		f.Code = answered.Code
	}
	switch answered.StatusCode {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		about := answered.Message + answered.Param
		if strict && (strings.Contains(about, "response_format") || strings.Contains(about, "json_schema")) {
			c.plain.Store(true)
			return &Fault{Reason: NoSchema, Ours: true}
		}
		f.Ours = true
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusPaymentRequired:
		f.Fatal = true
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		f.Wait = retryAfter(answered.Response.Header.Get("Retry-After"), time.Now())
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
