package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// config is the configuration file: a section a part, each optional. A key with a tag `flag` is also that flag of every
// command that has it (of those in a tag `of`, where it has one), and the variable TOLLBOOK_<SECTION>_<KEY>; the flag's
// own parser reads all three, so that a key is one line here. What is no flag (a list of tables) is read from here by
// the command that uses it.
//
// A key is a pointer or a slice: what the file does not say is nil. Secrets have no key, only variables of their own.
type config struct {
	Site      siteConfig      `toml:"site"`
	Crawl     crawlConfig     `toml:"crawl"`
	Serve     serveConfig     `toml:"serve"`
	Publish   publishConfig   `toml:"publish"`
	Schedule  scheduleConfig  `toml:"schedule"`
	Synthesis synthesisConfig `toml:"synthesis"`
	Networks  []networkConfig `toml:"network"`

	path  string         // of the file that was read, "" without one
	lines map[string]int // of its keys, such as serve.listen and network.2.rpc, counted from 1
}

type siteConfig struct {
	Title   *string `toml:"title" flag:"title"`
	BaseURL *string `toml:"base_url" flag:"base-url"`
	Contact *string `toml:"contact" flag:"site-contact"`

	Description *string  `toml:"description" flag:"description"`
	Colours     []string `toml:"colours" flag:"colours"`
	Footer      *string  `toml:"footer" flag:"footer"`
	Pages       *string  `toml:"pages" flag:"pages"`         // a folder, beside the configuration file
	Templates   *string  `toml:"templates" flag:"templates"` // the same
}

type crawlConfig struct {
	HostGap      *string  `toml:"host_gap" flag:"host-gap"` // "1s"
	Workers      *int     `toml:"workers" flag:"workers" of:"crawl up work"`
	Contact      *string  `toml:"contact" flag:"contact"`
	AllowPrivate []string `toml:"allow_private" flag:"allow-private"`
	FreeHosts    []string `toml:"free_hosts" flag:"free-hosts"` // files, beside the configuration file
}

type serveConfig struct {
	Listen         *string  `toml:"listen" flag:"listen" of:"serve up"`
	RateLimit      *int     `toml:"rate_limit" flag:"rate-limit" of:"serve up"`
	TrustedProxies []string `toml:"trusted_proxies" flag:"trusted-proxies" of:"serve up"`
	Metrics        *string  `toml:"metrics" flag:"metrics" of:"serve up work"`
	Submissions    *bool    `toml:"submissions" flag:"submissions" of:"serve up"`
	MaxPending     *int     `toml:"max_pending" flag:"max-pending" of:"serve up"`
}

type publishConfig struct {
	To  *string `toml:"to" flag:"to"`
	Key *string `toml:"key" flag:"signing-key"` // its file
}

type scheduleConfig struct {
	Build     *string `toml:"build" flag:"schedule-build"` // "15m"
	Publish   *string `toml:"publish" flag:"schedule-publish"`
	Index     *string `toml:"index" flag:"schedule-index"`
	Retention *string `toml:"retention" flag:"schedule-retention"`
}

type synthesisConfig struct {
	BaseURL *string `toml:"base_url" flag:"synthesis-base-url"`
	Model   *string `toml:"model" flag:"synthesis-model"`
	PerDay  *int    `toml:"per_day" flag:"synthesis-per-day"`
}

// The default file is read when it is there; one that is named must be.
const (
	configFile     = "tollbook.toml"
	configVariable = "TOLLBOOK_CONFIG"
	configBytes    = 1 << 20
)

// setting is one key of the file that is also a flag.
type setting struct {
	key, flag, variable string
	commands            []string // that take it; nil for all that have the flag
	value               reflect.Value
}

// flagOf is the flag that s is for a command, nil when it is none.
func (s setting) flagOf(cmd *cobra.Command) *pflag.Flag {
	if s.commands != nil && !slices.Contains(s.commands, cmd.Name()) {
		return nil
	}
	return cmd.Flags().Lookup(s.flag)
}

// settings are the keys of c that are also flags, in the order of its fields.
func (c *config) settings() []setting {
	var list []setting
	sections := reflect.ValueOf(c).Elem()
	for i := range sections.NumField() {
		name := sections.Type().Field(i).Tag.Get("toml")
		if name == "" || sections.Field(i).Kind() != reflect.Struct {
			continue
		}
		for j := range sections.Field(i).NumField() {
			field := sections.Field(i).Type().Field(j)
			if flag := field.Tag.Get("flag"); flag != "" {
				key := name + "." + field.Tag.Get("toml")
				variable := "TOLLBOOK_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
				var commands []string
				if of := field.Tag.Get("of"); of != "" {
					commands = strings.Fields(of)
				}
				list = append(list, setting{key, flag, variable, commands, sections.Field(i).Field(j)})
			}
		}
	}
	return list
}

