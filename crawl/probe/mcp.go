package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"tollbook/site/x402"
)

// Limits of what is read of an MCP server.
const (
	maxToolPages = 5
	maxTools     = 200
	maxCursor    = 2048 // bytes
)

// mcpVersion is the version of MCP that is offered. A server may answer with another one.
const mcpVersion = "2025-06-18"

// Tool is a tool of an MCP server.
type Tool struct {
	Name, Description string
	Paid              bool            // the server's list names it as paid
	PriceUSD          string          // that the list states, decimal dollars; "" for none
	Destructive       bool            // the server says that a call may destroy something
	Schema            json.RawMessage // of its input; nil for none
}

// Session is what an MCP server answered to the requests that begin a session. All probes of a visit share one, so that
// the server is asked once for its tools. The zero value is ready. It is not for several goroutines.
type Session struct {
	begun   bool
	url     *url.URL
	header  http.Header
	failure *try // why there is no session; nil for none
	tools   []Tool
}

// rpcMessage is a JSON-RPC response.
type rpcMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    json.Number `json:"code"`
		Message string      `json:"message"`
	} `json:"error"`
}

// toolName is the form of a tool's name that can be part of a URL.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// headerText is the form of a session's id or a version that is sent back.
var headerText = regexp.MustCompile(`^[!-~]{1,1000}$`)

// ListTools returns the tools of the MCP server at an address, at most maxTools. It calls none. The error says why the
// server has no list.
func (p *Prober) ListTools(ctx context.Context, address string) ([]Tool, error) {
	s, err := p.openSession(ctx, address)
	if err != nil {
		return nil, err
	}
	p.EndSession(ctx, s)
	return s.tools, nil
}

// ToolResult is a tool with the result of its probe, nil if it was not called.
type ToolResult struct {
	Tool   Tool
	Result *Result
}

// Price returns the prices that a tool with the verdict Paid asks for, in words.
func (t ToolResult) Price() string {
	var list []string
	var rows []x402.Requirement
	if e := t.Result.Captured.Envelope; e != nil {
		rows = e.Accepts
	}
	for _, r := range rows {
		if !r.Usable() {
			continue
		}
		price := r.AmountRaw + " of " + r.Asset
		if usd, ok := r.PriceUSD(); ok {
			price = "$" + usd + " in " + r.AssetName
		}
		list = append(list, price+" on "+cmp.Or(r.NetworkCAIP2, r.Network))
	}
	for _, o := range t.Result.Offers {
		if !o.Usable() {
			continue
		}
		price := o.Amount + " of " + o.Asset
		if v := o.Value(); v.PriceUSD != "" {
			price = "$" + v.PriceUSD + " in " + v.AssetName
		}
		list = append(list, price+" on "+o.Network+" over "+o.Protocol)
	}
	return strings.Join(list, ", ")
}

// ProbeTools returns the tools of the MCP server at an address. It asks those that the list names as paid for their
// price, without payment, at most limit of them. The error says why the server has no list.
func (p *Prober) ProbeTools(ctx context.Context, address string, limit int) ([]ToolResult, error) {
	s, err := p.openSession(ctx, address)
	if err != nil {
		return nil, err
	}
	defer p.EndSession(ctx, s)
	var list []ToolResult
	called := 0
	for _, tool := range s.tools {
		t := ToolResult{Tool: tool}
		if tool.Paid && !tool.Destructive && called < limit && ctx.Err() == nil {
			called++
			t.Result = new(p.Probe(ctx, Target{URL: address + "#" + tool.Name, Session: s}))
		}
		list = append(list, t)
	}
	return list, nil
}

// openSession begins a session with the MCP server at an address and reads its list of tools.
func (p *Prober) openSession(ctx context.Context, address string) (*Session, error) {
	u, err := url.Parse(address)
	if err == nil {
		u, err = p.guard.canonical(u)
	}
	if err != nil {
		return nil, fmt.Errorf("list tools of %.200q: %w", address, err)
	}
	s := &Session{}
	p.begin(ctx, s, u)
	if s.failure != nil {
		p.EndSession(ctx, s)
		return nil, fmt.Errorf("list tools of %s: %s", u, s.failure.reason)
	}
	return s, nil
}

