package main

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/doctor"
)

// Where a value comes from.
const (
	fromDefault  = "default"
	fromFile     = "file"
	fromVariable = "variable"
	fromFlag     = "flag"
)

// shownSetting is a setting as it is in force.
type shownSetting struct {
	Key      string  `json:"key"`
	Value    any     `json:"value"`  // null where there is none; of a secret what may be told, or only that it is set
	Secret   bool    `json:"secret"` // its value is not shown
	Origin   string  `json:"origin"` // default, file, variable, flag
	File     *string `json:"file"`
	Line     *int    `json:"line"`
	Flag     *string `json:"flag"`
	Variable *string `json:"variable"`
}

// newConfigCommand shows what c comes to. It takes every flag that a key of the file is, as root's commands have it, so
// that a command line can be tried.
func newConfigCommand(c *config, root *cobra.Command) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print every setting that is in force, and where it comes from",
		Long: `Config prints each setting of tollbook.toml with the value that commands would have, and its origin: default, the file with
its line, the variable, or the flag. A flag given here shows what it would do. Variables that hold secrets are told to be
set or not; of addresses that may hold one, scheme and host. A key or a TOLLBOOK_ variable that is not known is refused, with
the nearest one that is.

EXIT STATUS

0 when it is printed, 2 for a configuration that no command would take.`,
		Args: arguments(),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	owners := map[string]*pflag.Flag{}
	for _, s := range c.settings() {
		owners[s.key] = ownerFlag(root, s)
		if f := owners[s.key]; f != nil && cmd.Flags().Lookup(s.flag) == nil {
			cmd.Flags().AddFlag(f)
		}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := unknownVariables(c, os.Environ()); err != nil {
			return err
		}
		list, err := c.shown(cmd, owners, os.Getenv)
		if err != nil {
			return err
		}
		return printSettings(cmd.OutOrStdout(), list, asJSON)
	}
	return cmd
}

// commands are all commands of ours, the first one first.
func commands(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		list = append(list, commands(sub)...)
	}
	return list
}

// ownerFlag is the flag of the first command that takes a setting.
func ownerFlag(root *cobra.Command, s setting) *pflag.Flag {
	for _, cmd := range commands(root) {
		if f := s.flagOf(cmd); f != nil {
			return f
		}
	}
	return nil
}

// shown are all settings, in the order of the file's sections, then what stands in variables alone.
func (c *config) shown(cmd *cobra.Command, owners map[string]*pflag.Flag, getenv func(string) string) ([]shownSetting, error) {
	var list []shownSetting
	for _, s := range c.settings() {
		f := owners[s.key]
		if f == nil {
			continue
		}
		if s.flagOf(cmd) == nil || cmd.Flags().Lookup(s.flag) != f { // else configure has done so
			if err := c.apply(s, f, getenv); err != nil {
				return nil, err
			}
		}
		one := shownSetting{Key: s.key, Value: valueOf(f), Origin: fromDefault, Flag: &s.flag, Variable: &s.variable}
		switch {
		case f.Changed:
			one.Origin = fromFlag
		case getenv(s.variable) != "":
			one.Origin = fromVariable
		case len(s.texts()) > 0:
			c.origin(&one, s.key)
		}
		list = append(list, one)
	}
	networks, err := c.shownNetworks()
	if err != nil {
		return nil, err
	}
	return slices.Concat(list, networks, shownSecrets(getenv)), nil
}

// origin says where in the file a key stands.
func (c *config) origin(s *shownSetting, key string) {
	s.Origin, s.File = fromFile, &c.path
	if line, ok := c.lines[key]; ok {
		s.Line = &line
	}
}

// valueOf is a flag's value, its text without what an address may hide.
func valueOf(f *pflag.Flag) any {
	text := f.Value.String()
	if list, ok := f.Value.(pflag.SliceValue); ok {
		values := slices.Clone(list.GetSlice())
		for i := range values {
			values[i] = withoutSecrets(values[i])
		}
		return values
	}
	switch f.Value.Type() {
	case "int":
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	case "bool":
		return text == "true"
	}
	if text == "" {
		return nil
	}
	return withoutSecrets(text)
}

