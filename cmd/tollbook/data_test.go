package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tollbook/cmd/tollbook/terminal"
)

// TestDataFolder checks that commands which read what is published follow the folder of --data, TOLLBOOK_DATA or the
// key data, and that --from wins over all of them.
func TestDataFolder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		env  []string
		file string
		args []string
		want string // the published folder, relative to the working directory
	}{
		{"default", nil, "", nil, "tollbook-data/public"},
		{"flag", nil, "", []string{"--data", "a"}, "a/public"},
		{"variable", []string{"TOLLBOOK_DATA=b"}, "", nil, "b/public"},
		{"key", nil, "data = \"c\"\n", nil, "c/public"},
		{"flag and variable and key", []string{"TOLLBOOK_DATA=b"}, "data = \"c\"\n", []string{"--data=a"}, "a/public"},
		{"from", []string{"TOLLBOOK_DATA=b"}, "", []string{"--data", "a", "--from", "d"}, "d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.file != "" {
				write(t, filepath.Join(dir, "tollbook.toml"), tt.file)
			}
			serve := command(t, tt.env, append([]string{"serve", "--serve-listen", "127.0.0.1:0"}, tt.args...)...)
			serve.Dir = dir
			if got := strings.Fields(serve.start(t).await(t, "Serving "))[0]; got != tt.want {
				t.Errorf("serve reads %s, want %s", got, tt.want)
			}
			if tt.name == "from" {
				return // edge has no --from
			}
			nginx := command(t, tt.env, append([]string{"edge", "nginx"}, tt.args...)...)
			nginx.Dir = dir
			nginx.start(t)
			if want := filepath.Join(dir, tt.want, "current"); nginx.status(t) != 0 ||
				!strings.Contains(nginx.said(), want) {
				t.Errorf("the configuration of nginx has no %s:\n%s", want, nginx.said())
			}
		})
	}
}

// TestUnknownVariable checks that every command refuses a variable that no command reads.
func TestUnknownVariable(t *testing.T) {
	t.Setenv("TOLLBOOK_DTA", "s3cret")
	const want = `unknown variable TOLLBOOK_DTA; did you mean "TOLLBOOK_DATA"?`
	for _, c := range commands(newRootCommand()) {
		if c.HasSubCommands() {
			continue
		}
		args := strings.Fields(c.CommandPath())[1:]
		var err error
		for range 3 { // until there are enough arguments
			root := newRootCommand()
			root.SetArgs(args)
			if err = root.ExecuteContext(t.Context()); err == nil || err.Error() == want {
				break
			}
			args = append(args, "x")
		}
		if !errors.As(err, new(terminal.UsageError)) || err.Error() != want {
			t.Errorf("tollbook %s: %v, want %s", strings.Join(args, " "), err, want)
		}
	}
}
