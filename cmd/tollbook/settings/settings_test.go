package settings

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/terminal"
)

var update = flag.Bool("update", false, "write the page of the documentation")

// TestDocumentation checks that the page of the documentation lists the settings of the table.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	const page = "../../../templates/pages/configuration.md"
	if *update {
		write(t, page, Documentation())
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Documentation(), string(text)); diff != "" {
		t.Errorf("%s differs from the table; run this test with -update (-want +got):\n%s", page, diff)
	}
	for _, s := range Table {
		section, _ := s.split()
		if !slices.ContainsFunc(sectionIntros, func(i struct{ name, about string }) bool { return i.name == section }) {
			t.Errorf("the page has no section for %s", s.Key)
		}
	}
	c, err := Read("tollbook.toml", []byte(Example))
	if err != nil {
		t.Fatal(err)
	}
	var o NetworkOptions
	if _, err := o.Read(c.Networks); err != nil {
		t.Error(err)
	}
}

// configure runs a command with flags of several types as the root command does. It returns the values of its flags.
func configure(t *testing.T, env map[string]string, args ...string) (map[string]string, error) {
	t.Helper()
	var c Configuration
	cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error { return nil }}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		return c.Configure(cmd, func(name string) string { return env[name] })
	}
	f := cmd.Flags()
	f.String("config", "", "")
	var data, baseURL, model string
	var perDay int
	var freeHosts []string
	var submissions bool
	AddFlag(f, "data", &data)
	AddFlag(f, "synthesis.base_url", &baseURL)
	AddFlag(f, "synthesis.model", &model)
	AddFlag(f, "synthesis.per_day", &perDay)
	AddFlag(f, "crawl.free_hosts", &freeHosts)
	AddFlag(f, "serve.submissions", &submissions)
	cmd.SetArgs(append([]string{}, args...)) // nil would be the arguments of the test
	err := cmd.Execute()
	got := map[string]string{}
	for _, name := range []string{
		"data", "synthesis-base-url", "synthesis-model", "synthesis-per-day", "crawl-free-hosts",
	} {
		got[name] = f.Lookup(name).Value.String()
	}
	return got, err
}

