//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tollbook/cmd/nodetest"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// agency is a built directory of a few services, with the settings to build it again.
type agency struct {
	data string
	env  []string
}

func newAgency(t *testing.T) *agency {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "tollbook-mcp-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	a := &agency{data: dir, env: []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}}
	a.must(t, "services", "import", writeFile(t, "services.json", listOfServices(12, "One\u202e call")))
	a.build(t)
	return a
}

func (a *agency) must(t *testing.T, args ...string) {
	t.Helper()
	if code, stdout, stderr := tollbook(t, a.env, args...); code != 0 {
		t.Fatalf("tollbook %s: exit %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
}

func (a *agency) build(t *testing.T) { a.must(t, "build", "--data", a.data, "--expand", "none") }

func (a *agency) from() string { return filepath.Join(a.data, "public") }

// serve starts tollbook mcp --http and returns its URL.
func (a *agency) serve(t *testing.T, more ...string) (*program, string) {
	t.Helper()
	p := command(t, nil, append([]string{"mcp", "--http", "--listen", "127.0.0.1:0", "--from", a.from()}, more...)...).
		start(t)
	address, _, _ := strings.Cut(p.await(t, "MCP on "), " ")
	return p, address
}

// connectMCP returns a client of the Go SDK.
func connectMCP(t *testing.T, transport sdk.Transport) *sdk.ClientSession {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport,
		nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// callTool returns the structured response of a tool and the snapshot that it names.
func callTool(t *testing.T, s *sdk.ClientSession, name string, args map[string]any) (data, snapshot string) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil || result.IsError {
		t.Fatalf("%s: %v %+v", name, err, result)
	}
	encoded, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded), result.Meta["tollbook/snapshot"].(string)
}

// TestMCPFollowsThePublication checks that the program answers from the current snapshot, over stdio and over HTTP. It
// stops when its client disconnects or a signal arrives.
func TestMCPFollowsThePublication(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	a := newAgency(t)
	stdio := command(t, nil, "mcp", "--from", a.from())
	stderr := new(bytes.Buffer)
	stdio.Stderr = stderr
	byPipe := connectMCP(t, &sdk.CommandTransport{Command: stdio.Cmd})
	server, address := a.serve(t)
	byHTTP := connectMCP(t, &sdk.StreamableClientTransport{Endpoint: address})
	before := published(t, a.data)
	for _, s := range []*sdk.ClientSession{byPipe, byHTTP} {
		data, snapshot := callTool(t, s, "search_services", map[string]any{"per_page": 2, "q": "service",
			"detail": "full"})
		if snapshot != before || !strings.Contains(data, `"total":12`) || strings.Contains(data, "\u202e") ||
			!strings.Contains(data, "One\uFFFD call") {
			t.Errorf("snapshot %s, want %s: %s", snapshot, before, data)
		}
	}
	a.must(t, "services", "import", writeFile(t, "more.json",
		[]byte(
			`[{"service_name":"One more","description":"More","url":"https://more.example","category":"Data","endpoints":["/a"]}]`)))
	a.build(t)
	after := published(t, a.data)
	for _, s := range []*sdk.ClientSession{byPipe, byHTTP} {
		for deadline := time.Now().Add(patience); ; {
			data, snapshot := callTool(t, s, "health", nil)
			if snapshot == after && strings.Contains(data, `"total_services":13`) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("it still answers from %s, not %s: %s", snapshot, after, data)
			}
		}
	}
	if err := byHTTP.Close(); err != nil {
		t.Error(err)
	}
	server.interrupt(t, syscall.SIGINT)
	if err := byPipe.Close(); err != nil || stdio.ProcessState.ExitCode() != 0 {
		t.Errorf("when its client leaves: %v, %v\n%s", err, stdio.ProcessState, stderr)
	}
}

