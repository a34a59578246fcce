package probe

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The terms that the tools of TestToolForms ask for, and a challenge of MPP.
const (
	formTerms = `{"x402Version":2,"error":"Payment required","resource":{"url":"mcp://tool/quote","description":"d",` +
		`"mimeType":"application/json"},"accepts":[{"scheme":"exact","network":"eip155:8453","amount":"10000",` +
		`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",` +
		`"maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}]}`
	formChallenges = `[{"id":"abc","realm":"api.example.com","method":"tempo","intent":"charge","request":{` +
		`"amount":"1000","currency":"0x20c000000000000000000000b9537d11c60e8b50",` +
		`"recipient":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","methodDetails":{"chainId":4217}},` +
		`"expires":"2999-01-01T00:00:00Z"}]`
)

// quoted returns text as a JSON string.
func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// TestToolForms calls the paid tool of an MCP server that asks for payment in one of the forms of the drafts, of SDKs
// and of gateways.
func TestToolForms(t *testing.T) {
	t.Parallel()
	failed := func(code int, data string) string {
		return fmt.Sprintf(`"error":{"code":%d,"message":"Payment Required","data":%s}`, code, data)
	}
	text := func(of string) string { return `{"type":"text","text":` + quoted(of) + `}` }
	const x402, mpp = "paid_ok x402 10000", "paid_other mpp 1000"
	for _, tt := range []struct{ name, answer, want string }{
		{"MPP's error with both protocols", failed(-32042, `{"challenges":`+formChallenges+`,"httpStatus":402,"x402":`+
			formTerms+`}`), x402 + ", mpp 1000"},
		{"MPP's error", failed(-32042, `{"httpStatus":402,"challenges":`+formChallenges+`}`), mpp},
		{"MPP's error with terms of x402", failed(-32042, formTerms), x402},
		{"an error 402", failed(402, formTerms), x402},
		{"an error -402", failed(-402, formTerms), x402},
		{"an error -32402", failed(-32402, formTerms), x402},
		{"an error that names a protocol", failed(-32803, `{"protocol":"x402","paymentRequirement":`+formTerms+`}`), x402},
		{"text", `"result":{"isError":true,"content":[` + text(formTerms) + `]}`, x402},
		{"text behind words", `"result":{"isError":true,"content":[` + text("Pay first.") + `,` + text(formTerms) + `]}`,
			x402},
		{"structured", `"result":{"isError":true,"structuredContent":` + formTerms + `,"content":[` + text(formTerms) +
			`]}`, x402},
		{"structured without an error", `"result":{"structuredContent":` + formTerms + `}`, x402},
		{"MCP's extension", `"result":{"resultType":"payment_required","paymentRequired":` + formTerms + `}`, x402},
		{"a resource", `"result":{"isError":true,"content":[{"type":"resource","resource":{"uri":"x402://payment",` +
			`"text":` + quoted(formTerms) + `}}]}`, x402},
		{"meta", `"result":{"isError":true,"content":[],"_meta":{"x402/payment-required":` + formTerms + `}}`, x402},
		{"another name in meta", `"result":{"isError":true,"content":[],"_meta":{"x402/error":` + formTerms + `}}`, x402},
		{"challenges in meta", `"result":{"isError":true,"content":[],"_meta":{"org.paymentauth/payment-required":` +
			`{"challenges":` + formChallenges + `}}}`, mpp},
		{"challenges as text", `"result":{"isError":true,"content":[` + text(`{"challenges":`+formChallenges+`}`) + `]}`,
			mpp},
		{"status 402 with data", `402 ` + failed(402, formTerms), x402},
		{"status 402 with a header", `header ` + failed(402, `{}`), x402},

		{"terms as the subject of a result", `"result":{"content":[` + text(formTerms) + `]}`, "open"},
		{"another error", failed(-32602, `{"hint":"give a symbol"}`), "needs_input"},
		{"challenges that are none", failed(-32042, `{"challenges":[1,"x"]}`), "needs_input"},
		{"a broken challenge", failed(-32042, `{"challenges":[{"id":"a"}]}`), "other_402"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, _, base := serve(t, answerTools(tt.answer))
			r := p.Probe(t.Context(), Target{URL: base + "/mcp#quote", Session: &Session{}})
			got := []string{r.Class}
			if e := r.Captured.Envelope; e != nil {
				got[0] += " x402 " + e.Accepts[0].Amount
			}
			for i, o := range r.Offers {
				if o.Usable() && i == 0 && r.Captured.Envelope == nil {
					got[0] += " " + o.Protocol + " " + o.Amount
				} else if o.Usable() {
					got = append(got, o.Protocol+" "+o.Amount)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.Reason, diff)
			}
		})
	}
}

// answerTools returns an MCP server with one paid tool, whose call gives an answer: the rest of a JSON-RPC message,
// after "402 " with that status, and after "header " with the terms in a header too.
func answerTools(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		w.Header().Set("Content-Type", "application/json")
		rest := answer
		switch m.Method {
		case "initialize":
			rest = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t"}}`
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
			return
		case "tools/list":
			rest = `"result":{"tools":[{"name":"quote","inputSchema":{"type":"object"},"annotations":{"paymentHint":true}}]}`
		}
		if text, ok := strings.CutPrefix(rest, "header "); ok {
			w.Header().Set("Payment-Required", envelopeHeader(""))
			rest = "402 " + text
		}
		if text, ok := strings.CutPrefix(rest, "402 "); ok {
			rest = text
			w.WriteHeader(http.StatusPaymentRequired)
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, rest)
	}
}

// TestToolsBeforePayment asks servers that want a payment before a session begins.
func TestToolsBeforePayment(t *testing.T) {
	t.Parallel()
	p, _, base := serve(t, func(w http.ResponseWriter, _ *http.Request) { demand(w) })
	r := p.Probe(t.Context(), Target{URL: base + "/mcp#quote", Session: &Session{}})
	if r.Verdict != Paid || r.Captured.Envelope == nil {
		t.Errorf("%s %s: %s; want terms", r.Verdict, r.Class, r.Reason)
	}
}
