package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tollbook/cmd/tollbook/settings"
)

// TestEverySettingIsAFlag checks that some command uses each key of the configuration file.
func TestEverySettingIsAFlag(t *testing.T) {
	t.Parallel()
	for _, s := range settings.Table {
		used := false
		for _, cmd := range commands(newRootCommand()) {
			used = used || cmd.Name() != "config" && (cmd.Flags().Lookup(s.Flag()) != nil ||
				cmd.InheritedFlags().Lookup(s.Flag()) != nil)
		}
		if !used {
			t.Errorf("%s: no command has --%s", s.Key, s.Flag())
		}
	}
}

// TestDefaultConfig checks that every command reads ./tollbook.toml.
func TestDefaultConfig(t *testing.T) {
	t.Parallel()
	p := command(t, nil, "crawl", "--once")
	p.Dir = t.TempDir()
	write(t, filepath.Join(p.Dir, "tollbook.toml"), "[crawl]\nfree_host = [\"x\"]\n")
	p.start(t)
	if code := p.status(t); code != 2 || !strings.Contains(p.said(),
		`tollbook.toml:2:1: unknown key "crawl.free_host"; did you mean "crawl.free_hosts"?`) {
		t.Errorf("exit %d: %s", code, p.said())
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFreeHostFiles checks that an invalid list stops crawl and build before they begin. The error names the line.
func TestFreeHostFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"crawl --once", "build"} {
		p := command(t, nil, append(strings.Fields(name), "--crawl-free-hosts", "good.txt", "--crawl-free-hosts",
			"bad.txt")...)
		p.Dir = t.TempDir()
		write(t, filepath.Join(p.Dir, "good.txt"), "tunnel.example\n")
		write(t, filepath.Join(p.Dir, "bad.txt"), "# ours\nhttps://x.example/\n")
		p.start(t)
		if code := p.status(t); code != 2 || !strings.Contains(p.said(),
			`--crawl-free-hosts bad.txt: line 2: "https://x.example/" is not a domain name`) {
			t.Errorf("%s: exit %d: %s", name, code, p.said())
		}
	}
}
