package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"tollbook/crawl/pull"
)

// Origins of a value.
const (
	fromDefault  = "default"
	fromFile     = "file"
	fromVariable = "variable"
	fromFlag     = "flag"
)

// Value is the value of a setting that commands use, without secrets.
type Value struct {
	Key      string  `json:"key"`
	Value    any     `json:"value"`  // null without one; of a secret the part that may be shown, or "set"
	Secret   bool    `json:"secret"` // the value is not shown whole
	Origin   string  `json:"origin"` // default, file, variable, flag
	File     *string `json:"file"`
	Line     *int    `json:"line"`
	Flag     *string `json:"flag"`
	Variable *string `json:"variable"`
}

// Values returns all settings in the order of the table, then the networks of the file, then the variables without a
// key. flags are those of AddAllFlags, after Configure.
func (c *Configuration) Values(flags *pflag.FlagSet, getenv func(string) string) ([]Value, error) {
	var list []Value
	for _, s := range Table {
		f := flags.Lookup(s.Flag())
		v := Value{
			Key: s.Key, Value: flagValue(f), Origin: c.origin(s, f, getenv), Flag: new(s.Flag()),
			Variable: new(s.Variable()),
		}
		if s.IsCommand {
			v.Value, v.Secret = commandValue(f.Value.(pflag.SliceValue).GetSlice()), true
		}
		if v.Origin == fromFile {
			c.setFile(&v, s.Key)
		}
		list = append(list, v)
	}
	networks, err := c.networkValues()
	if err != nil {
		return nil, err
	}
	sources, err := c.sourceValues()
	if err != nil {
		return nil, err
	}
	return slices.Concat(list, networks, sources, variableValues(getenv)), nil
}

// origin returns where the value of a setting comes from.
func (c *Configuration) origin(s Setting, f *pflag.Flag, getenv func(string) string) string {
	switch _, ok := c.values[s.Key]; {
	case f.Changed:
		return fromFlag
	case getenv(s.Variable()) != "":
		return fromVariable
	case ok:
		return fromFile
	}
	return fromDefault
}

// IsDefault reports whether neither a flag nor a variable nor the file sets the value of key.
func (c *Configuration) IsDefault(flags *pflag.FlagSet, key string, getenv func(string) string) bool {
	s := Of(key)
	return c.origin(s, flags.Lookup(s.Flag()), getenv) == fromDefault
}

// setFile sets the file as the origin of a value, with the line if it is known.
func (c *Configuration) setFile(v *Value, key string) {
	v.Origin, v.File = fromFile, &c.Path
	if p, ok := c.positions[key]; ok {
		v.Line = &p.line
	}
}

// flagValue returns the value of a flag. URLs are returned without what may be a secret.
func flagValue(f *pflag.Flag) any {
	text := f.Value.String()
	if list, ok := f.Value.(pflag.SliceValue); ok {
		values := slices.Clone(list.GetSlice())
		for i := range values {
			values[i] = RedactURL(values[i])
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
	return RedactURL(text)
}

// commandValue returns the program of a command and the number of its arguments, which may be secrets.
func commandValue(command []string) any {
	switch len(command) {
	case 0:
		return nil
	case 1:
		return command
	}
	return []string{command[0], fmt.Sprintf("(arguments: %d)", len(command)-1)}
}

// networkValues returns the networks of the file.
func (c *Configuration) networkValues() ([]Value, error) {
	var list []Value
	for i, t := range c.Networks {
		n, err := t.Network(i + 1)
		if err != nil {
			return nil, err
		}
		add := func(key string, value any, isSecret bool) {
			v := Value{Key: "network." + n.ID + "." + key, Value: value, Secret: isSecret}
			c.setFile(&v, fmt.Sprintf("network.%d.%s", i+1, key))
			list = append(list, v)
		}
		hosts := []string{}
		for _, nodeURL := range t.RPC {
			hosts = append(hosts, SchemeAndHost(nodeURL))
		}
		add("rpc", hosts, true)
		if t.Confirmations != nil {
			add("confirmations", *t.Confirmations, false)
		}
		if t.Start != nil {
			add("start", *t.Start, false)
		}
		var tokens []string
		for _, token := range n.LedgerTokens {
			tokens = append(tokens, token.Symbol+" "+token.Address)
		}
		if tokens != nil {
			add("token", tokens, false)
		}
	}
	return list, nil
}

// sourceValues returns the sources of the file.
func (c *Configuration) sourceValues() ([]Value, error) {
	if len(c.Sources) == 0 {
		return nil, nil
	}
	all, err := ReadSources(c.Sources)
	if err != nil {
		return nil, err
	}
	var list []Value
	for i, t := range c.Sources {
		s := all[slices.IndexFunc(all, func(s pull.Source) bool { return s.Name == *t.Name })]
		for _, of := range []struct {
			name  string
			value any
		}{
			{"kind", s.Kind}, {"address", RedactURL(s.Address)}, {"period", ShortDuration(s.Period)},
			{"take", s.Take}, {"trust", s.Trust}, {"enabled", s.Enabled},
		} {
			v := Value{Key: "source." + s.Name + "." + of.name, Value: of.value, Origin: fromDefault}
			if key := fmt.Sprintf("source.%d.%s", i+1, of.name); c.positions[key].line > 0 {
				c.setFile(&v, key)
			}
			list = append(list, v)
		}
	}
	return list, nil
}

// variableValues returns the variables without a key.
func variableValues(getenv func(string) string) []Value {
	var list []Value
	for _, variable := range Variables {
		if !variable.shown {
			continue
		}
		v := Value{Key: variable.Name, Secret: true, Origin: fromDefault, Variable: &variable.Name}
		if text := getenv(variable.Name); text != "" {
			v.Origin, v.Value = fromVariable, "set"
			if variable.show != nil {
				v.Value = variable.show(text)
			}
		}
		list = append(list, v)
	}
	return list
}

// Text returns the value as a table shows it.
func (v *Value) Text() string {
	switch value := v.Value.(type) {
	case nil:
		if v.Secret {
			return "not set"
		}
		return "-"
	case []string:
		return cmp.Or(strings.Join(value, ", "), "-")
	default:
		return fmt.Sprint(value)
	}
}

// Source returns where the value comes from: the line of the file, the variable, the flag, or "default".
func (v *Value) Source() string {
	switch {
	case v.Origin == fromFile && v.Line != nil:
		return fmt.Sprintf("%s:%d", *v.File, *v.Line)
	case v.Origin == fromFile:
		return *v.File
	case v.Origin == fromVariable:
		return *v.Variable
	case v.Origin == fromFlag:
		return "--" + *v.Flag
	}
	return v.Origin
}
