package build_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/cmd/nodetest"
	"tollbook/site"
	"tollbook/site/routes"
)

const openapiTools = "testdata/openapi"

// runCommand runs a program with its telemetry disabled and returns its output.
func runCommand(t *testing.T, dir, name string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1",
		"NO_UPDATE_NOTIFIER=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return append(stdout.Bytes(), stderr.Bytes()...), err
	}
	return stdout.Bytes(), nil
}

// prepareFolder returns a folder with the OpenAPI document, the files of testdata/openapi and the installed programs.
func (d *openapiTest) prepareFolder(t *testing.T) (dir, bin string) {
	t.Helper()
	installed := nodetest.Install(t, openapiTools)
	dir = tempDir(t)
	if err := os.CopyFS(dir, os.DirFS(openapiTools)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(installed, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "openapi.json"), d.files[routes.OpenAPIFile], 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(installed, ".bin")
}

// testLinters checks that Spectral and Redocly report nothing with their recommended rules, not even a hint.
func (d *openapiTest) testLinters(t *testing.T) {
	dir, bin := d.prepareFolder(t)
	out, err := runCommand(t, dir, filepath.Join(bin, "spectral"), "lint", "openapi.json", "--ruleset", "spectral.yaml",
		"--fail-severity", "hint", "--quiet")
	if err != nil {
		t.Errorf("spectral: %v\n%s", err, out)
	}
	out, err = runCommand(t, dir, filepath.Join(bin, "redocly"), "lint", "openapi.json", "--config", "redocly.yaml",
		"--format", "json")
	var report struct {
		Totals   struct{ Errors, Warnings int }
		Problems []struct {
			RuleID, Message string
			Location        []struct{ Pointer string }
		}
	}
	if jsonErr := json.Unmarshal(out, &report); jsonErr != nil {
		t.Fatalf("redocly: %v, %v\n%s", err, jsonErr, out)
	}
	if err != nil || report.Totals.Errors+report.Totals.Warnings > 0 {
		t.Errorf("redocly: %v, %+v", err, report)
	}
}

// testClient generates a TypeScript client from the document, compiles it and lets it read from a real server.
func (d *openapiTest) testClient(t *testing.T) {
	dir, bin := d.prepareFolder(t)
	if out, err := runCommand(t, dir, filepath.Join(bin, "openapi-typescript"), "openapi.json", "-o",
		"schema.d.ts"); err != nil {
		t.Fatalf("openapi-typescript: %v\n%s", err, out)
	}
	if out, err := runCommand(t, dir, filepath.Join(bin, "tsc"), "-p", "."); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
	d.testCalls(t, dir, "node", "calls.js")
	server := httptest.NewServer(d.handler)
	defer server.Close()
	out, err := runCommand(t, dir, "node", "client.js", server.URL+"/v1")
	if err != nil {
		t.Fatalf("client: %v\n%s", err, out)
	}
	type reading struct {
		Slugs   []string
		Name    string
		Uptime  *float64
		Prices  []string
		None    string
		Counted int64
	}
	var got, want reading
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("client says %s: %v", out, err)
	}
	var list site.List[site.ServiceListItem, site.PaginationMeta]
	unmarshal(t, d.files["v1/services/sort=cheapest/per_page=100/page=1.json"], &list)
	for _, s := range list.Data {
		want.Slugs = append(want.Slugs, s.Slug)
	}
	var detail site.One[site.ServiceDetail]
	unmarshal(t, d.files["v1/services/"+want.Slugs[0]+".json"], &detail)
	want.Name, want.Uptime, want.None, want.Prices = detail.Data.Name, detail.Data.Uptime.H24, site.ErrorNotFound,
		[]string{}
	for _, e := range detail.Data.Endpoints {
		for _, p := range e.Pricing {
			want.Prices = append(want.Prices, p.Price)
		}
	}
	var changes site.List[site.ChangeRecord, site.ChangesMeta]
	unmarshal(t, d.files["v1/changes.json"], &changes)
	want.Counted = changes.Meta.TypeCounts.Price
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the client read (-files +client):\n%s", diff)
	}
}

func unmarshal(t *testing.T, data []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}
