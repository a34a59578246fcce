//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// secrets are values in every place that takes one. Each is written differently in a URL, in a header and in JSON.
var secrets = map[string]string{
	"password of DATABASE_URL":     "s3cret-db/1+x",
	"AWS_ACCESS_KEY_ID":            "s3cret-id/2+x",
	"AWS_SECRET_ACCESS_KEY":        "s3cret-aws/3+x",
	"AWS_SESSION_TOKEN":            "s3cret-token/4+x",
	"OPENAI_API_KEY":               "s3cret-model/5+x",
	"PGPASSWORD":                   "s3cret-pg/6+x",
	"user of a node":               "s3cret-user/7+x",
	"path of a node":               "s3cret-path-8x",
	"query of a node":              "s3cret-query/9+x",
	"argument of the notification": "s3cret-argument/10+x",
	"password of a proxy":          "s3cret-proxy/11+x",
	"password in an address":       "s3cret-address/12+x",
}

// secretForms returns how a secret may be written: as it is, escaped for a URL or JSON, in hexadecimal, or in base64 at
// any position of a longer text.
func secretForms(secret string) []string {
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret),
		url.UserPassword("", secret).String()[1:],
		strings.ReplaceAll(secret, "/", `\/`), hex.EncodeToString([]byte(secret))}
	for shift := range 3 {
		text := append(make([]byte, shift), secret...)
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := e.EncodeToString(text)
			forms = append(forms, encoded[(shift*8+5)/6:len(encoded)-1]) // without characters that neighbours change
		}
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// findSecrets fails if a text contains a secret.
func findSecrets(t *testing.T, where string, text []byte) {
	t.Helper()
	for name, secret := range secrets {
		for _, form := range secretForms(secret) {
			if i := bytes.Index(text, []byte(form)); i >= 0 {
				t.Errorf("%s contains the %s:\n%.600q", where, name, text[max(0, i-300):])
				break
			}
		}
	}
}

// echo starts a server that refuses each request, and repeats all of it: as a node, a bucket or a model may.
func echo(t *testing.T) (base string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"error":{"code":"wrong_key","message":"wrong key %s %s %s %s %q %q"}}`, user, password, r.URL,
			r.URL.Query(), r.Header, secrets["AWS_ACCESS_KEY_ID"])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// secretEnvironment returns variables with all secrets, and a configuration file whose URLs lead to a server that
// repeats what it gets.
func secretEnvironment(t *testing.T, dir, base, databaseURL string) []string {
	t.Helper()
	host := strings.TrimPrefix(base, "http://")
	query := url.QueryEscape(secrets["query of a node"])
	file := filepath.Join(dir, "tollbook.toml")
	write(t, file, `
[crawl]
contact = "`+testContact+`"
[serve]
listen = "127.0.0.1:0"
metrics = "127.0.0.1:0"
submissions = true
[submissions]
notify = ["false", "`+secrets["argument of the notification"]+`"]
[publish]
to = "s3://bucket/prefix"
[schedule]
build = "1s"
index = "1s"
[synthesis]
base_url = "`+base+`/v1"
model = "stub"
[[network]]
caip2 = "eip155:8453"
rpc = ["http://`+url.UserPassword("me", secrets["user of a node"]).String()+"@"+host+"/"+secrets["path of a node"]+
		`?key=`+query+`", "http://127.0.0.1:1/`+secrets["path of a node"]+`?key=`+query+`"]
`)
	env := []string{"DATABASE_URL=" + databaseURL, "TOLLBOOK_CONFIG=" + file, "AWS_ENDPOINT_URL=" + base,
		"HTTP_PROXY=http://" + url.UserPassword("me", secrets["password of a proxy"]).String() + "@127.0.0.1:1",
		"HTTPS_PROXY=http://" + url.UserPassword("me", secrets["password of a proxy"]).String() + "@127.0.0.1:1"}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "OPENAI_API_KEY",
		"PGPASSWORD"} {
		env = append(env, name+"="+secrets[name])
	}
	return env
}

