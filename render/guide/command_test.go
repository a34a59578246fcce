package guide

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/testgate"
)

func TestCurl(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, base, method, path, want string }{
		{"get", "https://acme.test", "GET", "/quote", "curl -i 'https://acme.test/quote'"},
		{"base with a path", "https://acme.test/api/", "GET", "quote", "curl -i 'https://acme.test/api/quote'"},
		{"query", "https://acme.test", "GET", "/q?a=1&b=$HOME", "curl -i 'https://acme.test/q?a=1&b=$HOME'"},
		{"head", "https://acme.test", "HEAD", "/", "curl -I 'https://acme.test/'"},
		{"post", "https://acme.test", "POST", "/ask",
			"curl -i -X POST 'https://acme.test/ask' -H 'content-type: application/json' -d '{}'"},
		{"delete", "https://acme.test", "DELETE", "/x", "curl -i -X DELETE 'https://acme.test/x'"},
		{"template", "https://acme.test", "GET", "/u/{id}", "curl -i -g 'https://acme.test/u/{id}'"},
		{"quotes", "https://acme.test", "GET", "/'; rm -rf / `id`\"\\",
			"curl -i 'https://acme.test/%27;%20rm%20-rf%20/%20%60id%60%22%5C'"},
		{"a fragment, which is not sent", "https://acme.test", "GET", "/a#b", "curl -i 'https://acme.test/a'"},
		{"a tool", "https://acme.test", "POST", "/mcp#first-use", "curl -i -X POST 'https://acme.test/mcp' " +
			"-H 'accept: application/json, text/event-stream' -H 'content-type: application/json' " +
			`-d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"first-use","arguments":{}}}'`},
		{"a hostile tool", "https://acme.test", "POST", "/mcp#a'b", ""},
		{"controls", "https://acme.test", "GET", "/a\n\x00\x7fb", "curl -i 'https://acme.test/a%0A%00%7Fb'"},
		{"other scripts", "https://acme.test", "GET", "/é", "curl -i 'https://acme.test/%C3%A9'"},

		{"hostile method", "https://acme.test", "GET; id", "/", ""},
		{"lower case", "https://acme.test", "get", "/", ""},
		{"no method", "https://acme.test", "", "/", ""},
		{"no web address", "javascript:alert(1)", "GET", "/", ""},
		{"credentials", "https://u:p@acme.test", "GET", "/", ""},
	} {
		if got := curl(c.base, c.method, c.path); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestFill checks how declared examples get into a request, and what is missing without them.
func TestFill(t *testing.T) {
	t.Parallel()
	const at = "https://acme.test/u/{id}/:day"
	field := func(in, name, value string, required bool) site.RequestField {
		return site.RequestField{In: in, Name: name, Value: value, Required: required}
	}
	for _, c := range []struct {
		name        string
		request     Request
		fields      []site.RequestField
		isDeclared  bool
		want        Request
		wantCommand string // of a command that pays
	}{
		{"all places", Request{Method: "POST", URL: at + "?a=1", Body: "{}"}, []site.RequestField{
			field(site.InPath, "id", `"a/b"`, true), field(site.InPath, "day", `5`, true),
			field(site.InQuery, "q", `"it's + é"`, true), field(site.InQuery, "n", "", false),
			field(site.InBody, "text", `"it's"`, true), field(site.InBody, "list", `[1,{"a":"b"}]`, false),
		}, false, Request{Method: "POST", URL: "https://acme.test/u/a%2Fb/5?a=1&q=it%27s%20%2B%20%C3%A9",
			Body: `{"text":"it's","list":[1,{"a":"b"}]}`}, "X"},
		{"nothing known", Request{Method: "POST", URL: at, Body: "{}"}, []site.RequestField{
			field(site.InPath, "id", "", true), field(site.InQuery, "q", "", true), field(site.InBody, "b", "", true),
		}, false, Request{Method: "POST", URL: at + "?q=%3Cq%3E", Body: `{"b":"<b>"}`, Missing: "id, q, b"},
			"echo 'Fill in id, q, b first, then delete this.' || X"},
		{"no field", Request{Method: "POST", URL: at, Body: "{}"}, nil, false,
			Request{Method: "POST", URL: at, Body: "{}", Missing: "the body"},
			"echo 'Fill in the body first, then delete this.' || X"},
		{"no field, and no body", Request{Method: "GET", URL: at}, nil, false, Request{Method: "GET", URL: at}, "X"},
		{"an optional field", Request{Method: "GET", URL: at},
			[]site.RequestField{field(site.InQuery, "n", "", false)}, false, Request{Method: "GET", URL: at}, "X"},
		{"a tool", Request{Method: "POST", URL: at, Body: "{}", Tool: "a"},
			[]site.RequestField{field(site.InArguments, "q", "1", true)}, true,
			Request{Method: "POST", URL: at, Body: `{"q":1}`, Tool: "a"}, "X"},
		{"a tool without arguments", Request{Method: "POST", URL: at, Body: "{}", Tool: "a"}, nil, true,
			Request{Method: "POST", URL: at, Body: "{}", Tool: "a"}, "X"},
		{"a tool without schema", Request{Method: "POST", URL: at, Body: "{}", Tool: "a"}, nil, false,
			Request{Method: "POST", URL: at, Body: "{}", Tool: "a", Missing: "the arguments"},
			"echo 'Fill in the arguments first, then delete this.' || X"},
	} {
		got := c.request.fill(c.fields, c.isDeclared)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if command := got.guardCommand("X"); command != c.wantCommand {
			t.Errorf("%s: %s, want %s", c.name, command, c.wantCommand)
		}
	}
}

// TestCallWithoutInput checks that every program for a request of which nothing is known says so before anything else,
// and that every command that would pay does.
func TestCallWithoutInput(t *testing.T) {
	t.Parallel()
	price := func(protocol, scheme, asset string) site.PricingEntry {
		return site.PricingEntry{Protocol: protocol, Scheme: scheme, Network: base, NetworkCAIP2: new(base),
			AssetAddress: asset, Price: "10000"}
	}
	terms := site.Terms{Payable: true, Prices: make([]site.PricingTerms, 3)}
	for _, c := range []struct {
		path    string
		pricing []site.PricingEntry
		want    int // programs and commands that pay
	}{
		{"/ask", []site.PricingEntry{price("x402", "exact", usdc)}, 3},
		{"/mcp#ask", []site.PricingEntry{price("x402", "exact", usdc)}, 1},
		{"/ask", []site.PricingEntry{price("mpp", "tempo/charge", usdc)}, 2},
		{"/ask", []site.PricingEntry{price("l402", "bolt11", "BTC")}, 2},
	} {
		call := NewCall("0", "https://acme.test", &site.Endpoint{Method: "POST", Path: c.path, Pricing: c.pricing},
			terms, false)
		paying := call.Samples[1:]
		if call.Other != nil {
			paying = append(paying, call.Other.Samples...)
		}
		for _, s := range paying {
			line := regexp.MustCompile(`(?m)^(throw new Error\(|raise SystemExit\(|\tlog\.Fatal\(|echo )["']Fill in the ` +
				`(body|arguments) first, then delete this\.`)
			if !line.MatchString(s.Code) {
				t.Errorf("%s, %s, does not stop:\n%s", c.path, s.Language, s.Code)
			}
		}
		if len(paying) != c.want {
			t.Errorf("%s: %d programs, want %d", c.path, len(paying), c.want)
		}
	}
}

// curl returns the command for an endpoint, "" if there is none.
func curl(base, method, path string) string {
	r, ok := NewRequest(base, &site.Endpoint{Method: method, Path: path})
	if !ok {
		return ""
	}
	return r.Curl()
}

// FuzzCurl checks that a shell reads one command with whole arguments, whatever the path is.
func FuzzCurl(f *testing.F) {
	f.Add("/'$(id)'")
	f.Add("/\n;`id`")
	f.Fuzz(func(t *testing.T, path string) {
		command := curl("https://acme.test", "GET", path)
		if command == "" {
			return
		}
		rest, ok := strings.CutPrefix(strings.Replace(command, " -g", "", 1), "curl -i '")
		inside, ok2 := strings.CutSuffix(rest, "'")
		if !ok || !ok2 || strings.ContainsAny(inside, "'\n\r\x00") {
			t.Errorf("path %q: %q", path, command)
		}
	})
}

func TestCurlInShell(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		testgate.Missing(t, "no shell: %v", err)
	}
	command := curl("https://acme.test", "POST", "/'; echo evil; $(echo evil) `echo evil`")
	out, err := exec.Command(sh, "-c", "curl() { for a; do printf '<%s>' \"$a\"; done; }; "+command).CombinedOutput()
	want := "<-i><-X><POST><https://acme.test/%27;%20echo%20evil;%20$(echo%20evil)%20%60echo%20evil%60>" +
		"<-H><content-type: application/json><-d><{}>"
	if err != nil || string(out) != want {
		t.Errorf("the shell read %s, %v, want %s", out, err, want)
	}
}
