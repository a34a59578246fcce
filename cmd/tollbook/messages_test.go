package main

import (
	"path/filepath"
	"strings"
	"testing"

	"tollbook/site/postgres/postgrestest"
)

// TestMessagesOfFiles checks what commands say about files that are missing, empty, folders, or in the way: what was
// attempted, on which file, and what to do.
func TestMessagesOfFiles(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	dir := t.TempDir()
	empty, folder, missing := filepath.Join(dir, "empty"), dir, filepath.Join(dir, "missing")
	write(t, empty, "")
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--config", missing, "config"}, 2, "read the configuration: open " + missing + ": no such file"},
		{[]string{"--config", folder, "config"}, 2, "read the configuration: read " + folder + ": is a directory"},
		{[]string{"--config", empty, "config"}, 0, ""},
		{[]string{"key", "new", empty}, 1, "write key: " + empty + " exists already and is not overwritten"},
		{[]string{"key", "new", folder}, 1, "write key: " + folder + " exists already and is not overwritten"},
		{[]string{"key", "new", filepath.Join(missing, "key.pem")}, 1, "key.pem: no such file or directory"},
		{[]string{"key", "public", "--publish-key", empty}, 1, "read signing key: " + empty + " is empty; create one"},
		{[]string{"key", "public", "--publish-key", missing}, 1, "read signing key: open " + missing},
		{[]string{"export", folder}, 1, "export: " + folder + " is a folder; name a file in it"},
		{[]string{"export", filepath.Join(missing, "file")}, 1, "there is no folder " + missing},
		{[]string{"import", missing}, 1, "import: open " + missing + ": no such file"},
		{[]string{"import", empty}, 1, "empty: the file was cut"},
		{[]string{"facilitators", "import", missing}, 1, "open " + missing + ": no such file"},
		{[]string{"verify", empty}, 1, empty + ": not a folder"},
		{[]string{"verify", missing}, 1, "verify " + missing + ": nothing is published here"},
		{[]string{"verify", folder, "--key", empty}, 1, "read public key: it is not PEM of a PUBLIC KEY"},
		{[]string{"serve", "--from", empty, "--serve-listen", "127.0.0.1:0"}, 1, empty + ": not a folder"},
		{[]string{"mcp", "--from", empty}, 1, empty + ": not a folder"},
		{[]string{"build", "--site-pages", missing}, 2, "--site-pages: stat " + missing + ": no such file"},
		{[]string{"build", "--site-pages", empty}, 2, "--site-pages: " + empty + " is not a folder"},
		{[]string{"build", "--site-templates", missing}, 2, "--site-templates: stat " + missing + ": no such file"},
		{[]string{"build", "--crawl-free-hosts", missing}, 2, "--crawl-free-hosts: open " + missing + ": no such file"},
		{[]string{"build", "--crawl-free-hosts", folder}, 2, "--crawl-free-hosts: read " + folder + ": is a directory"},
		{[]string{"build", "--data", empty}, 1, empty},
		{[]string{"man", empty}, 1, "write the manual: mkdir " + empty},
	} {
		code, stdout, stderr := tollbook(t, env, tt.args...)
		if code != tt.code || !strings.Contains(stderr, tt.want) ||
			strings.Count(stderr, "tollbook: ") != min(code, 1) {
			t.Errorf("tollbook %s: exit %d, want %d and %q:\n%s%s", strings.Join(tt.args, " "), code, tt.code, tt.want,
				stdout, stderr)
		}
	}
}
