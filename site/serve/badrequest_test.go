package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"tollbook/site"
)

// listenAndServe serves a handler until the test ends and returns its address.
func listenAndServe(t *testing.T, h http.Handler) string {
	t.Helper()
	return listenWithin(t, h, nil)
}

// listenWithin is listenAndServe within the limits of a limiter.
func listenWithin(t *testing.T, h http.Handler, limiter *ConnectionLimiter) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, h, slog.New(slog.DiscardHandler), limiter) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

// TestBadRequest checks that every request, valid or not, gets a response or the contract's error.
func TestBadRequest(t *testing.T) {
	t.Parallel()
	addr := listenAndServe(t, handlerOf(t, publish(t, siteFiles(t)), t.Output()))
	const host = "Host: x\r\nConnection: close\r\n\r\n"
	for _, test := range []struct {
		about, request string
		code           int
		kind           string // of the error, "" for none
	}{
		{"a whole request", "GET /v1/services HTTP/1.1\r\n" + host, 200, ""},
		{"HTTP/1.0", "GET /v1/services HTTP/1.0\r\n\r\n", 200, ""},
		{"absolute form", "GET http://elsewhere.test/v1/services HTTP/1.1\r\n" + host, 200, ""},
		{"absolute form of no web address", "GET ftp://x/v1/services HTTP/1.1\r\n" + host, 200, ""},
		{"no host", "GET /v1/services HTTP/1.1\r\n\r\n", 400, site.ErrorBadRequest},
		{"two hosts", "GET /v1/services HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, site.ErrorBadRequest},
		{"a path that does not decode", "GET /v1/%zz HTTP/1.1\r\n" + host, 400, site.ErrorBadRequest},
		{"a path that ends in its escape", "GET /v1/services/a%2 HTTP/1.1\r\n" + host, 400, site.ErrorBadRequest},
		{"a path of raw bytes", "GET /v1/\xff\xfe HTTP/1.1\r\n" + host, 404, site.ErrorNotFound},
		{"a control byte", "GET /v1/\x01 HTTP/1.1\r\n" + host, 400, site.ErrorBadRequest},
		{"a space", "GET /v1/a b HTTP/1.1\r\n" + host, 400, site.ErrorBadRequest},
		{"no version", "GET /v1/services\r\n" + host, 400, site.ErrorBadRequest},
		{"no path", "GET  HTTP/1.1\r\n" + host, 400, site.ErrorBadRequest},
		{"a relative path", "GET v1/services HTTP/1.1\r\n" + host, 400, site.ErrorBadRequest},
		{"no request", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400, site.ErrorBadRequest},
		{"another version", "GET /v1/services HTTP/3.0\r\n" + host, 505, site.ErrorBadRequest},
		{"a header without a name", "GET /v1/services HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n", 400, site.ErrorBadRequest},
		{"a coding nobody knows", "POST /v1/services HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: rot13\r\n\r\n", 501,
			site.ErrorBadRequest},
		{"two lengths", "POST /v1/services HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
			400, site.ErrorBadRequest},
		{"a length below zero", "POST /v1/services HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\n", 400,
			site.ErrorBadRequest},
		{"a query of 8 KiB", "GET /v1/services?category=" + strings.Repeat("a", 8<<10) + " HTTP/1.1\r\n" + host, 400,
			site.ErrorInvalidParameter},
		{"the same for a file", "GET /v1/services.json?" + strings.Repeat("a", 8<<10+1) + " HTTP/1.1\r\n" + host, 400,
			site.ErrorInvalidParameter},
		{"a path of 12 KiB", "GET /v1/" + strings.Repeat("a", 12<<10) + " HTTP/1.1\r\n" + host, 404,
			site.ErrorNotFound},
		{"a header of 24 KiB", "GET /v1/services HTTP/1.1\r\nX: " + strings.Repeat("a", 24<<10) + "\r\n" + host, 431,
			site.ErrorBadRequest},
		{"a line of 24 KiB", "GET /v1/" + strings.Repeat("a", 24<<10) + " HTTP/1.1\r\n" + host, 431,
			site.ErrorBadRequest},
		{"a method nobody has", "BREW /v1/services HTTP/1.1\r\n" + host, 405, site.ErrorMethodNotAllowed},
		{"a method in small letters", "get /v1/services HTTP/1.1\r\n" + host, 405, site.ErrorMethodNotAllowed},
		{"a method that is none", "G@T /v1/services HTTP/1.1\r\n" + host, 400, site.ErrorBadRequest},
		{"TRACE", "TRACE /v1/services HTTP/1.1\r\n" + host, 405, site.ErrorMethodNotAllowed},
		{"CONNECT", "CONNECT example.org:443 HTTP/1.1\r\n" + host, 405, site.ErrorMethodNotAllowed},
		{"a body to a GET", "GET /v1/services HTTP/1.1\r\nContent-Length: 5\r\n" + host + "hello", 200, ""},
		{"OPTIONS of everything", "OPTIONS * HTTP/1.1\r\n" + host, 204, ""},
		{"GET of everything", "GET * HTTP/1.1\r\n" + host, 404, ""}, // a page
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			response, body := raw(t, addr, test.request)
			if response.StatusCode != test.code {
				t.Fatalf("%d, want %d: %s", response.StatusCode, test.code, body)
			}
			if response.Header.Get("X-Content-Type-Options") != "nosniff" ||
				response.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("header %v", response.Header)
			}
			if test.kind == "" {
				return
			}
			var e site.ErrorBody
			err := json.Unmarshal(body, &e)
			if err != nil || e.Error.Code != test.code || e.Error.Type != test.kind || e.Error.Message == "" ||
				response.Header.Get("Content-Type") != typeJSON {
				t.Errorf("%v: %s %s, want %s", err, response.Header.Get("Content-Type"), body, test.kind)
			}
			if response.ContentLength != int64(len(body)) {
				t.Errorf("%d bytes, %d announced", len(body), response.ContentLength)
			}
		})
	}
}