// TestPrecedence checks that a flag wins over a variable, a variable over the file, and the file over the default.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "own.toml")
	write(t, file,
		"data = \"state\"\n[crawl]\nfree_hosts = [\"a, b.txt\", \"/abs.txt\"]\n"+
			"[synthesis]\nmodel = \"of-file\"\nper_day = 0\n")
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
		want map[string]string
	}{
		{"defaults", nil, nil, map[string]string{"data": "tollbook-data", "synthesis-base-url": "",
			"synthesis-model":   "",
			"synthesis-per-day": "200", "crawl-free-hosts": "[]"}},
		{"file, also a zero", nil, []string{"--config", file},
			map[string]string{"data": filepath.Join(dir, "state"), "synthesis-base-url": "",
				"synthesis-model": "of-file", "synthesis-per-day": "0",
				"crawl-free-hosts": `["` + filepath.Join(dir, "a, b.txt") + `",/abs.txt]`}},
		{"file by variable", map[string]string{"TOLLBOOK_CONFIG": file, "TOLLBOOK_SYNTHESIS_MODEL": "of-variable"}, nil,
			map[string]string{
				"data": filepath.Join(dir, "state"), "synthesis-base-url": "", "synthesis-model": "of-variable",
				"synthesis-per-day": "0",
				"crawl-free-hosts":  `["` + filepath.Join(dir, "a, b.txt") + `",/abs.txt]`}},
		{"all three", map[string]string{"TOLLBOOK_SYNTHESIS_MODEL": "of-variable", "TOLLBOOK_SYNTHESIS_PER_DAY": "7",
			"TOLLBOOK_CRAWL_FREE_HOSTS": "v.txt,w.txt", "TOLLBOOK_DATA": "of-variable"},
			[]string{"--config", file, "--synthesis-model", "of-flag"},
			map[string]string{"data": "of-variable", "synthesis-base-url": "", "synthesis-model": "of-flag",
				"synthesis-per-day": "7",
				"crawl-free-hosts":  "[v.txt,w.txt]"}},
		{"an empty flag", map[string]string{"TOLLBOOK_SYNTHESIS_MODEL": "of-variable"}, []string{"--synthesis-model="},
			map[string]string{"data": "tollbook-data", "synthesis-base-url": "", "synthesis-model": "",
				"synthesis-per-day": "200",
				"crawl-free-hosts":  "[]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := configure(t, tt.env, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFaults checks that an error in the file names its place, and never contains the value.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, want string }{
		{"[synthesis]\nmodle = \"x\"\n",
			`own.toml:2:1: unknown key "synthesis.modle"; did you mean "synthesis.model"?`},
		{"\n[sinthesis]\nmodel = \"x\"\n", `own.toml:2:2: unknown key "sinthesis"; did you mean "synthesis"?`},
		{"[synthesis]\napi_key = \"sk-secret\"\n", `own.toml:2:1: unknown key "synthesis.api_key"`},
		{"[serve]\nlisten = [\"x\"]\n", `own.toml:2:1: serve.listen must be a string in quotes`},
		{"colour = 1\n", `own.toml:1:1: unknown key "colour"`},
		{"[synthesis]\nper_day = \"sk-secret\"\n", `own.toml:2:1: synthesis.per_day must be a whole number`},
		{"[synthesis]\nper_day = 1.5\n", `own.toml:2:1: synthesis.per_day must be a whole number`},
		{"[synthesis]\nmodel = 5\n", `own.toml:2:1: synthesis.model must be a string in quotes`},
		{"[crawl]\nfree_hosts = \"x\"\n", `own.toml:2:1: crawl.free_hosts must be a list of strings in quotes`},
		{"[crawl]\nfree_hosts = [1]\n", `own.toml:2:1: crawl.free_hosts must be a list of strings in quotes`},
		{"[data]\nfolder = \"x\"\n", `own.toml:2:1: unknown key "data.folder"`},
		{"[data]\n", `own.toml:1:2: data must be a string in quotes`},
		{"data = 5\n", `own.toml:1:1: data must be a string in quotes`},
		{"dta = \"x\"\n", `own.toml:1:1: unknown key "dta"; did you mean "data"?`},
		{"[site]\ndata = \"x\"\n", `own.toml:2:1: unknown key "site.data"`},
		{"synthesis = 1\n", `own.toml:1:1: synthesis must be a table`},
		{"[synthesis]\nmodel = \"a\"\nmodel = \"b\"\n", `own.toml:3:1: `},
		{"[schedule]\nbuild = \"s3cret\"\n",
			`own.toml:2:1: schedule.build must be a duration in quotes, such as "15m"`},
		{"site = {titel = \"x\"}\n", `own.toml:1:9: unknown key "site.titel"; did you mean "site.title"?`},
		{"[synthesis\n", `own.toml:1:`},
		{"x = \xff", `own.toml:1:`},
	} {
		dir := t.TempDir()
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, "own.toml")
			write(t, path, tt.file)
			_, err := configure(t, nil, "--config", path)
			if err == nil || !errors.As(err, new(terminal.UsageError)) || !strings.Contains(err.Error(), tt.want) ||
				strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
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
		{map[string]string{"TOLLBOOK_SYNTHESIS_PER_DAY": "many"}, nil,
			"TOLLBOOK_SYNTHESIS_PER_DAY: invalid value for --synthesis-per-day"},
	} {
		if _, err := configure(t, tt.env, tt.args...); err == nil || !errors.As(err, new(terminal.UsageError)) ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v %v: %v, want %s", tt.env, tt.args, err, tt.want)
		}
	}
}

// TestTable checks the one rule of names, and that each setting has a meaning and a flag of its type.
func TestTable(t *testing.T) {
	t.Parallel()
	f := pflag.NewFlagSet("all", pflag.ContinueOnError)
	AddAllFlags(f)
	seen := map[string]bool{}
	for _, s := range Table {
		section, name := s.split()
		flag, variable := strings.ReplaceAll(name, "_", "-"), strings.ToUpper(name)
		if section != "" {
			flag, variable = section+"-"+flag, strings.ToUpper(section)+"_"+variable
		}
		if s.Flag() != flag || s.Variable() != "TOLLBOOK_"+variable {
			t.Errorf("%s: the flag is %s, the variable %s", s.Key, s.Flag(), s.Variable())
		}
		if f.Lookup(flag) == nil || f.Lookup(flag).Usage == "" || strings.Contains(s.Meaning, "\n") || seen[s.Key] {
			t.Errorf("%s: no flag, no meaning of one line, or twice in the table", s.Key)
		}
		seen[s.Key] = true
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
