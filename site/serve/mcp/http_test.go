package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tollbook/site"
	"tollbook/site/serve"
	"tollbook/site/testgate"
)

// post sends a message and reads the response. Its headers override those that a client sends.
func post(t *testing.T, address, message string, headers map[string]string) (code int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+Path,
		strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	for name, value := range headers {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// empty returns a server without a snapshot.
func empty(t *testing.T) *sdk.Server {
	t.Helper()
	s, err := New(Options{Reader: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"code":503,"type":"unavailable","message":"nothing is published yet"}}`)
	})})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	address := listen(t, NewHandler(empty(t), []string{"tollbook.example"}))
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		host, origin string
		want         int
	}{
		{address, "", 200},
		{"localhost:" + port, "", 200},
		{"[::1]:" + port, "", 200},
		{"tollbook.example", "", 200},
		{"TOLLBOOK.example:443", "https://TOLLBOOK.example:443", 200},
		{address, "http://" + address, 200},
		{"evil.example", "", 403},
		{"evil.example:" + port, "http://evil.example:" + port, 403}, // a name that resolves to this machine
		{"127.0.0.1.evil.example", "", 403},
		{"localhost.evil.example", "", 403},
		{"0.0.0.0:" + port, "", 403},
		{address, "http://evil.example", 403},
		{address, "null", 403},
		{address, "", 200},
		{address, "http://localhost:1", 403},
		{address, "file://" + address, 403},
		{"tollbook.example", "https://tollbook.example.evil.example", 403},
	} {
		headers := map[string]string{"Host": tt.host}
		if tt.origin != "" {
			headers["Origin"] = tt.origin
		}
		if code, body := post(t, address, listTools, headers); code != tt.want {
			t.Errorf("Host %q, Origin %q: %d %.200s, want %d", tt.host, tt.origin, code, body, tt.want)
		}
	}
}

func TestBadMessages(t *testing.T) {
	t.Parallel()
	address := listen(t, NewHandler(empty(t), nil))
	for name, tt := range map[string]struct {
		message string
		want    int
	}{
		"nothing":      {"", 400},
		"no JSON":      {"{", 400},
		"a batch":      {"[" + listTools + "," + listTools + "]", 400},
		"an old batch": {" \n[" + listTools + "]", 400},
		"no object":    {"7", 400},
		"too large": {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"` +
			strings.Repeat("x", MaxMessage) + `"}}`, 413},
		"deep": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"health","arguments":` +
			strings.Repeat("[", 30000) + strings.Repeat("]", 30000) + `}}`, 400},
		"held open": {`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`, 0},
	} {
		code, body := post(t, address, tt.message, nil)
		if tt.want != 0 && code != tt.want || tt.want == 0 && !strings.Contains(body, "error") {
			t.Errorf("%s: %d %.300s, want %d", name, code, body, tt.want)
		}
	}
	for method, want := range map[string]int{"GET": 405, "DELETE": 405, "PUT": 405, "OPTIONS": 405} {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var e site.ErrorBody
		err = json.NewDecoder(res.Body).Decode(&e)
		res.Body.Close()
		if res.StatusCode != want || err != nil || e.Error.Code != want || res.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d %v %+v", method, res.StatusCode, err, e)
		}
	}
}

// TestBadArguments checks that invalid arguments return one error that names the fault.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	address := listen(t, NewHandler(empty(t), nil))
	for _, tt := range []struct{ tool, arguments, want string }{
		{"search_services", `[]`, "the arguments are not a JSON object"},
		{"search_services", `"x"`, "the arguments are not a JSON object"},
		{"search_services", `{"q":{}}`, "parameter q: must be a string, a number or true or false"},
		{"search_services", `{"q":["a",1]}`, "parameter q: must be a string, a number or true or false"},
		{"search_services", `{"per-page":3}`,
			`search_services has no argument \"per-page\"; did you mean \"per_page\"? it has: detail, `},
		{"search_services", `{"detail":"all"}`, `parameter detail: must be one of compact, full; got \"all\"`},
		{"compare_services", `{}`, "parameter slugs: is missing: 2 to 4 slugs"},
		{"compare_services", `{"slugs":["a"]}`, "parameter slugs: must be 2 to 4 different slugs; got 1"},
		{"compare_services", `{"slugs":"a,b,a, c,d,e"}`, "parameter slugs: must be 2 to 4 different slugs; got 5"},
		{"search_services", `{"b":1,"a":1}`, `has no argument \"a\"`},
		{"search_services", `{"q":"` + strings.Repeat("x", maxArguments) + `"}`,
			"the arguments must have at most 16384 bytes"},
		{"get_service", `{}`, "parameter slug: is missing"},
		{"get_service", `{"slug":"a/uptime"}`, `; got \"a/uptime\"`},
		{"get_service", `{"slug":"../stats"}`, `parameter slug: is invalid: `},
		{"get_service", `{"slug":"\u0000"}`, `parameter slug: is invalid: `},
		{"get_service", `{"slug":"` + strings.Repeat("a", 1000) + `"}`, "parameter slug: must have at most"},
		{"lookup_address", `{"url":"file:///etc/passwd"}`, "parameter url: not an http address"},
		{"lookup_address", `{"url":"https://"}`, "parameter url: not an http address"},
		{"lookup_address", `{"url":"https://a.example/` + strings.Repeat("a", 3000) + `"}`,
			"parameter url: must have at most 2048 bytes"},
		{"lookup_recipient", `{"caip2":"eip155:8453/..","address":"0x"}`, "parameter caip2: is invalid: "},
		{"lookup_recipient", `{"caip2":"eip155:8453"}`, "parameter address: is missing"},
		{"lookup_recipient", `{"caip2":"eip155:8453","address":"a b"}`, "parameter address: is invalid: "},
		{"health", `{"verbose":1}`, `health has no argument`},
		{"health", `null`, "nothing is published yet"},
		{"search_services", `{}`, "nothing is published yet"},
	} {
		_, body := post(t, address,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tt.tool,
				tt.arguments), nil)
		var answer struct {
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || !answer.Result.IsError ||
			len(answer.Result.Content) != 1 {
			t.Errorf("%s %.100s: %v %.500s", tt.tool, tt.arguments, err, body)
			continue
		}
		text := answer.Result.Content[0].Text
		var e site.ErrorBody
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.Error.Code < 400 ||
			!strings.Contains(text, tt.want) {
			t.Errorf("%s %.100s: %v %s\nwant %s", tt.tool, tt.arguments, err, text, tt.want)
		}
	}
}

