package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestUseSystem checks which settings of a machine a command uses: none if it has others, and no variable that is set.
func TestUseSystem(t *testing.T) {
	machine, own, empty := t.TempDir(), t.TempDir(), t.TempDir()
	system := filepath.Join(machine, DefaultFile)
	write(t, system, "data = \"/srv\"\n")
	write(t, filepath.Join(machine, "tollbook.env"), "# secrets\n\nDATABASE_URL=postgres://db/x?a=b\n"+
		"OPENAI_API_KEY='a$b\\c'\n AWS_REGION=\"eu west\"\nAWS_ACCESS_KEY_ID=file\n")
	write(t, filepath.Join(own, DefaultFile), "")
	set := map[string]string{configVariable: system, "DATABASE_URL": "postgres://db/x?a=b", "OPENAI_API_KEY": `a$b\c`,
		"AWS_REGION": "eu west", "AWS_ACCESS_KEY_ID": "set"}
	names := []string{configVariable, "DATABASE_URL", "OPENAI_API_KEY", "AWS_REGION", "AWS_ACCESS_KEY_ID"}
	for _, tt := range []struct {
		name, folder string
		env          map[string]string
		args         []string
		want         map[string]string
	}{
		{"from any folder", empty, nil, nil, set},
		{"from its own folder", machine, nil, nil, set},
		{"beside a file", own, nil, nil, map[string]string{"AWS_ACCESS_KEY_ID": "set"}},
		{"with --config", empty, nil, []string{"--config", "x.toml"}, map[string]string{"AWS_ACCESS_KEY_ID": "set"}},
		{"with the variable", empty, map[string]string{configVariable: "x.toml"}, nil,
			map[string]string{"AWS_ACCESS_KEY_ID": "set", configVariable: "x.toml"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(tt.folder)
			for _, name := range names {
				t.Setenv(name, "") // restores it
				os.Unsetenv(name)
			}
			os.Setenv("AWS_ACCESS_KEY_ID", "set")
			for name, value := range tt.env {
				os.Setenv(name, value)
			}
			var stderr strings.Builder
			if err := useSystem(machine, &stderr, tt.args...); err != nil || stderr.Len() > 0 {
				t.Fatalf("%v; %s", err, stderr.String())
			}
			got := map[string]string{}
			for _, name := range names {
				if value, isSet := os.LookupEnv(name); isSet {
					got[name] = value
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
		})
	}
}

// useSystem runs a command that uses the settings in folder.
func useSystem(folder string, stderr *strings.Builder, args ...string) error {
	c := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return UseSystem(cmd, folder, stderr) }}
	c.Flags().String("config", "", "")
	c.SetArgs(append([]string{}, args...))
	return c.Execute()
}

// TestEnvironmentFileFaults checks the errors of lines that systemd and a shell read in different ways. They name the line
// and contain no value.
func TestEnvironmentFileFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct{ text, want string }{
		{"A", "tollbook.env:1: a line must be NAME=VALUE or a comment that starts with #"},
		{"\nexport A=secret", "tollbook.env:2: a line must be NAME=VALUE or a comment that starts with #"},
		{`A=se\cret`, `tollbook.env:1: put a value with \, " or ' into quotes`},
		{`A="$secret"`, `tollbook.env:1: put a value with \, ", $ or a backquote into single quotes`},
	} {
		folder := t.TempDir()
		write(t, filepath.Join(folder, "tollbook.env"), tt.text)
		var stderr strings.Builder
		err := useSystem(folder, &stderr)
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
}