// withoutSecrets is a text, or of an address what can be no secret: no user, no query, no fragment.
func withoutSecrets(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return "an address that can't be read"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// shownNetworks are the chains of the file.
func (c *config) shownNetworks() ([]shownSetting, error) {
	var list []shownSetting
	for i, n := range c.Networks {
		network, err := n.network(i + 1)
		if err != nil {
			return nil, err
		}
		add := func(key string, value any) {
			one := shownSetting{Key: "network." + network.ID + "." + key, Value: value}
			c.origin(&one, fmt.Sprintf("network.%d.%s", i+1, key))
			list = append(list, one)
		}
		hosts := []string{}
		for _, address := range n.RPC {
			hosts = append(hosts, doctor.SchemeAndHost(address))
		}
		add("rpc", hosts)
		list[len(list)-1].Secret = true
		if n.Confirmations != nil {
			add("confirmations", *n.Confirmations)
		}
		if n.Start != nil {
			add("start", *n.Start)
		}
		var tokens []string
		for _, t := range network.tokens {
			tokens = append(tokens, t.Symbol+" "+t.Address)
		}
		if tokens != nil {
			add("token", tokens)
		}
	}
	return list, nil
}

// secrets are the variables that are no keys of the file, with what may be told of each; nil for nothing.
var secrets = []struct {
	name string
	tell func(string) string
}{
	{"DATABASE_URL", doctor.DatabaseHost},
	{"AWS_ENDPOINT_URL", doctor.SchemeAndHost},
	{"AWS_REGION", func(s string) string { return s }},
	{"AWS_ACCESS_KEY_ID", nil},
	{"AWS_SECRET_ACCESS_KEY", nil},
	{"AWS_SESSION_TOKEN", nil},
	{"OPENAI_API_KEY", nil},
	{"TOLLBOOK_SIGNING_KEY", nil},
}

func shownSecrets(getenv func(string) string) []shownSetting {
	var list []shownSetting
	for _, s := range secrets {
		one := shownSetting{Key: s.name, Secret: true, Origin: fromDefault, Variable: &s.name}
		if v := getenv(s.name); v != "" {
			one.Origin, one.Value = fromVariable, "set"
			if s.tell != nil {
				one.Value = s.tell(v)
			}
		}
		list = append(list, one)
	}
	return list
}

func printSettings(stdout io.Writer, list []shownSetting, asJSON bool) error {
	if asJSON {
		return printLines(stdout, list)
	}
	t := newTable(stdout, "KEY", "VALUE", "ORIGIN")
	for _, s := range list {
		t.row(s.Key, s.text(), s.from())
	}
	return t.flush()
}

func (s *shownSetting) text() string {
	switch v := s.Value.(type) {
	case nil:
		if s.Secret {
			return "not set"
		}
		return "-"
	case []string:
		return cmp.Or(strings.Join(v, ", "), "-")
	default:
		return fmt.Sprint(v)
	}
}

func (s *shownSetting) from() string {
	switch {
	case s.Origin == fromFile && s.Line != nil:
		return fmt.Sprintf("%s:%d", *s.File, *s.Line)
	case s.Origin == fromFile:
		return *s.File
	case s.Origin == fromVariable:
		return *s.Variable
	case s.Origin == fromFlag:
		return "--" + *s.Flag
	}
	return s.Origin
}

// knownVariables are those of the name TOLLBOOK_ that are no keys of the file.
var knownVariables = []string{configVariable, "TOLLBOOK_SIGNING_KEY", "TOLLBOOK_POSTGRES_BIN"}

// unknownVariables refuses a variable of our name that nothing reads, but for those of tests.
func unknownVariables(c *config, environment []string) error {
	known := slices.Clone(knownVariables)
	for _, s := range c.settings() {
		known = append(known, s.variable)
	}
	slices.Sort(environment)
	for _, line := range environment {
		name, _, _ := strings.Cut(line, "=")
		if strings.HasPrefix(name, "TOLLBOOK_") && !strings.HasPrefix(name, "TOLLBOOK_TEST") && !slices.Contains(known, name) {
			return usagef("unknown variable %s%s", name, suggestion(name, known))
		}
	}
	return nil
}

// keyLines are the lines of the keys of a file, as far as it can be read: those in the second [[network]] are
// network.2.rpc.
func keyLines(data []byte) map[string]int {
	lines := map[string]int{}
	counts := map[string]int{}
	var p unstable.Parser
	p.Reset(data)
	section := ""
	for p.NextExpression() {
		e := p.Expression()
		name, line := "", 0
		for it := e.Key(); it.Next(); {
			if line == 0 {
				line = p.Shape(it.Node().Raw).Start.Line
			}
			name += "." + string(it.Node().Data)
		}
		name = strings.TrimPrefix(name, ".")
		switch e.Kind {
		case unstable.KeyValue:
			name = section + name
		case unstable.Table:
			section = name + "."
		case unstable.ArrayTable:
			parent, child, nested := strings.Cut(name, ".")
			if nested && counts[parent] > 0 {
				name = fmt.Sprintf("%s.%d.%s", parent, counts[parent], child)
			}
			counts[name]++
			section = fmt.Sprintf("%s.%d.", name, counts[name])
		}
		if lines[name] == 0 {
			lines[name] = line
		}
	}
	return lines
}
