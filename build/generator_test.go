package build_test

import (
	"os"
	"path/filepath"
	"testing"

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
			t.Errorf("go build: %v\n%s", err, out)
		}
	})
}
