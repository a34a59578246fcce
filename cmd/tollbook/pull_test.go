package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/output/archive"
)

// publish publishes a table and its index in a new folder.
func publish(t *testing.T) (root string) {
	t.Helper()
	d, err := output.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	key, err := archive.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	private, err := archive.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	b, err := d.Begin(t.Context(), output.BuildOptions{Now: now, Next: now, Key: private})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	f, err := b.AddDataFile("data/services.parquet", func(w io.Writer) error {
		_, err := io.WriteString(w, "rows")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Add(archive.DataIndex, fmt.Appendf(nil,
		`{"resources":[{"path":"services.parquet","bytes":%d,"hash":"sha256:%s"}]}`, f.Bytes, f.Sum)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Root(), "key.pem"), archive.PublicKey(private), 0o644); err != nil {
		t.Fatal(err)
	}
	return d.Root()
}

func runTables(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newTablesCommand("")
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestPullCommand(t *testing.T) {
	root, to := publish(t), filepath.Join(t.TempDir(), "tables")
	out, err := runTables(t, "pull", root, "--to", to)
	if want := "fetched 1 files, 0.0 MB; " + to + " has 1 files, all sums match; signature not checked; --key FILE " +
		"checks it\n"; err != nil || !strings.HasSuffix(out, want) {
		t.Errorf("%q, %v", out, err)
	}
	if data, err := os.ReadFile(filepath.Join(to, "services.parquet")); err != nil || string(data) != "rows" {
		t.Errorf("%q, %v", data, err)
	}
	out, err = runTables(t, "pull", root, "--to", to, "--json", "--key", filepath.Join(root, "key.pem"))
	var got output.PullResult
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	want := output.PullResult{Snapshot: got.Snapshot, Digest: got.Digest, Signed: true, Files: 1, Unchanged: true}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if out, err = runTables(t, "pull", root, "--to", to, "--since", "yesterday"); err == nil ||
		!strings.Contains(err.Error(), "2026-11-20") {
		t.Errorf("%q, %v", out, err)
	}
}
