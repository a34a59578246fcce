package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"tollbook/cmd/tollbook/settings"

	"github.com/google/go-cmp/cmp"
)

// TestConfigCommand checks that the command prints each value with its source, and never a secret.
func TestConfigCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tollbook.toml"), `# what stays the same
site = {title = "Inline"}

[crawl]
workers = 5
free_hosts = [
  "more.txt",
]

[serve]
"listen" = "127.0.0.1:7"
trusted_proxies = ["10.0.0.0/8"]

[synthesis]
base_url = "https://user:s3cret@model.example/v1?key=s3cret#s3cret"

[[network]]
caip2 = "eip155:8453"
rpc = ["https://node.example/v2/s3cret"]

[[network]]
caip2 = "eip155:137"
rpc = ["https://user:s3cret@other.example/s3cret", "http://127.0.0.1:1/?key=s3cret"]
confirmations = 64
start = "2025-10-01"
  [[network.token]]
  address = "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"
`)
	env := []string{
		"DATABASE_URL=postgres://me:s3cret@db.example/x?application_name=s3cret",
		"AWS_ENDPOINT_URL=https://u:s3cret@s3.example/s3cret", "AWS_REGION=eu-1",
		"AWS_SECRET_ACCESS_KEY=s3cret", "OPENAI_API_KEY=s3cret", "TOLLBOOK_SERVE_LISTEN=127.0.0.1:8",
		"TOLLBOOK_CRAWL_WORKERS=6", "TOLLBOOK_SIGNING_KEY=s3cret",
	}
	runConfig := func(args ...string) (stdout string) {
		t.Helper()
		p := command(t, env, append([]string{"config"}, args...)...)
		p.Dir = dir
		p.start(t)
		if code := p.status(t); code != 0 {
			t.Fatalf("exit %d: %s", code, p.said())
		}
		return p.said()
	}
	text := runConfig("--crawl-workers", "7", "--serve-rate-limit", "0")
	asJSON := runConfig("--crawl-workers", "7", "--serve-rate-limit", "0", "--json")
	for _, out := range []string{text, asJSON} {
		if strings.Contains(out, "s3cret") {
			t.Errorf("a secret is told:\n%s", out)
		}
	}
	var list []settings.Value
	if err := json.Unmarshal([]byte(asJSON), &list); err != nil {
		t.Fatalf("%v: %s", err, asJSON)
	}
	got := map[string][2]string{}
	for _, s := range list {
		if values, ok := s.Value.([]any); ok {
			var texts []string
			for _, v := range values {
				texts = append(texts, v.(string))
			}
			s.Value = texts
		}
		if _, wanted := wantedSettings(dir)[s.Key]; wanted {
			got[s.Key] = [2]string{s.Text(), s.Source()}
		}
		if s.Flag != nil && !strings.Contains(text, s.Key) {
			t.Errorf("%s is not in the table", s.Key)
		}
	}
	if diff := cmp.Diff(wantedSettings(dir), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func wantedSettings(dir string) map[string][2]string {
	return map[string][2]string{
		"site.title":                       {"Inline", "tollbook.toml:2"},
		"site.contact":                     {"-", "default"},
		"crawl.workers":                    {"7", "--crawl-workers"},
		"crawl.free_hosts":                 {"more.txt", "tollbook.toml:6"},
		"crawl.host_gap":                   {"1s", "default"},
		"serve.listen":                     {"127.0.0.1:8", "TOLLBOOK_SERVE_LISTEN"},
		"serve.rate_limit":                 {"0", "--serve-rate-limit"},
		"serve.trusted_proxies":            {"10.0.0.0/8", "tollbook.toml:12"},
		"serve.submissions":                {"false", "default"},
		"synthesis.base_url":               {"https://model.example/v1", "tollbook.toml:15"},
		"network.eip155:8453.rpc":          {"https://node.example", "tollbook.toml:19"},
		"network.eip155:137.rpc":           {"https://other.example, http://127.0.0.1:1", "tollbook.toml:23"},
		"network.eip155:137.confirmations": {"64", "tollbook.toml:24"},
		"network.eip155:137.start":         {"2025-10-01", "tollbook.toml:25"},
		"network.eip155:137.token":         {"USDC 0x3c499c542cef5e3811e1192ce70d8cc03d5c3359", "tollbook.toml:26"},
		"DATABASE_URL":                     {"postgres://db.example", "DATABASE_URL"},
		"AWS_ENDPOINT_URL":                 {"https://s3.example", "AWS_ENDPOINT_URL"},
		"AWS_REGION":                       {"eu-1", "AWS_REGION"},
		"AWS_ACCESS_KEY_ID":                {"not set", "default"},
		"AWS_SECRET_ACCESS_KEY":            {"set", "AWS_SECRET_ACCESS_KEY"},
		"OPENAI_API_KEY":                   {"set", "OPENAI_API_KEY"},
		"TOLLBOOK_SIGNING_KEY":             {"set", "TOLLBOOK_SIGNING_KEY"},
	}
}

// TestConfigCommandRefuses checks values that every command refuses, and a variable that no command reads.
func TestConfigCommandRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, variable, args, want string }{
		{"[serve]\nlistenn = \"x\"\n", "", "",
			`tollbook.toml:2:1: unknown key "serve.listenn"; did you mean "serve.listen"?`},
		{"[crawl]\nhost_gap = \"soon\"\n", "", "", "tollbook.toml:2:1: crawl.host_gap must be a duration in quotes"},
		{"[[network]]\ncaip2 = \"moon\"\n", "", "", `[[network]] caip2 "moon": give a CAIP-2 id`},
		{"", "TOLLBOOK_SERVE_RATELIMIT=1", "",
			`unknown variable TOLLBOOK_SERVE_RATELIMIT; did you mean "TOLLBOOK_SERVE_RATE_LIMIT"?`},
		{"", "TOLLBOOK_CRAWL_WORKERS=many", "", "TOLLBOOK_CRAWL_WORKERS: invalid value for --crawl-workers"},
		{"", "", "--crawl-workers many", `invalid argument "many" for "--crawl-workers" flag`},
	} {
		p := command(t, []string{tt.variable}, append([]string{"config"}, strings.Fields(tt.args)...)...)
		p.Dir = t.TempDir()
		write(t, filepath.Join(p.Dir, "tollbook.toml"), tt.file)
		p.start(t)
		if code := p.status(t); code != 2 || !strings.Contains(p.said(), tt.want) ||
			strings.Count(p.said(), "\n") != 1 {
			t.Errorf("%q %s %s: exit %d: %s\nwant %s", tt.file, tt.variable, tt.args, code, p.said(), tt.want)
		}
	}
}