// texts are a key's values as its flag would be given them; none where the file does not say.
func (s setting) texts() []string {
	switch v := s.value; v.Kind() {
	case reflect.Slice:
		list := make([]string, v.Len())
		for i := range list {
			list[i] = fmt.Sprint(v.Index(i).Interface())
		}
		return list
	case reflect.Pointer:
		if !v.IsNil() {
			return []string{fmt.Sprint(v.Elem().Interface())}
		}
	}
	return nil
}

// configure reads the configuration file and gives each flag of cmd that was not given the value of its variable, else
// the file's; what neither says keeps its default. getenv is os.Getenv. A fault is one of the command line: nothing is
// begun.
func (c *config) configure(cmd *cobra.Command, getenv func(string) string) error {
	if err := c.find(cmd, getenv); err != nil {
		return usageError{err}
	}
	for _, s := range c.settings() {
		if f := s.flagOf(cmd); f != nil {
			if err := c.apply(s, f, getenv); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply gives the flag of a setting its value, once: a list would have it twice.
func (c *config) apply(s setting, f *pflag.Flag, getenv func(string) string) error {
	if f.Changed {
		return nil
	}
	if v := getenv(s.variable); v != "" {
		if err := f.Value.Set(v); err != nil {
			return usagef("%s: invalid value for --%s: %w", s.variable, s.flag, err)
		}
	} else if list := s.texts(); s.value.Kind() == reflect.Slice && s.value.Len() > 0 {
		if err := f.Value.(pflag.SliceValue).Replace(list); err != nil {
			return usagef("%s: %s: %w", c.path, s.key, err)
		}
	} else if len(list) == 1 {
		if err := f.Value.Set(list[0]); err != nil {
			return usagef("%s: %s: %w", c.path, s.key, err)
		}
	}
	return nil
}

// find reads the file that --config names, else the variable, else the default one if it is there.
func (c *config) find(cmd *cobra.Command, getenv func(string) string) error {
	path := getenv(configVariable)
	if f := cmd.Flags().Lookup("config"); f != nil && f.Changed {
		path = f.Value.String()
	}
	named := path != ""
	if !named {
		path = configFile
	}
	data, err := readUpTo(path, configBytes)
	if !named && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	*c, err = readConfig(path, data)
	return err
}

// readConfig reads a configuration file strictly. Faults name the file, line and column, and never what stands there:
// it could be a secret in the wrong place.
func readConfig(path string, data []byte) (config, error) {
	c := config{path: path}
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&c)
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		e := unknown.Errors[0]
		key := strings.Join(e.Key(), ".")
		return config{}, fmt.Errorf("%s: unknown key %q%s", position(path, &e), key, suggestion(key, configKeys(reflect.TypeFor[config](), "")))
	case errors.As(err, &wrong):
		if want := wanted(reflect.TypeFor[config](), wrong.Key()); want != "" && strings.Contains(wrong.Error(), "cannot") {
			return config{}, fmt.Errorf("%s: %s is %s", position(path, wrong), strings.Join(wrong.Key(), "."), want)
		}
		return config{}, fmt.Errorf("%s: %s", position(path, wrong), strings.TrimPrefix(wrong.Error(), "toml: "))
	case err != nil:
		return config{}, fmt.Errorf("%s: %w", path, err)
	}
	c.lines = keyLines(data)
	beside := []*string{c.Site.Pages, c.Site.Templates}
	for i := range c.Crawl.FreeHosts {
		beside = append(beside, &c.Crawl.FreeHosts[i])
	}
	for _, file := range beside {
		if file != nil && *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(filepath.Dir(path), *file)
		}
	}
	return c, nil
}

func position(path string, e *toml.DecodeError) string {
	line, column := e.Position()
	return fmt.Sprintf("%s:%d:%d", path, line, column)
}

// configKeys are all keys below a type of the configuration.
func configKeys(t reflect.Type, prefix string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var keys []string
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("toml"); name != "" {
			keys = append(append(keys, prefix+name), configKeys(t.Field(i).Type, prefix+name+".")...)
		}
	}
	return keys
}

// wanted says what a key's value must be, "" of a key that is not known.
func wanted(t reflect.Type, key []string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(key) > 0 && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
		t = t.Elem()
	}
	if len(key) == 0 {
		switch t.Kind() {
		case reflect.String:
			return "a text in quotes"
		case reflect.Bool:
			return "true or false"
		case reflect.Int, reflect.Int64, reflect.Uint64:
			return "a whole number"
		case reflect.Struct:
			return "a table"
		case reflect.Slice:
			if t.Elem().Kind() == reflect.Struct {
				return "a list of tables"
			}
			return "a list, each " + wanted(t.Elem(), nil)
		}
		return ""
	}
	if t.Kind() != reflect.Struct {
		return ""
	}
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("toml") == key[0] {
			return wanted(t.Field(i).Type, key[1:])
		}
	}
	return ""
}

// suggestion names the known key that is the fewest edits away, if that is few: of two, the first.
func suggestion(key string, known []string) string {
	best, edits := "", max(2, len(key)/3)+1
	for _, k := range known {
		if d := distance(key, k); d < edits {
			best, edits = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is how many bytes must be put in, taken out or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
