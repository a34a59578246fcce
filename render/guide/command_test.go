package guide

import (
	"os/exec"
	"strings"
	"testing"

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
		{"quotes", "https://acme.test", "GET", "/'; rm -rf / #`id`\"\\",
			"curl -i 'https://acme.test/%27;%20rm%20-rf%20/%20#%60id%60%22%5C'"},
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
	want := "<-i><-X><POST><https://acme.test/%27;%20echo%20evil;%20$(echo%20evil)%20%60echo%20evil%60><-H><content-type: application/json><-d><{}>"
	if err != nil || string(out) != want {
		t.Errorf("the shell read %s, %v, want %s", out, err, want)
	}
}
