package main

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tollbook/site/testgate"
)

// printedBy returns the complete output of a command that must succeed.
func printedBy(t *testing.T, args string) string {
	t.Helper()
	data, err := command(t, nil, strings.Fields(args)...).Output()
	if err != nil {
		t.Fatalf("tollbook %s: %v", args, err)
	}
	return string(data)
}

// TestEdgePrints checks that each program is complete, names its limits, contains the values of the flags, and is the
// same every time.
func TestEdgePrints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		want []string
	}{
		{
			"edge nginx --root /srv/tollbook --server-name tollbook.example --upstream 10.0.0.1:4020 " +
				"--rate-limit 77 --max-age 5",
			[]string{"root /srv/tollbook/current;", "server_name tollbook.example;", "server 10.0.0.1:4020;",
				"rate=77r/m;", "max-age=5,", "Limits:"}},
		{"edge cloudflare --bucket FILES --limiter CLIENTS --prefix /a/b/ --rate-limit 77",
			[]string{"env.FILES", "env.CLIENTS", `const PREFIX = "a/b/";`, "limit = 77", "Limits:",
				"export default"}},
		{"edge cloudfront --bucket one --serve two --rate-limit 77",
			[]string{"selectRequestOriginById('two')", `"Limit": 77`, "Limits:", "function handler(event)"}},
	} {
		stdout := printedBy(t, tt.args)
		for _, want := range tt.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("tollbook %s does not say %s", tt.args, want)
			}
		}
		if strings.ContainsAny(stdout, "«»") {
			t.Errorf("tollbook %s leaves something unfilled", tt.args)
		}
		if printedBy(t, tt.args) != stdout {
			t.Errorf("tollbook %s says something else the second time", tt.args)
		}
	}
}

// TestEdgeRefuses checks that values that would break out of their place in a program are refused before anything is
// printed.
func TestEdgeRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"edge", "nginx", "--listen", "80; }"}, {"edge", "nginx", "--server-name", "a;b"},
		{"edge", "nginx", "--upstream", "nowhere"}, {"edge", "nginx", "--upstream", "a:1;"},
		{"edge", "nginx", "--root", "/a b"}, {"edge", "nginx", "--root", "/a;"}, {"edge", "nginx", "--max-age", "0"},
		{"edge", "nginx", "--rate-limit", "0"},
		{"edge", "cloudflare", "--bucket", "a-b"}, {"edge", "cloudflare", "--limiter", ""},
		{"edge", "cloudflare", "--rate-limit", "-1"},
		{"edge", "cloudfront", "--bucket", "a'b"}, {"edge", "cloudfront", "--bucket", "serve"}, {"edge", "caddy"},
	} {
		if code, stdout, stderr := tollbook(t, nil, args...); code != 2 || stdout != "" || stderr == "" {
			t.Errorf("tollbook %q: exit %d, %.80q, %q", args, code, stdout, stderr)
		}
	}
}

// TestNginxWithTLS checks with nginx that the file which the page on hosting shows for TLS and Cloudflare goes with the
// printed configuration.
func TestNginxWithTLS(t *testing.T) {
	t.Parallel()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		testgate.Missing(t, "no nginx: apt-get install nginx-light")
	}
	page := readFile(t, filepath.Join(root, "templates/pages/hosting.md"))
	own := regexp.MustCompile(`(?m)^    ssl_certificate .*\n(?:    .*\n)+`).FindString(page)
	args := regexp.MustCompile(`(?m)^    tollbook edge nginx --data (\S+) --server-name (\S+) --listen "(.*)"$`).
		FindStringSubmatch(page)
	if own == "" || args == nil {
		t.Fatalf("the page has no file of nginx with a certificate, or no command: %q, %q", own, args)
	}
	dir := t.TempDir()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tollbook.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: server.Certificate().Raw})))
	write(t, filepath.Join(dir, "tollbook.key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	write(t, filepath.Join(dir, "own.conf"), strings.ReplaceAll(own, "/etc/ssl/", dir+"/"))
	write(t, filepath.Join(dir, "tollbook.conf"), ran(t, nil, "edge", "nginx", "--data", args[1], "--server-name",
		args[2], "--listen", args[3]))
	write(t, filepath.Join(dir, "nginx.conf"), "pid "+dir+"/pid; error_log stderr; events {}\nhttp { access_log off; "+
		"client_body_temp_path "+dir+"; include "+dir+"/own.conf; include "+dir+"/tollbook.conf; }\n")
	if out, err := exec.CommandContext(t.Context(), nginx, "-t", "-p", dir, "-c", filepath.Join(dir, "nginx.conf")).
		CombinedOutput(); err != nil {
		t.Errorf("nginx -t: %v\n%s", err, out)
	}
}
