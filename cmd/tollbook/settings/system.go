package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/terminal"
)

// SystemFolder has the settings of the directory that a machine's services run: DefaultFile, and the environment file
// that systemd gives them. Commands run from any folder use them, so that they mean the same directory.
const SystemFolder = "/etc/tollbook"

// environmentFile is the name of the environment file in SystemFolder.
const environmentFile = "tollbook.env"

// UseSystem makes the settings in folder, SystemFolder, those of the command and of programs that it starts, unless
// --config, TOLLBOOK_CONFIG or a file in the working directory gives others. Variables that are set stay. What the user
// may not read is left out, with a line on stderr.
func UseSystem(cmd *cobra.Command, folder string, stderr io.Writer) error {
	if f := cmd.Flags().Lookup("config"); os.Getenv(configVariable) != "" || f != nil && f.Changed {
		return nil
	}
	file := filepath.Join(folder, DefaultFile)
	system, err := os.Stat(file)
	if err == nil {
		if own, err := os.Stat(DefaultFile); err == nil && !os.SameFile(own, system) {
			return nil
		}
		if err := os.Setenv(configVariable, file); err != nil {
			return err
		}
	} else if hasDefaultFile() {
		return nil
	}
	path := filepath.Join(folder, environmentFile)
	data, err := ReadFile(path, maxFileBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		fmt.Fprintf(stderr, "tollbook: %v: its variables are not set; run this as the user of the services\n", err)
		return nil
	case err != nil:
		return terminal.UsageError{Err: fmt.Errorf("read the environment: %w", err)}
	}
	return setVariables(path, data)
}

// hasDefaultFile reports whether the working directory has a configuration file. A folder that the user may not search has
// none for this user.
func hasDefaultFile() bool {
	_, err := os.Stat(DefaultFile)
	return err == nil
}

// setVariables sets the variables of an environment file that are not set yet. Its lines are those of systemd's
// EnvironmentFile= that mean the same to a shell: NAME=VALUE, with or without quotes around the value, and comments. Errors
// contain no value.
func setVariables(path string, data []byte) error {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' || text[0] == ';' {
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t\"'$") {
			return terminal.UsageErrorf("%s:%d: a line must be NAME=VALUE or a comment that starts with #", path, n)
		}
		if q := strings.TrimSpace(value); len(q) > 1 && (q[0] == '"' || q[0] == '\'') && q[len(q)-1] == q[0] {
			value = q[1 : len(q)-1]
			if q[0] == '"' && strings.ContainsAny(value, `\"$`+"`") {
				return terminal.UsageErrorf(`%s:%d: put a value with \, ", $ or a backquote into single quotes`, path, n)
			}
		} else if strings.ContainsAny(value, `\"'`) {
			return terminal.UsageErrorf(`%s:%d: put a value with \, " or ' into quotes`, path, n)
		}
		if _, isSet := os.LookupEnv(name); isSet {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return terminal.UsageErrorf("%s:%d: set %s: %w", path, n, name, err)
		}
	}
	return nil
}
