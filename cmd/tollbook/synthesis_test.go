package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/crawl/model/modeltest"
	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
)

// TestSynthesisArrives checks the whole path of a model's response. A service is listed from a file, tollbook.toml
// names a model, and a variable contains its key. After one crawl and one build, readers get the file. A second crawl
// sends no request to the model.
func TestSynthesisArrives(t *testing.T) {
	t.Parallel()
	const secret = "sk-test-ThisMustNeverBeSeen"
	endpoint := modeltest.Start(func(q modeltest.Request) modeltest.Reply {
		if q.Authorization != "Bearer "+secret {
			return modeltest.Reply{Status: http.StatusUnauthorized, Body: []byte(`{"error":{"message":"wrong key"}}`)}
		}
		return modeltest.Reply{
			Content: `{"summary":{"value":"Sells share prices.","confidence":0.9},"capability_tags":{"value":["share-prices"],"confidence":0.8},` +
				`"category":{"value":"Finance","confidence":0.7},"inputs":{"value":"A ticker.","confidence":0.6},"outputs":{"value":"A quote.","confidence":0.5},"auth":{"value":"none","confidence":0.4}}`}
	})
	t.Cleanup(endpoint.Close)
	seller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusPaymentRequired)
		w.Write([]byte(`{"x402Version":1,"accepts":[]}`))
	}))
	t.Cleanup(seller.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tollbook.toml": "[synthesis]\nbase_url = \"" + endpoint.BaseURL() + "\"\nmodel = \"stub-1\"\nper_day = 5\n",
		"services.toml": "[[service]]\nservice_name = \"Acme\"\ndescription = \"Share prices.\"\nurl = \"" +
			seller.URL + "\"\ncategory = \"Finance\"\nendpoints = [\"/quote\"]\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t), "OPENAI_API_KEY=" + secret,
		"TOLLBOOK_CONFIG=" + filepath.Join(dir, "tollbook.toml")}
	data := filepath.Join(dir, "data")
	do := func(args ...string) (stdout string) {
		t.Helper()
		code, stdout, stderr := tollbook(t, env, append(args, "--data", data)...)
		if code != 0 || strings.Contains(stdout+stderr, "sk-test") {
			t.Fatalf("tollbook %v: exit %d\n%s%s", args, code, stdout, stderr)
		}
		return stdout
	}
	do("services", "import", filepath.Join(dir, "services.toml"))
	crawl := []string{"crawl", "--once", "--crawl-host-gap", "1ms", "--crawl-allow-private",
		strings.TrimPrefix(seller.URL, "http://")}
	if got := do(crawl...); !strings.HasSuffix(got, "\n1 questions to the model: 1 answers accepted\n") {
		t.Errorf("the first crawl says\n%s", got)
	}
	report := decode[struct{ Synthesis map[string]any }](t, do(append(crawl, "--json")...))
	if diff := gocmp.Diff(map[string]any{"asked": 0.0, "kept": 0.0, "refused": map[string]any{}, "spent": false},
		report.Synthesis); diff != "" || len(endpoint.Requests()) != 1 {
		t.Errorf("the second crawl: asked %d times in all (-want +got):\n%s", len(endpoint.Requests()), diff)
	}
	do("build")
	files, err := filepath.Glob(filepath.Join(data, "public", "current", "v1", "services", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	ok := false
	for _, file := range files {
		var got struct{ Data site.ServiceDetail }
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if json.Unmarshal(text, &got) != nil || got.Data.Name != "Acme" {
			continue
		}
		ok = true
		a := got.Data.Assessment
		if a.Synthesis == nil || a.Synthesis.Summary.Value != "Sells share prices." ||
			a.Synthesis.Summary.Source != "ai" || a.ModelID == nil || *a.ModelID != "stub-1" || a.PromptVersion == nil {
			t.Errorf("%s: %.3000s", file, text)
		}
	}
	if !ok {
		t.Errorf("no published service among %q", files)
	}
}