// commandLines are the arguments of every command. %DIR is the folder of the test, %URL a URL with a secret.
var commandLines = map[string][]string{
	"allow":                   {"--directory", "%URL"},
	"best":                    {"x", "--directory", "%URL"},
	"build":                   {"--data", "%DIR/data"},
	"check":                   {"%URL", "--ask", "--crawl-allow-private", "127.0.0.1", "--directory", "%URL"},
	"completion":              {"bash"},
	"config":                  {"--json"},
	"crawl":                   {"--once", "--data", "%DIR/data"},
	"data pull":               {"%URL", "--to", "%DIR/tables"},
	"data query":              {"SELECT 1", "--from", "%DIR/tables"},
	"demo":                    {"--data", "%DIR/demo", "--listen", "127.0.0.1:0"},
	"doctor":                  {"--timeout", "2s", "--data", "%DIR/data"},
	"edge cloudflare":         {},
	"edge cloudfront":         {},
	"edge nginx":              {},
	"export":                  {"--data", "%DIR/data"},
	"facilitators accept":     {"nobody", "0x73b2b8df52fbe7c40fe78db52e3dffdd5db5ad07", "--data", "%DIR/data"},
	"facilitators candidates": {"--data", "%DIR/data"},
	"facilitators import":     {"--data", "%DIR/data"},
	"facilitators list":       {"--data", "%DIR/data"},
	"facilitators trust":      {"nobody", "--data", "%DIR/data"},
	"find":                    {"x", "--directory", "%URL"},
	"import":                  {"%DIR/nothing.jsonl", "--data", "%DIR/data"},
	"index":                   {"--once", "--data", "%DIR/data"},
	"key directory":           {"%DIR/nothing.pem"},
	"key new":                 {"%DIR/key.pem"},
	"key public":              {"%DIR/nothing.pem"},
	"lint":                    {"%URL"},
	"man":                     {"%DIR/man"},
	"mcp":                     {"--http", "--listen", "127.0.0.1:0", "--data", "%DIR/data"},
	"migrate":                 {"--data", "%DIR/data"},
	"prune":                   {"--data", "%DIR/data"},
	"publish":                 {"--data", "%DIR/data"},
	"ready":                   {"%URL"},
	"rollback":                {"20261120T000000Z-0123ab", "--data", "%DIR/data"},
	"serve":                   {"--data", "%DIR/data"},
	"services add": {"%URL", "--name", "A", "--description", "B", "--category", "Data", "--endpoint", "/a", "--data",
		"%DIR/data"},
	"services block":      {"spam.example", "--data", "%DIR/data"},
	"services unblock":    {"spam.example", "--data", "%DIR/data"},
	"services apply":      {"%DIR/list.toml", "--data", "%DIR/data"},
	"services edit":       {"nobody", "--name", "A", "--data", "%DIR/data"},
	"services hide":       {"nobody", "--data", "%DIR/data"},
	"services import":     {"%URL", "--data", "%DIR/data"},
	"services list":       {"--data", "%DIR/data"},
	"services pause":      {"nobody", "--data", "%DIR/data"},
	"services allow":      {"nobody", "--data", "%DIR/data"},
	"services removed":    {"--data", "%DIR/data"},
	"services remove":     {"nobody", "--data", "%DIR/data"},
	"services resume":     {"nobody", "--data", "%DIR/data"},
	"services retire":     {"nobody", "--data", "%DIR/data"},
	"services show":       {"nobody", "--data", "%DIR/data"},
	"services verify":     {"--all", "--data", "%DIR/data"},
	"services opt-outs":   {"--data", "%DIR/data"},
	"show":                {"nobody", "--directory", "%URL"},
	"submissions approve": {"--verified", "--yes", "--data", "%DIR/data"},
	"checks void":         {"--list", "--data", "%DIR/data"},
	"checks unvoid":       {"1", "--data", "%DIR/data"},
	"submissions ban":     {"00000000-0000-0000-0000-000000000000", "--data", "%DIR/data"},
	"submissions bans":    {"--data", "%DIR/data"},
	"submissions unban":   {"00000000-0000-0000-0000-000000000000", "--data", "%DIR/data"},
	"submissions forget":  {"x@example.com", "--data", "%DIR/data"},
	"submissions list":    {"--data", "%DIR/data"},
	"sources accept":      {"cdp", "--data", "%DIR/data"},
	"sources disable":     {"cdp", "--data", "%DIR/data"},
	"sources enable":      {"cdp", "--data", "%DIR/data"},
	"sources list":        {"--data", "%DIR/data"},
	"sources pull":        {"--data", "%DIR/data"},
	"submissions reject":  {"00000000-0000-4000-8000-000000000000", "--reason", "No.", "--data", "%DIR/data"},
	"submissions show":    {"00000000-0000-4000-8000-000000000000", "--data", "%DIR/data"},
	"suggestions close":   {"00000000-0000-4000-8000-000000000000", "--data", "%DIR/data"},
	"suggestions list":    {"--data", "%DIR/data"},
	"suggestions show":    {"00000000-0000-4000-8000-000000000000", "--data", "%DIR/data"},
	"up":                  {"--data", "%DIR/data"},
	"verify":              {"%URL"},
	"work":                {"--build", "--data", "%DIR/data"},
}

// runsOn are the commands that run until they are stopped, and the line that they print when they are ready.
var runsOn = map[string]string{"demo": "Pages ", "mcp": "MCP on ", "serve": "Serving ", "up": "Serving ",
	"work": "Working "}