// TestOldClients checks that a client without support for structured content gets the JSON as text.
func TestOldClients(t *testing.T) {
	t.Parallel()
	s, err := New(Options{Reader: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"tag":"AI","service_count":1}]}`)
	})})
	if err != nil {
		t.Fatal(err)
	}
	address := listen(t, NewHandler(s, nil))
	for version, want := range map[string]int{"2025-03-26": 2, "2025-06-18": 1, "2025-11-25": 1} {
		_, body := post(t, address,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_categories"}}`,
			map[string]string{"MCP-Protocol-Version": version})
		var answer struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Result.Content) != want ||
			!json.Valid([]byte(answer.Result.Content[want-1].Text)) == (want == 2) {
			t.Errorf("%s: %v %s, want %d texts", version, err, body, want)
		}
	}
}

// TestLargeAnswers checks that a response too large for an agent becomes an error that says so.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	s, err := New(Options{Reader: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 20 {
			if _, err := w.Write(make([]byte, maxAnswer/16)); err != nil {
				return
			}
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	got := wire(t, listen(t, NewHandler(s, nil)), "search_services", nil)
	if !got.IsError || !strings.Contains(got.Content[0].Text, "the response has more than 1048576 bytes") {
		t.Errorf("%+v", got)
	}
}

// TestFlood checks that each message of many concurrent clients gets a response, and that the rate limit of one client
// applies.
func TestFlood(t *testing.T) {
	t.Parallel()
	h := serve.Limit(NewHandler(empty(t), nil), serve.Options{RateLimit: 200, Now: func() time.Time { return moment }})
	address := listen(t, h)
	var mu sync.Mutex
	codes := map[int]int{}
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			for range 20 {
				code, _ := post(t, address, listTools, nil)
				mu.Lock()
				codes[code]++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if codes[200] != 200 || codes[429] != 200 {
		t.Errorf("answers %v, want 200 of 200 and 200 of 429", codes)
	}
}

// TestSlowBody checks that the server waits for a slow message no longer than for any request. Other clients do not
// wait.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	testgate.All(t) // the server waits for half a minute
	address := listen(t, NewHandler(empty(t), nil))
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn,
		"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", Path)
	if code, _ := post(t, address, listTools, nil); code != http.StatusOK {
		t.Errorf("beside a slow client: %d", code)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return // closed without a response
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("a slow client is answered %d", res.StatusCode)
	}
}