// SuggestsMCP reports whether the URL that was probed may be that of an MCP server: its path ends in /mcp, or it
// answers in JSON-RPC, and it does not ask for payment itself.
func (r Result) SuggestsMCP() bool {
	if r.Status == 0 || r.Verdict == Paid || r.Verdict == Broken || x402.ToolOf(r.FinalURL) != "" {
		return false
	}
	u, err := url.Parse(r.FinalURL)
	return err == nil && path.Base(u.Path) == "mcp" || isRPC(r.Answer)
}

// EndSession tells the server that a session has ended, if there is one. The answer does not matter.
func (p *Prober) EndSession(ctx context.Context, s *Session) {
	if s.header.Get("Mcp-Session-Id") != "" {
		p.exchange(ctx, call{method: http.MethodDelete, url: s.url, header: s.header}, true)
		s.header = nil
	}
}

// probeTool asks an MCP server for the price of one tool: it begins a session, reads the list of tools, and calls the
// tool without payment. It calls no tool unless the server's list, an earlier answer or a catalogue names it as
// paid: the call of a free tool may do something. It never calls one that the list names as destructive.
func (p *Prober) probeTool(ctx context.Context, t Target, u *url.URL, name string) Result {
	s := t.Session
	first := !s.begun
	if first {
		p.begin(ctx, s, u)
	}
	at := slices.IndexFunc(s.tools, func(tool Tool) bool { return tool.Name == name })
	refuse := func(verdict Verdict, class, reason string) Result {
		return Result{Verdict: verdict, Class: class, Reason: reason, Method: http.MethodPost, FinalURL: t.URL}
	}
	switch {
	case s.failure != nil:
		r := tries{*s.failure}.result()
		r.FinalURL = t.URL
		return r
	case at < 0:
		return refuse(Failed, ClassGone, "the MCP server lists no tool of this name")
	case s.tools[at].Destructive:
		return refuse(Inconclusive, ClassNeedsInput,
			"not called: the MCP server says that the tool may destroy something")
	case !s.tools[at].Paid && !t.NamedPaid:
		return refuse(Inconclusive, ClassNeedsInput, "nothing names the tool as paid, so it is not called")
	}
	x := p.rpc(ctx, s, 3, "tools/call",
		map[string]any{"name": name, "arguments": x402.SampleInput(s.tools[at].Schema)}, !first)
	x.answer.URL = u.String() + "#" + name
	x.captured, x.offers = x402.Capture(x.answer), p.readOffers(x.reply)
	x.verdict, x.class, x.reason = judgeTool(x)
	r := tries{x}.result()
	r.FinalURL, r.InputSchema = x.answer.URL, x402.ToolSchema(s.tools[at].Schema)
	return r
}

// judgeTool judges the answer to the call of a tool.
func judgeTool(x try) (Verdict, string, string) {
	verdict, class, reason := judge(x.answer, x.captured, x.offers, x.err)
	if class != ClassOpen {
		return verdict, class, reason
	}
	m, ok := readRPC(x.answer)
	var result struct {
		IsError bool `json:"isError"`
	}
	switch {
	case !ok:
		return Failed, ClassInvalidHTTP, "answers the call of a tool with something that is not JSON-RPC"
	case m.Error != nil:
		return Inconclusive, ClassNeedsInput,
			fmt.Sprintf("answers JSON-RPC error %s: it wants input that we do not have", clip(m.Error.Code.String()))
	case json.Unmarshal(m.Result, &result) == nil && result.IsError:
		return Inconclusive, ClassNeedsInput, "the tool reports an error before it asks for payment"
	}
	return Open, ClassOpen, "the tool answers without asking for payment"
}

