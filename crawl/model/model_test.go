package model

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/model/modeltest"
)

const key = "sk-test-ThisMustNeverBeSeen"

var schema = map[string]any{"type": "object"}

func start(t *testing.T, answer func(modeltest.Request) modeltest.Reply) *modeltest.Server {
	t.Helper()
	s := modeltest.Start(answer)
	t.Cleanup(s.Close)
	return s
}

func ask(t *testing.T, c *Client) (string, error) {
	t.Helper()
	return c.Ask(t.Context(), "instructions", `{"a":"document"}`, "service", schema)
}

// TestAsk checks that a request has the form of the API and contains no more than needed.
func TestAsk(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-environment")
	t.Setenv("OPENAI_ORG_ID", "org-of-the-environment")
	s := start(t, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Content: "an answer"} })
	for _, o := range []Options{{BaseURL: s.BaseURL(), Model: "m", Key: key},
		{BaseURL: s.BaseURL() + "/", Model: "m"}} {
		got, err := ask(t, New(o))
		if err != nil || got != "an answer" {
			t.Errorf("%q, error %v", got, err)
		}
	}
	requests := s.Requests()
	if len(requests) != 2 || requests[0].Authorization != "Bearer "+key || requests[1].Authorization != "" {
		t.Errorf("%d requests: %q", len(requests), requests)
	}
	for _, q := range requests {
		if q.Path != "/v1/chat/completions" || q.Model != "m" || len(q.Messages) != 2 ||
			q.Header.Get("OpenAI-Organization") != "" {
			t.Errorf("%+v", q)
			continue
		}
		if q.Messages[0].Role != "system" || q.Messages[0].Content != "instructions" || q.Messages[1].Role != "user" ||
			q.Messages[1].Content != `{"a":"document"}` {
			t.Errorf("messages %+v", q.Messages)
		}
		var format, want any
		json.Unmarshal(q.ResponseFormat, &format)
		json.Unmarshal([]byte(`{"type":"json_schema","json_schema":{"name":"service","strict":true,`+
			`"schema":{"type":"object"}}}`), &want)
		if diff := cmp.Diff(want, format); diff != "" {
			t.Errorf("format (-want +got):\n%s", diff)
		}
	}
}

func gzipped(n int) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(bytes.Repeat([]byte(" "), n))
	w.Close()
	return b.Bytes()
}