// TestMCPOverPipes checks that stdout contains only messages. Invalid input ends the program, and so does a signal
// while it waits.
func TestMCPOverPipes(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
	for _, tt := range []struct {
		name, stdin  string
		want         int
		stdout, fail string
	}{
		{name: "nobody", stdin: "", want: 0},
		{name: "hello and goodbye", stdin: hello, want: 0, stdout: `"serverInfo":{"name":"tollbook"`},
		{name: "no snapshot",
			stdin: hello + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"health"}}` + "\n", want: 0,
			stdout: `nothing is published yet`},
		{name: "noise", stdin: "GET / HTTP/1.1\r\n\r\n", want: 1, fail: "answer on stdin and stdout: "},
		{name: "a line without an end", stdin: hello + `{"x":"` + strings.Repeat("x", 1<<20), want: 1,
			fail: "exceeded the configured maximum line length"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := command(t, nil, "mcp", "--from", empty)
			in, err := p.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			p.start(t)
			_, _ = io.WriteString(in, tt.stdin) // the program may end before it has read everything
			if tt.stdout != "" {
				for line := range p.lines {
					if !json.Valid([]byte(line)) {
						t.Errorf("stdout says %s", line)
					}
					if strings.Contains(line, tt.stdout) {
						tt.stdout = ""
						break
					}
				}
			}
			in.Close()
			if code := p.status(t); code != tt.want || tt.stdout != "" || !strings.Contains(p.said(), tt.fail) {
				t.Errorf("exit %d, want %d; stdout lacks %q:\n%s", code, tt.want, tt.stdout, p.said())
			}
		})
	}
	t.Run("told to stop", func(t *testing.T) {
		t.Parallel()
		p := command(t, nil, "mcp", "--from", empty)
		in, err := p.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		p.start(t)
		fmt.Fprint(in, hello)
		p.await(t, `{"jsonrpc":"2.0"`)
		p.interrupt(t, syscall.SIGTERM)
	})
}

