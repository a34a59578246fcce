package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// configured runs a command with flags of every kind, the way that the root does, and gives what its flags then are.
func configured(t *testing.T, env map[string]string, args ...string) (map[string]string, error) {
	t.Helper()
	var c config
	cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return nil }}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		return c.configure(cmd, func(name string) string { return env[name] })
	}
	f := cmd.Flags()
	f.String("config", "", "")
	f.String("synthesis-base-url", "", "")
	f.String("synthesis-model", "default", "")
	f.Int("synthesis-per-day", 200, "")
	f.StringSlice("free-hosts", nil, "")
	cmd.SetArgs(args)
	err := cmd.Execute()
	got := map[string]string{}
	for _, name := range []string{"synthesis-base-url", "synthesis-model", "synthesis-per-day", "free-hosts"} {
		got[name] = f.Lookup(name).Value.String()
	}
	return got, err
}

// TestPrecedence: a flag wins over a variable, a variable over the file, the file over the default.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "own.toml")
	write(t, file, "[crawl]\nfree_hosts = [\"a, b.txt\", \"/abs.txt\"]\n[synthesis]\nmodel = \"of-file\"\nper_day = 0\n")
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
		want map[string]string
	}{
		{"defaults", nil, nil, map[string]string{"synthesis-base-url": "", "synthesis-model": "default", "synthesis-per-day": "200", "free-hosts": "[]"}},
		{"file, also a zero", nil, []string{"--config", file}, map[string]string{"synthesis-base-url": "", "synthesis-model": "of-file", "synthesis-per-day": "0",
			"free-hosts": `["` + filepath.Join(dir, "a, b.txt") + `",/abs.txt]`}},
		{"file by variable", map[string]string{"TOLLBOOK_CONFIG": file, "TOLLBOOK_SYNTHESIS_MODEL": "of-variable"}, nil, map[string]string{
			"synthesis-base-url": "", "synthesis-model": "of-variable", "synthesis-per-day": "0", "free-hosts": `["` + filepath.Join(dir, "a, b.txt") + `",/abs.txt]`}},
		{"all three", map[string]string{"TOLLBOOK_SYNTHESIS_MODEL": "of-variable", "TOLLBOOK_SYNTHESIS_PER_DAY": "7", "TOLLBOOK_CRAWL_FREE_HOSTS": "v.txt,w.txt"},
			[]string{"--config", file, "--synthesis-model", "of-flag"}, map[string]string{"synthesis-base-url": "", "synthesis-model": "of-flag", "synthesis-per-day": "7", "free-hosts": "[v.txt,w.txt]"}},
		{"an empty flag is given", map[string]string{"TOLLBOOK_SYNTHESIS_MODEL": "of-variable"}, []string{"--synthesis-model="},
			map[string]string{"synthesis-base-url": "", "synthesis-model": "", "synthesis-per-day": "200", "free-hosts": "[]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := configured(t, tt.env, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestConfigFaults: a file that is wrong is refused with the place, and never shows what stands there.
func TestConfigFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, want string }{
		{"[synthesis]\nmodle = \"x\"\n", `own.toml:2:1: unknown key "synthesis.modle"; did you mean "synthesis.model"?`},
		{"\n[sinthesis]\nmodel = \"x\"\n", `own.toml:2:2: unknown key "sinthesis"; did you mean "synthesis"?`},
		{"[synthesis]\napi_key = \"sk-secret\"\n", `own.toml:2:1: unknown key "synthesis.api_key"`},
		{"[serve]\nlisten = [\"x\"]\n", `own.toml:2:10: serve.listen is a text in quotes`},
		{"colour = 1\n", `own.toml:1:1: unknown key "colour"`},
		{"[synthesis]\nper_day = \"sk-secret\"\n", `own.toml:2:11: synthesis.per_day is a whole number`},
		{"[synthesis]\nper_day = 1.5\n", `own.toml:2:11: synthesis.per_day is a whole number`},
		{"[synthesis]\nmodel = 5\n", `own.toml:2:9: synthesis.model is a text in quotes`},
		{"[crawl]\nfree_hosts = \"x\"\n", `own.toml:2:14: crawl.free_hosts is a list, each a text in quotes`},
		{"[crawl]\nfree_hosts = [1]\n", `own.toml:2:15: crawl.free_hosts is a list, each a text in quotes`},
		{"synthesis = 1\n", `own.toml:1:13: synthesis is a table`},
		{"[synthesis]\nmodel = \"a\"\nmodel = \"b\"\n", `own.toml:3:1: `},
		{"[synthesis\n", `own.toml:1:`},
		{"x = \xff", `own.toml:1:`},
	} {
		dir := t.TempDir()
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, "own.toml")
			write(t, path, tt.file)
			_, err := configured(t, nil, "--config", path)
			if err == nil || exitStatus(err) != 2 || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v\nwant %s", tt.file, err, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		env  map[string]string
		args []string
		want string
	}{
		{nil, []string{"--config", "/nowhere/x.toml"}, "/nowhere/x.toml: no such file"},
		{map[string]string{"TOLLBOOK_CONFIG": "/nowhere/y.toml"}, nil, "/nowhere/y.toml: no such file"},
		{map[string]string{"TOLLBOOK_SYNTHESIS_PER_DAY": "many"}, nil, "TOLLBOOK_SYNTHESIS_PER_DAY: invalid value for --synthesis-per-day"},
	} {
		if _, err := configured(t, tt.env, tt.args...); err == nil || exitStatus(err) != 2 || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v %v: %v, want %s", tt.env, tt.args, err, tt.want)
		}
	}
}

// TestEverySettingIsAFlag: a key that no command has as a flag would be read and thrown away.
func TestEverySettingIsAFlag(t *testing.T) {
	t.Parallel()
	for _, s := range new(config).settings() {
		found := false
		for _, cmd := range commands(newRootCommand()) {
			found = found || s.flagOf(cmd) != nil
		}
		if !found {
			t.Errorf("%s: no command has --%s", s.key, s.flag)
		}
	}
}

// TestDefaultConfig: ./tollbook.toml is read where it is, by whichever command.
func TestDefaultConfig(t *testing.T) {
	t.Parallel()
	p := command(t, nil, "crawl", "--once")
	p.Dir = t.TempDir()
	write(t, filepath.Join(p.Dir, "tollbook.toml"), "[crawl]\nfree_host = [\"x\"]\n")
	p.start(t)
	if code := p.status(t); code != 2 || !strings.Contains(p.said(), `tollbook.toml:2:1: unknown key "crawl.free_host"; did you mean "crawl.free_hosts"?`) {
		t.Errorf("exit %d: %s", code, p.said())
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFreeHostFiles: a list that is wrong stops crawl and build with its line, before they begin.
func TestFreeHostFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"crawl --once", "build"} {
		p := command(t, nil, append(strings.Fields(name), "--free-hosts", "good.txt", "--free-hosts", "bad.txt")...)
		p.Dir = t.TempDir()
		write(t, filepath.Join(p.Dir, "good.txt"), "tunnel.example\n")
		write(t, filepath.Join(p.Dir, "bad.txt"), "# ours\nhttps://x.example/\n")
		p.start(t)
		if code := p.status(t); code != 2 || !strings.Contains(p.said(), `--free-hosts bad.txt: line 2: "https://x.example/" is no domain`) {
			t.Errorf("%s: exit %d: %s", name, code, p.said())
		}
	}
}