// commandPaths returns every command that does something, without the program's name.
func commandPaths(cmd *cobra.Command) (list []string) {
	for _, sub := range cmd.Commands() {
		if !sub.HasSubCommands() && sub.Name() != "help" {
			list = append(list, strings.TrimPrefix(sub.CommandPath(), "tollbook "))
		}
		list = append(list, commandPaths(sub)...)
	}
	return list
}

// addressWithSecret is a URL with a password, in front of a server that repeats it.
func addressWithSecret(base string) string {
	return "http://" + url.UserPassword("me", secrets["password in an address"]).String() + "@" +
		strings.TrimPrefix(base, "http://") + "/x.json"
}

// TestSecretsOfEveryCommand runs every command with secrets in every place that takes one. The database refuses the
// connection, its URL is malformed, or all is well. No output contains a secret: no report, log, error, metric or
// crash. No file and no row of the database does, either.
func TestSecretsOfEveryCommand(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	base := echo(t)
	password := url.QueryEscape(secrets["password of DATABASE_URL"])
	good := postgrestest.NewDatabase(t)
	goodURL, err := url.Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	goodURL.User = url.UserPassword(goodURL.User.Username(), secrets["password of DATABASE_URL"])
	paths := commandPaths(newRootCommand())
	for name := range commandLines {
		if !slices.Contains(paths, name) {
			t.Errorf("there is no command %s", name)
		}
	}
	for _, database := range []struct{ name, url string }{
		{"refused", "postgres://me:" + password + "@127.0.0.1:1/x"},
		{"no port", "postgres://me:" + password + "@127.0.0.1:port/x"},
		{"no URL", "postgres://me:" + secrets["password of DATABASE_URL"] + "@[127.0.0.1/x"},
		{"keywords", "host=127.0.0.1 port=1 user=me password=" + secrets["password of DATABASE_URL"]},
		{"well", goodURL.String()},
	} {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			env := secretEnvironment(t, dir, base, database.url)
			if database.name == "well" {
				seedSecrets(t, env, good, dir)
			}
			for _, path := range paths {
				env := env
				if path == "demo" && database.name == "well" { // it starts a Postgres of its own
					env = append(slices.Clone(env), "DATABASE_URL=")
				}
				args, ok := commandLines[path]
				if !ok {
					t.Errorf("%s is a new command: add its arguments to commandLines", path)
					continue
				}
				args = slices.Clone(args)
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "%DIR", dir)
					args[i] = strings.ReplaceAll(args[i], "%URL", addressWithSecret(base))
				}
				out := outputOf(t, env, path, append(strings.Fields(path), args...))
				if _, isServer := runsOn[path]; isServer && database.name == "well" &&
					!strings.Contains(out, "goroutine ") {
					t.Errorf("tollbook %s did not start:\n%s", path, out)
				}
				findSecrets(t, "the output of tollbook "+path, []byte(out))
			}
			if database.name == "well" {
				findInFiles(t, filepath.Join(dir, "data"))
				findInFiles(t, filepath.Join(dir, "demo"))
				findInDatabase(t, good)
			}
		})
	}
}

// seedSecrets fills a directory so that each command has work: a service, and a submission that waits.
func seedSecrets(t *testing.T, env []string, dsn, dir string) {
	t.Helper()
	list := writeFile(t, "list.json", listOfServices(1, "A service."))
	ran(t, env, "services", "import", list, "--data", filepath.Join(dir, "data"))
	query(t, dsn, `UPDATE services SET base_url = 'http://127.0.0.1:1'`) // refused by the guard
	query(t, dsn, `
		INSERT INTO inbox (id, kind, state, received_at, client, domain, body, probe_result)
		VALUES ('00000000-0000-4000-8000-000000000001', 'submission', 'pending', now(), '', 's.example',
			'{"url":"https://s.example","email":"owner@s.example","service_name":"S","description":"About it.",
			"website_url":"https://s.example","category":"Data","endpoints":["/a"]}',
			'{"endpoints_found":0,"errors":[]}')`)
	ran(t, env, "build", "--data", filepath.Join(dir, "data"))
}