// begin begins a session and reads the list of tools.
func (p *Prober) begin(ctx context.Context, s *Session, u *url.URL) {
	s.begun, s.url = true, u
	s.header = http.Header{"Accept": {"application/json, text/event-stream"}}
	x := p.rpc(ctx, s, 1, "initialize", map[string]any{
		"protocolVersion": mcpVersion, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "Tollbook", "version": "1"},
	}, false)
	m, ok := readRPC(x.answer)
	var hello struct{ ProtocolVersion string }
	if !ok || m.Error != nil || json.Unmarshal(m.Result, &hello) != nil || hello.ProtocolVersion == "" {
		p.fail(s, x, "answers initialize with something else than an MCP server does")
		return
	}
	if headerText.MatchString(hello.ProtocolVersion) {
		s.header["Mcp-Protocol-Version"] = []string{hello.ProtocolVersion}
	}
	if id := x.answer.Header.Get("Mcp-Session-Id"); headerText.MatchString(id) {
		s.header["Mcp-Session-Id"] = []string{id}
	}
	p.rpc(ctx, s, 0, "notifications/initialized", nil, true)
	cursor := ""
	for range maxToolPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		x := p.rpc(ctx, s, 2, "tools/list", params, true)
		m, ok := readRPC(x.answer)
		if !ok || m.Error != nil {
			if len(s.tools) == 0 {
				p.fail(s, x, "answers tools/list with something else than a list of tools")
			}
			return
		}
		if cursor = s.addTools(m.Result); cursor == "" || len(s.tools) >= maxTools {
			return
		}
	}
}

// fail stores why there is no session. An answer that says why by its status keeps its verdict: a server may ask for
// payment before a session begins.
func (p *Prober) fail(s *Session, x try, reason string) {
	x.captured = x402.Capture(x.answer)
	if x.answer.Status == http.StatusPaymentRequired {
		x.offers = p.readOffers(x.reply)
	}
	x.verdict, x.class, x.reason = judge(x.answer, x.captured, x.offers, x.err)
	if x.class == ClassOpen {
		x.verdict, x.class, x.reason = Failed, ClassInvalidHTTP, reason
	}
	s.failure = &x
}

// addTools adds the tools of a page of the list and returns the cursor of the next page.
func (s *Session) addTools(page json.RawMessage) (cursor string) {
	var list struct {
		NextCursor string
		Tools      []json.RawMessage
	}
	_ = json.Unmarshal(page, &list) // what can be read counts
	for _, raw := range list.Tools[:min(len(list.Tools), maxTools-len(s.tools))] {
		var tool struct {
			Name, Description string
			InputSchema       json.RawMessage
			Annotations       struct{ DestructiveHint bool }
		}
		if json.Unmarshal(raw, &tool) != nil || !toolName.MatchString(tool.Name) {
			continue
		}
		paid, price := x402.ToolPrice(raw)
		s.tools = append(s.tools, Tool{Name: tool.Name, Description: tool.Description, Paid: paid, PriceUSD: price,
			Destructive: tool.Annotations.DestructiveHint, Schema: tool.InputSchema})
	}
	if len(list.NextCursor) > maxCursor {
		return ""
	}
	return list.NextCursor
}

// rpc sends one JSON-RPC request, or a notification if id is 0.
func (p *Prober) rpc(ctx context.Context, s *Session, id int, method string, params any, paced bool) try {
	message := map[string]any{"jsonrpc": "2.0", "method": method}
	if id > 0 {
		message["id"] = id
	}
	if params != nil {
		message["params"] = params
	}
	body, _ := json.Marshal(message) // of maps and valid JSON: never fails
	c := call{method: http.MethodPost, url: s.url, body: body, contentType: "application/json", header: s.header}
	return try{call: c, reply: p.exchange(ctx, c, paced)}
}

// readRPC returns the response in an answer of status 200.
func readRPC(a x402.Answer) (m rpcMessage, ok bool) {
	if a.Status != http.StatusOK {
		return m, false
	}
	for _, raw := range x402.Messages(a) {
		var r rpcMessage
		if json.Unmarshal(raw, &r) == nil && r.JSONRPC == "2.0" && (r.Error != nil || len(r.Result) > 0) {
			return r, true
		}
	}
	return m, false
}