// TestMCPFromBucket checks that the program reads a bucket by ranges, and needs no disk.
func TestMCPFromBucket(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	p := newPlace(t, 5)
	p.build(t)
	snapshot := p.publish(t).Checkpoint.Snapshot
	server := command(t, p.env, "mcp", "--http", "--listen", "127.0.0.1:0", "--from", p.to).start(t)
	address, _, _ := strings.Cut(server.await(t, "MCP on "), " ")
	session := connectMCP(t, &sdk.StreamableClientTransport{Endpoint: address})
	if data, from := callTool(t, session, "get_service", map[string]any{"slug": "service-0003"}); from != snapshot ||
		!strings.Contains(data, `"base_url":"https://s0003.example"`) {
		t.Errorf("from %s, want %s: %s", from, snapshot, data)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	server.interrupt(t, os.Interrupt)
}

// TestMCPLimit checks that the rate limit of a client counts every kind of request over HTTP.
func TestMCPLimit(t *testing.T) {
	t.Parallel()
	a := &agency{data: t.TempDir()}
	if err := os.Mkdir(a.from(), 0o755); err != nil {
		t.Fatal(err)
	}
	_, address := a.serve(t, "--rate-limit", "3")
	var codes []int
	for range 5 {
		res, err := http.Post(address, "application/json", strings.NewReader("[]"))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		codes = append(codes, res.StatusCode)
	}
	if got := fmt.Sprint(codes); got != "[400 400 400 429 429]" {
		t.Errorf("answers %s", got)
	}
}

// TestMCPNodeClient checks that the official JavaScript client accepts every response, over both transports.
func TestMCPNodeClient(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	needPostgres(t)
	const folder = "testdata/mcp"
	modules := nodetest.Install(t, folder, withoutPeers)
	dir := t.TempDir()
	program, err := os.ReadFile(filepath.Join(folder, "client.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "client.mjs"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	a := newAgency(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, address := a.serve(t)
	type result struct {
		IsError           bool
		StructuredContent json.RawMessage
		Content           []struct{ Text string }
	}
	var answers []string
	for _, args := range [][]string{{"http", address}, {"stdio", self, "mcp", "--from", a.from()}} {
		cmd := exec.CommandContext(t.Context(), "node", append([]string{"client.mjs"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), asProgram+"=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", args[0], err, out, &stderr)
		}
		var said struct {
			Server, LLMs             string
			Tools, Resources         []string
			Templates, Slugs         []string
			Evidence, Prompt         string
			Search, Service, Address result
			Refused, Unknown         result
		}
		if err := json.Unmarshal(out, &said); err != nil {
			t.Fatalf("%s: %v\n%.1000s", args[0], err, out)
		}
		if said.Server != "tollbook" || len(said.Tools) != 13 || len(said.Resources) != 3 ||
			!strings.HasPrefix(said.LLMs, "# ") {
			t.Errorf("%s: %s, tools %q, resources %q", args[0], said.Server, said.Tools, said.Resources)
		}
		if len(said.Templates) != 2 || fmt.Sprint(said.Slugs) != "[service-0007]" ||
			!strings.Contains(said.Evidence, `"slug":"service-0007"`) ||
			!strings.Contains(said.Prompt, `q="speech to text", network="Base", max_price_usd=0.01`) {
			t.Errorf("%s: templates %q, slugs %q, evidence %s, prompt %s", args[0], said.Templates, said.Slugs,
				said.Evidence, said.Prompt)
		}
		if !strings.Contains(string(said.Search.StructuredContent), `"per_page":3`) ||
			!strings.Contains(string(said.Service.StructuredContent), `"slug":"service-0007"`) ||
			!strings.Contains(string(said.Address.StructuredContent), `"url":"https://s0007.example/a"`) {
			t.Errorf("%s: %s %s %s", args[0], said.Search.StructuredContent, said.Service.StructuredContent,
				said.Address.StructuredContent)
		}
		if !said.Refused.IsError || !strings.Contains(said.Refused.Content[0].Text, `"type":"invalid_parameter"`) ||
			!said.Unknown.IsError || !strings.Contains(said.Unknown.Content[0].Text, `"code":404`) {
			t.Errorf("%s: %+v %+v", args[0], said.Refused, said.Unknown)
		}
		answers = append(answers, string(said.Service.StructuredContent))
	}
	if answers[0] != answers[1] {
		t.Errorf("over HTTP\n%s\nover stdio\n%s", answers[0], answers[1])
	}
}

// TestMCPInspector checks that the inspector of the protocol's authors, as a command, lists and calls what there is,
// over both transports.
func TestMCPInspector(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	needPostgres(t)
	modules := nodetest.Install(t, "testdata/mcp", withoutPeers)
	// The command reads the package.json of the inspector, in whose folder cli it is shipped.
	dir := t.TempDir()
	inspector := filepath.Join(dir, "inspector")
	if err := os.CopyFS(filepath.Join(inspector, "cli"),
		os.DirFS(filepath.Join(modules, "@modelcontextprotocol", "inspector-cli"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inspector, "package.json"),
		[]byte(`{"name":"@modelcontextprotocol/inspector","version":"1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	a := newAgency(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, address := a.serve(t)
	for _, server := range [][]string{{address, "--transport", "http"}, {self, "mcp", "--from", a.from()}} {
		for _, tt := range []struct {
			args []string
			want string
		}{
			{[]string{"tools/list"}, `"name": "compare_services"`},
			{[]string{"tools/call", "--tool-name", "search_services", "--tool-arg", "q=service", "per_page=2"},
				`"total": 12`},
			{[]string{"resources/read", "--uri", "tollbook://services/service-0007"}, `\"slug\":\"service-0007\"`},
			{[]string{"prompts/get", "--prompt-name", "choose_service", "--prompt-args", "need=speech to text"},
				`q=\"speech to text\"`},
		} {
			args := slices.Concat([]string{filepath.Join(inspector, "cli", "build", "cli.js"), "--cli"}, server,
				[]string{"--method"}, tt.args)
			cmd := exec.CommandContext(t.Context(), "node", args...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), asProgram+"=1")
			out, err := cmd.CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte(tt.want)) {
				t.Errorf("%s %q: %v\n%.1500s\nlacks %s", server[0], tt.args, err, out, tt.want)
			}
		}
	}
}
