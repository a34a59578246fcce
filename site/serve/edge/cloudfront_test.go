package edge

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tollbook/site/routes"
	"tollbook/site/testgate"
)

// rewrite runs the function under node. It returns the new path of each request of a script, or "" if serve gets it.
func rewrite(t *testing.T, o CloudFront, script []call) []string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		testgate.Missing(t, "node is missing; install Node.js 20 or newer (Debian: apt-get install nodejs)")
	}
	program, err := o.Function()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	stub := filepath.Join(dir, "node_modules", "cloudfront")
	if err := os.MkdirAll(stub, 0o700); err != nil {
		t.Fatal(err)
	}
	var events []map[string]any
	for _, c := range script {
		path, query, _ := strings.Cut(c.target, "?")
		events = append(events, map[string]any{"version": "1.0",
			"context": map[string]any{"eventType": "viewer-request"}, "request": map[string]any{
				"method": c.method, "uri": path, "querystring": querystring(query), "headers": map[string]any{},
				"cookies": map[string]any{},
			}})
	}
	data, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"events.json": string(data),
		"node_modules/cloudfront/index.mjs": "export default {\n" +
			"  selectRequestOriginById(id) { globalThis.chosen = id; },\n};",
		"node_modules/cloudfront/package.json": `{"name":"cloudfront","exports":"./index.mjs"}`,
		"function.mjs":                         string(program) + "\nexport { handler };\n",
		"run.mjs": `import { readFileSync } from "node:fs";
import { handler } from "./function.mjs";
const out = JSON.parse(readFileSync("events.json")).map((event) => {
  globalThis.chosen = "";
  const before = JSON.stringify(event.request);
  const r = handler(event);
  if (globalThis.chosen === "") return r.uri;
  if (globalThis.chosen !== "serve" || JSON.stringify(r) !== before) throw new Error(before);
  return "";
});
console.log(JSON.stringify(out));`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "node", "run.mjs")
	cmd.Dir = dir
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var uris []string
	if err := json.Unmarshal(out, &uris); err != nil {
		t.Fatal(err)
	}
	return uris
}

// querystring returns a query in the form in which CloudFront passes it to a function: names and values as they were
// sent, with the values of a repeated name in a list.
func querystring(query string) map[string]any {
	all := map[string]any{}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if pair == "" {
			continue
		}
		one := map[string]any{"value": value}
		if was, ok := all[name].(map[string]any); ok {
			list, _ := was["multiValue"].([]any)
			if list == nil {
				list = []any{map[string]any{"value": was["value"]}}
			}
			was["multiValue"] = append(list, one)
			continue
		}
		all[name] = one
	}
	return all
}

// testCloudFront checks that the function rewrites a request to its key by the route table, and that requests that are
// invalid, must be cut or have unknown parameters never go to the bucket.
func testCloudFront(t *testing.T, w *world, script []call) {
	for _, lists := range []bool{false, true} {
		t.Run(fmt.Sprintf("lists=%t", lists), func(t *testing.T) {
			files := 0
			for i, uri := range rewrite(t, CloudFront{Bucket: "bucket", Serve: "serve", RateLimit: 200, Lists: lists},
				script) {
				c := script[i]
				if len(c.target) > 8<<10 {
					continue // CloudFront refuses longer URLs
				}
				path, query, _ := strings.Cut(c.target, "?")
				q, err := routes.ParseRequest(path, query)
				if uri != "" {
					if files++; err != nil {
						t.Errorf("%.200s: %v, and it goes to %s", c, err, uri)
					} else if key := q.Key(); uri != "/"+key || q.Snapshot != "" || q.NeedsTrim() && !q.Bare ||
						q.Route != nil && q.Paged() && q.Route.Ext == ".json" && !lists || len(q.Unknown.Params) > 0 {
						t.Errorf("%.200s goes to %s; its key is %s", c, uri, key)
					}
					continue
				}
				if err != nil || q.Route == nil || q.Route.Rule != routes.RuleLiteral || c.method != "GET" ||
					q.Snapshot != "" || len(q.Unknown.Params) > 0 {
					continue
				}
				if _, ok := slices.BinarySearch(w.names, q.Key()); ok && isPlain(c.target) {
					t.Errorf("%s goes to serve; it is the file %s", c, q.Key())
				}
			}
			t.Logf("%d of %d requests go to the bucket", files, len(script))
			if files < 500 {
				t.Errorf("only %d of %d requests go to the bucket", files, len(script))
			}
		})
	}
}

// isPlain reports whether a request has nothing to decode and no parameter twice.
func isPlain(target string) bool {
	path, query, _ := strings.Cut(target, "?")
	v, err := url.ParseQuery(query)
	if err != nil || strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_-") != "" {
		return false
	}
	for _, list := range v {
		if len(list) > 1 ||
			strings.Trim(list[0], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
			return false
		}
	}
	return !strings.ContainsAny(query, "%+")
}