// outputOf returns all that a command prints. One that runs on is asked for its metrics and ends with the stacks of all
// goroutines.
func outputOf(t *testing.T, env []string, path string, args []string) string {
	t.Helper()
	p := command(t, env, args...)
	p.start(t)
	ready, isServer := runsOn[path]
	if !isServer {
		p.status(t)
		return p.said()
	}
	var metrics string
	deadline := time.After(patience)
	for waiting := true; waiting; {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.status(t)
				return p.said() // it could not start
			}
			if address, ok := strings.CutPrefix(line, "Metrics on "); ok {
				metrics = address
			}
			waiting = !strings.HasPrefix(strings.TrimSpace(line), ready)
		case <-deadline:
			t.Fatalf("tollbook %s does not start:\n%s", path, p.said())
		}
	}
	select { // the metrics are announced before or after the rest
	case line := <-p.lines:
		if address, ok := strings.CutPrefix(line, "Metrics on "); ok {
			metrics = address
		}
	case <-time.After(time.Second):
	}
	p.unread()
	// Time for builds, publications, nodes, questions and notifications to fail.
	time.Sleep(4 * time.Second)
	var text string
	if metrics != "" {
		for _, path := range []string{"/metrics", "/readyz", "/healthz"} {
			text += get(t, strings.TrimSuffix(metrics, "/metrics")+path).body
		}
		if !strings.Contains(text, "tollbook_") {
			t.Errorf("tollbook %s has no metrics: %.300s", path, text)
		}
	}
	if err := p.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-p.exited
	if !strings.Contains(p.said(), "goroutine ") {
		t.Errorf("tollbook %s prints no stacks:\n%.500s", path, p.said())
	}
	return text + p.said()
}

// findInFiles looks for secrets in all files of a folder, and in what is compressed in them. A demo that was killed
// leaves its Postgres running, which deletes files meanwhile.
func findInFiles(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && files > 0 {
			return nil
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		files++
		findSecrets(t, name, data)
		if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
			plain, _ := io.ReadAll(z)
			findSecrets(t, name, plain)
		}
		if z, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
			for _, f := range z.File {
				r, err := f.Open()
				if err != nil {
					return err
				}
				plain, err := io.ReadAll(r)
				if err != nil {
					return err
				}
				findSecrets(t, name+" "+f.Name, plain)
			}
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Errorf("%d files in %s, %v", files, dir, err)
	}
}

// findInDatabase looks for secrets in all rows.
func findInDatabase(t *testing.T, dsn string) {
	t.Helper()
	tables := strings.Fields(query(t, dsn, `
		SELECT string_agg(quote_ident(relname), ' ') FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')`))
	if len(tables) < 20 {
		t.Fatalf("tables %s", tables)
	}
	for _, table := range tables {
		findSecrets(t, "table "+table, []byte(query(t, dsn, `SELECT coalesce(string_agg(row_to_json(t)::text, ' '), '')
			FROM `+table+` AS t`)))
	}
}

// TestSecretsInAddresses gives addresses with passwords, well-formed and not, to each flag and argument that takes an
// address.
func TestSecretsInAddresses(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	base := echo(t)
	dir := t.TempDir()
	secret := secrets["password in an address"]
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t), "AWS_ENDPOINT_URL=" + base,
		"TOLLBOOK_DATA=" + filepath.Join(dir, "data")}
	for _, address := range []string{
		addressWithSecret(base),
		"https://me:" + url.QueryEscape(secret) + "@127.0.0.1:1/x",
		"https://me:" + url.QueryEscape(secret) + "@127.0.0.1:port/x",
		"https://me:" + secret + "@127.0.0.1/x",
		"https://me: " + secret + "@127.0.0.1/x",
		"s3://me:" + url.QueryEscape(secret) + "@bucket/x",
		"s3://me:" + secret + "@bucket",
		"ftp://me:" + url.QueryEscape(secret) + "@127.0.0.1/x",
	} {
		for _, args := range [][]string{
			{"verify", address}, {"ready", address}, {"lint", address}, {"lint", "--json", address},
			{"show", "nobody", "--directory", address}, {"check", "--ask", "--data", dir, address},
			{"check", "--ask", "--directory", address, address},
			{"serve", "--serve-listen", "127.0.0.1:-1", "--from", address}, {"mcp", "--from", address},
			{"publish", "--publish-to", address}, {"prune", "--publish-to", address},
			{"rollback", "20261120T000000Z-0123ab", "--publish-to", address},
			{"doctor", "--timeout", "1s", "--publish-to", address},
			{"doctor", "--timeout", "1s", "--site-base-url", address},
			{"doctor", "--timeout", "1s", "--rpc", "eip155:8453=" + address},
			{"doctor", "--timeout", "1s", "--rpc", address},
			{"index", "--once", "--rpc", "eip155:8453=" + address}, {"index", "--once", "--rpc", address},
			{"services", "import", address}, {"facilitators", "import", address}, {"import", address},
			{"crawl", "--once", "--crawl-contact", address},
			{"crawl", "--once", "--synthesis-model", "m", "--synthesis-base-url", address},
			{"build", "--site-base-url", address}, {"build", "--site-contact", address},
			{"config", "--publish-to", address, "--site-base-url", address, "--synthesis-base-url", address,
				"--crawl-contact", address},
		} {
			t.Run(strings.Join(args, " "), func(t *testing.T) {
				t.Parallel()
				p := command(t, env, args...)
				p.Dir = dir
				p.start(t)
				p.status(t)
				findSecrets(t, "the output of tollbook "+strings.Join(args, " "), []byte(p.said()))
			})
		}
	}
}
