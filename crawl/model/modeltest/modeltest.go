// Package modeltest is an endpoint of the OpenAI chat API on loopback, for tests. It stores the requests and sends the
// replies of the test, right or wrong. It must never know what the questions are about.
package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
)

// Request is a request as received.
type Request struct {
	Path          string
	Authorization string
	Header        http.Header

	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	ResponseFormat json.RawMessage `json:"response_format"`
}

// Reply is an answer. A Reply with only Content is a valid one.
type Reply struct {
	Content string
	Finish  string // finish_reason; stop when empty
	Refusal string

	Status int // 200 when zero
	Header map[string]string
	Body   []byte          // sent as it is, instead of a completion
	Wait   <-chan struct{} // before the last byte
}

// Server answers requests.
type Server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []Request
}

// Start starts a server. It calls answer for each request, from several goroutines. The caller must call Close.
func Start(answer func(Request) Reply) *Server {
	s := &Server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := Request{Path: r.URL.Path, Authorization: r.Header.Get("Authorization"), Header: r.Header.Clone()}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.requests = append(s.requests, q)
		s.mu.Unlock()
		send(w, r, answer(q))
	}))
	return s
}

// BaseURL returns the URL to configure a client with.
func (s *Server) BaseURL() string { return s.URL + "/v1" }

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

func send(w http.ResponseWriter, r *http.Request, a Reply) {
	body := a.Body
	if body == nil {
		if a.Finish == "" {
			a.Finish = "stop"
		}
		body, _ = json.Marshal(map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "stub",
			"choices": []any{map[string]any{"index": 0, "finish_reason": a.Finish,
				"message": map[string]any{"role": "assistant", "content": a.Content, "refusal": a.Refusal}}},
		})
	}
	w.Header().Set("Content-Type", "application/json")
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	w.WriteHeader(a.Status)
	if a.Wait != nil {
		_, _ = fmt.Fprint(w, " ")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-a.Wait:
		case <-r.Context().Done():
			return
		}
	}
	_, _ = w.Write(body)
}
