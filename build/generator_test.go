package build_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/testgate"
)

// testGenerators checks that the generators of clients that people use accept the OpenAPI document with their default
// options, and that what they write compiles. openapi-typescript is used by testClient.
func (d *openapiTest) testGenerators(t *testing.T) {
	testgate.All(t)
	t.Run("openapi-ts", func(t *testing.T) {
		dir, bin := d.prepareFolder(t)
		if out, err := runCommand(t, dir, filepath.Join(bin, "openapi-ts"), "-i", "openapi.json", "-o",
			"generated"); err != nil {
			t.Fatalf("openapi-ts: %v\n%s", err, out)
		}
		if out, err := runCommand(t, dir, filepath.Join(bin, "tsc"), "-p", "tsconfig.generated.json"); err != nil {
			t.Errorf("tsc: %v\n%s", err, out)
		}
	})
	t.Run("oapi-codegen", func(t *testing.T) {
		dir := tempDir(t)
		if err := os.CopyFS(dir, os.DirFS(openapiTools+"/go")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "openapi.json"), d.files[routes.OpenAPIFile], 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := runCommand(t, dir, "go", "mod", "download"); err != nil {
			testgate.Missing(t, "go mod download: %v; it needs the module proxy once\n%s", err, out)
		}
		if out, err := runCommand(t, dir, "go", "tool", "oapi-codegen", "-package", "client", "-o", "client.go",
			"openapi.json"); err != nil {
			t.Fatalf("oapi-codegen: %v\n%s", err, out)
		}
		if out, err := runCommand(t, dir, "go", "build", "./..."); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		d.testCalls(t, dir, "go", "run", "./calls")
	})
	t.Run("python", func(t *testing.T) {
		python, err := exec.LookPath("python3")
		if err != nil {
			testgate.Missing(t, "no python3 (Debian: apt-get install python3)")
		}
		program, err := filepath.Abs(openapiTools + "/calls.py")
		if err != nil {
			t.Fatal(err)
		}
		d.testCalls(t, tempDir(t), python, program)
	})
}

// testCalls runs a program that makes the three calls of the quickstart with a client made from the document alone, and
// compares what it read with the responses.
func (d *openapiTest) testCalls(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	server := httptest.NewServer(d.handler)
	defer server.Close()
	var detail site.One[site.ServiceDetail]
	unmarshal(t, d.files["v1/services/"+d.index.Slugs[0]+".json"], &detail)
	text := detail.Data.Name
	read := func(path string, to any) {
		w := httptest.NewRecorder()
		d.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		unmarshal(t, w.Body.Bytes(), to)
	}
	type reading struct {
		Found         []string
		Advice, Price string
		PayTo         string `json:"pay_to"`
		Changes       int
		Newest        string
	}
	var found site.List[site.SearchResult, site.SearchMeta]
	read("/v1/search?"+url.Values{"q": {text}, "status": {site.StatusOnline}}.Encode(), &found)
	var changes site.List[site.ChangeRecord, site.ChangesMeta]
	read("/v1/changes", &changes)
	if len(found.Data) == 0 || len(changes.Data) == 0 {
		t.Fatalf("%d results for %q, %d changes", len(found.Data), text, len(changes.Data))
	}
	read("/v1/services/"+found.Data[0].Slug, &detail)
	offer := detail.Data.Endpoints[0].Pricing[0]
	want := reading{Advice: detail.Data.Assessment.Advice.Level, Price: string(*offer.PriceUSD), PayTo: offer.PayTo,
		Changes: changes.Meta.Total, Newest: changes.Data[0].Type}
	for _, row := range found.Data {
		want.Found = append(want.Found, row.Slug)
	}
	out, err := runCommand(t, dir, name, append(args, server.URL+"/v1", text)...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	var got reading
	unmarshal(t, out, &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what %s read (-responses +client):\n%s", name, diff)
	}
}