// TestFaults checks that each failure has its reason, costs one request, and reveals neither the key nor the answer.
func TestFaults(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	for _, tt := range []struct {
		name  string
		reply modeltest.Reply
		want  Fault
	}{
		{"cut", modeltest.Reply{Content: `{"summary":`, Finish: "length"}, Fault{Reason: Cut, Ours: true}},
		{"a refusal", modeltest.Reply{Refusal: "I can't help with that."}, Fault{Reason: Declined, Ours: true}},
		{"filtered", modeltest.Reply{Finish: "content_filter"}, Fault{Reason: Declined, Ours: true}},
		{"a tool", modeltest.Reply{Finish: "tool_calls"}, Fault{Reason: NoAnswer, Ours: true}},
		{"no choice", modeltest.Reply{Body: []byte(`{"choices":[]}`)}, Fault{Reason: NoAnswer}},
		{"another body", modeltest.Reply{Body: []byte(`[1,2]`)}, Fault{Reason: NoAnswer}},
		{"no JSON", modeltest.Reply{Body: []byte(`<html>` + key),
			Header: map[string]string{"Content-Type": "text/html"}}, Fault{Reason: NoAnswer}},
		{"half a body", modeltest.Reply{Body: []byte(`{"choices":[{`)}, Fault{Reason: Unreachable}},
		{"300 KiB", modeltest.Reply{Content: strings.Repeat("x", 300<<10)}, Fault{Reason: TooLarge}},
		{"a bomb", modeltest.Reply{Body: gzipped(50 << 20), Header: map[string]string{"Content-Encoding": "gzip"}},
			Fault{Reason: TooLarge}},
		{"a large error", modeltest.Reply{Status: 500, Body: bytes.Repeat([]byte("x"), 300<<10)},
			Fault{Reason: TooLarge}},
		{"slow", modeltest.Reply{Content: "x", Wait: never}, Fault{Reason: Timeout}},
		{"500", modeltest.Reply{Status: 500, Body: []byte(`{"error":{"message":"` + key + `","code":"` + key + `"}}`)},
			Fault{Reason: "status-500"}},
		{"502 of a proxy", modeltest.Reply{Status: 502, Body: []byte(`<html>`),
			Header: map[string]string{"Content-Type": "text/html"}}, Fault{Reason: "status-502"}},
		{"429", modeltest.Reply{Status: 429, Header: map[string]string{"Retry-After": "7"},
			Body: []byte(`{"error":{"code":"rate_limit_exceeded"}}`)},
			Fault{Reason: "status-429", Code: "rate_limit_exceeded", Wait: 7 * time.Second}},
		{"429 for a year", modeltest.Reply{Status: 429, Header: map[string]string{"Retry-After": "31536000"},
			Body: []byte(`{}`)}, Fault{Reason: "status-429", Wait: 24 * time.Hour}},
		{"401", modeltest.Reply{Status: 401,
			Body: []byte(`{"error":{"message":"Incorrect API key provided: ` + key + `","code":"invalid_api_key"}}`)},
			Fault{Reason: "status-401", Code: "invalid_api_key", Fatal: true}},
		{"404", modeltest.Reply{Status: 404, Body: []byte(`{"error":{"code":"model_not_found"}}`)},
			Fault{Reason: "status-404", Code: "model_not_found", Fatal: true}},
		{"400", modeltest.Reply{Status: 400, Body: []byte(`{"error":{"message":"too many tokens"}}`)},
			Fault{Reason: "status-400", Ours: true}},
		{"elsewhere", modeltest.Reply{Status: 307,
			Header: map[string]string{"Location": "http://127.0.0.2:1/v1/chat/completions"}},
			Fault{Reason: Redirect, Fatal: true}},
		{"in circles", modeltest.Reply{Status: 307, Header: map[string]string{"Location": "/v1/chat/completions"}},
			Fault{Reason: Redirect, Fatal: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, func(modeltest.Request) modeltest.Reply { return tt.reply })
			timeout := 20 * time.Second
			if tt.want.Reason == Timeout {
				timeout = 2 * time.Second // long enough to send the question
			}
			got, err := ask(t, New(Options{BaseURL: s.BaseURL(), Model: "m", Key: key, Timeout: timeout}))
			var fault *Fault
			if !errors.As(err, &fault) || got != "" {
				t.Fatalf("%q, error %v", got, err)
			}
			if diff := cmp.Diff(tt.want, *fault); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), "sk-") || strings.Contains(err.Error(), "127.0.0") {
				t.Errorf("the error reveals the key or the answer: %v", err)
			}
			if n := len(s.Requests()); n != 1 && tt.name != "in circles" || n > maxRedirects+1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// TestUnreachable checks a port without a server, and servers that close the connection.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	rude := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(rude.Close)
	short := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.Write([]byte(`{"choices":`))
	}))
	t.Cleanup(short.Close)
	for _, address := range []string{"http://127.0.0.1:1", rude.URL, short.URL} {
		_, err := ask(t, New(Options{BaseURL: address, Model: "m", Key: key}))
		var fault *Fault
		if !errors.As(err, &fault) || fault.Reason != Unreachable || strings.Contains(err.Error(), "sk-") {
			t.Errorf("%v, want unreachable", err)
		}
	}
}

// TestNoSchema checks that an endpoint that accepts no schema gets none in later requests.
func TestNoSchema(t *testing.T) {
	t.Parallel()
	s := start(t, func(q modeltest.Request) modeltest.Reply {
		if q.ResponseFormat != nil {
			return modeltest.Reply{Status: 400,
				Body: []byte(`{"error":{"message":"Unknown parameter: response_format","param":"response_format"}}`)}
		}
		return modeltest.Reply{Content: "plain"}
	})
	c := New(Options{BaseURL: s.BaseURL(), Model: "m"})
	_, err := ask(t, c)
	var fault *Fault
	if !errors.As(err, &fault) || fault.Reason != NoSchema {
		t.Errorf("%v, want no-schema", err)
	}
	if got, err := ask(t, c); err != nil || got != "plain" {
		t.Errorf("%q, error %v", got, err)
	}
}

// TestAskEnds checks that a canceled question returns ctx's error, not a fault of the endpoint.
func TestAskEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := start(t, func(modeltest.Request) modeltest.Reply {
		cancel()
		return modeltest.Reply{Content: "x", Wait: make(chan struct{})}
	})
	if _, err := New(Options{BaseURL: s.BaseURL(), Model: "m"}).Ask(ctx, "i", "d", "n", schema); !errors.Is(err,
		context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}
