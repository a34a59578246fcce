package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres/postgrestest"
)

// TestLog checks that build and publish log a line for each step if the settings ask for it, in the form that they
// ask for, and that wrong settings are refused.
func TestLog(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	dir := t.TempDir()
	data, place := filepath.Join(dir, "data"), filepath.Join(dir, "place")
	ran(t, env, "services", "import", writeFile(t, "list.json", listOfServices(3, "Words.")))
	if _, _, stderr := tollbook(t, env, "build", "--data", data); stderr != "" {
		t.Errorf("build without settings of logs writes %q to stderr", stderr)
	}
	logged := append(env, "TOLLBOOK_LOG_LEVEL=info", "TOLLBOOK_LOG_FORMAT=json")
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"build", "--data", data}, []string{"logs sealed", "directory read", "services surveyed", "revenue read",
			"packs written", "services judged and files written", "zip written", "zip and packs visible",
			"tree expanded", "checkpoint written", "assessments recorded", "folder pruned"}},
		{[]string{"publish", "--data", data, "--publish-to", place}, []string{"place locked and read",
			"snapshot checked and sent", "pointer written", "objects expanded"}},
	} {
		code, _, stderr := tollbook(t, logged, test.args...)
		if code != 0 {
			t.Fatal(stderr)
		}
		var got []string
		for line := range strings.Lines(stderr) {
			var l struct {
				Msg string
				MS  *int64
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil || l.MS == nil {
				t.Errorf("%s: %v", line, err)
			}
			got = append(got, l.Msg)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.args[0], diff)
		}
	}
	for _, test := range []struct{ flag, value, want string }{
		{"--log-level", "loud", `--log-level "loud": use debug, info, warn or error`},
		{"--log-format", "xml", `--log-format "xml": use text or json`},
	} {
		if code, _, stderr := tollbook(t, env, "build", "--data", data, test.flag, test.value); code != 2 ||
			!strings.Contains(stderr, test.want) {
			t.Errorf("%s %s: %d %s", test.flag, test.value, code, stderr)
		}
	}
}