// raw sends bytes unchanged.
func raw(t *testing.T, addr, request string) (*http.Response, []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, body
}

// TestRefusal checks the response to a connection over the limit of its client.
func TestRefusal(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	addr := listenWithin(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(entered)
		<-release
	}), NewConnectionLimiter(ConnectionLimits{PerClient: 1}))
	defer close(release)
	first, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	send(t, first, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-entered
	response, data := raw(t, addr, "")
	var body site.ErrorBody
	if err := json.Unmarshal(data, &body); err != nil || response.StatusCode != http.StatusTooManyRequests ||
		body.Error.Type != site.ErrorRateLimited || response.Header.Get("Retry-After") == "" ||
		response.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v %s, %v", response.StatusCode, response.Header, data, err)
	}
}

// TestBadRequestAfterAnswers checks that an error on a connection with earlier requests is sent after their responses.
func TestBadRequestAfterAnswers(t *testing.T) {
	t.Parallel()
	addr := listenAndServe(t, handlerOf(t, publish(t, siteFiles(t)), t.Output()))
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn,
		"GET /v1/services HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n"+
			"GET /v1/%zz HTTP/1.1\r\nHost: x\r\n\r\n")
	in := bufio.NewReader(conn)
	for i, want := range []int{200, 200, 400} {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != want || !json.Valid(body) {
			t.Errorf("answer %d: %d %s, %v", i, response.StatusCode, body, err)
		}
	}
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("after the error: %q, %v", rest, err)
	}
}

// TestJSONError checks that a handler's response is never mistaken for one of net/http itself.
func TestJSONError(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		want bool
	}{
		{"HTTP/1.1 400 Bad Request" + plainHead + "400 Bad Request", true},
		{"HTTP/1.1 431 Request Header Fields Too Large" + plainHead, true},
		{"HTTP/1.1 400 Bad Request" + plainHead + strings.Repeat("x", maxPlain+1), false},
		{"HTTP/1.1 200 OK" + plainHead, false},
		{"HTTP/1.1 404 Not Found\r\nDate: x\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n",
			false},
		{"HTTP/1.1 499 Made Up" + plainHead, false},
		{"HTTP/1.1 4", false},
		{"HTTP/1.1 4xx" + plainHead, false},
		{"", false},
	} {
		if _, ok := jsonError([]byte(test.text)); ok != test.want {
			t.Errorf("%q: %v", test.text, ok)
		}
	}
}
