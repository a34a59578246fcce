package settings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/terminal"
	"tollbook/site/display"
)

// DefaultFile is read if it exists. A file that a flag or variable names must exist.
const DefaultFile = "tollbook.toml"

// maxFileBytes is the largest size of a configuration file.
const maxFileBytes = 1 << 20

// Configuration is a configuration file that was read.
type Configuration struct {
	Path     string // "" without a file
	Networks []Networks
	Sources  []sourceTable

	values    map[string]any // by key, of the type of the setting's default
	positions map[string]position
}

// Configure reads the configuration file. Then it gives each flag of cmd that is a setting the value of its variable,
// else the file's, unless the flag is on the command line. Without any the default stays. getenv is os.Getenv.
func (c *Configuration) Configure(cmd *cobra.Command, getenv func(string) string) error {
	if err := c.readFile(cmd, getenv); err != nil {
		return terminal.UsageError{Err: err}
	}
	for _, s := range Table {
		f := cmd.Flags().Lookup(s.Flag())
		if f == nil {
			continue
		}
		if err := c.apply(s, f, getenv); err != nil {
			return terminal.UsageError{Err: err}
		}
	}
	return nil
}

// apply gives a flag the value of the variable, else that of the file.
func (c *Configuration) apply(s Setting, f *pflag.Flag, getenv func(string) string) error {
	if f.Changed {
		return nil
	}
	if text := getenv(s.Variable()); text != "" {
		if err := f.Value.Set(text); err != nil {
			return fmt.Errorf("%s: invalid value for --%s: %w", s.Variable(), s.Flag(), ExplainValue(f, err))
		}
		return nil
	}
	value, ok := c.values[s.Key]
	if !ok {
		return nil
	}
	var err error
	if list, ok := value.([]string); ok {
		err = f.Value.(pflag.SliceValue).Replace(list)
	} else {
		err = f.Value.Set(fmt.Sprint(value))
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", c.place(s.Key), s.Key, err)
	}
	return nil
}

// readFile reads the file that --config names, else the variable, else the default one if it exists.
func (c *Configuration) readFile(cmd *cobra.Command, getenv func(string) string) error {
	path := getenv(configVariable)
	if f := cmd.Flags().Lookup("config"); f != nil && f.Changed {
		path = f.Value.String()
	}
	isNamed := path != ""
	if !isNamed {
		if path = DefaultFile; !hasDefaultFile() {
			return nil
		}
	}
	data, err := ReadFile(path, maxFileBytes)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	*c, err = Read(path, data)
	return err
}

// ReadFile reads a file of at most limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: the file has more than %d bytes", path, limit)
	}
	return data, nil
}

// Read reads a configuration file. It refuses unknown keys and values of the wrong type. Errors name the file, line and
// column, and never contain a value: it could be a secret under the wrong key.
func Read(path string, data []byte) (Configuration, error) {
	c := Configuration{Path: path, values: map[string]any{}}
	var file struct {
		Networks []Networks    `toml:"network"`
		Sources  []sourceTable `toml:"source"`
	}
	var sections map[string]any
	if err := toml.Unmarshal(data, &sections); err != nil {
		return Configuration{}, decodeError(path, err)
	}
	positions, err := readPositions(data)
	if err != nil {
		return Configuration{}, fmt.Errorf("%s: %w", path, err)
	}
	c.positions = positions.byKey
	for _, key := range positions.keys {
		name := withoutNumbers(key)
		if !slices.Contains(keys(), name) {
			return Configuration{}, fmt.Errorf("%s: unknown key %q%s", c.place(key), name,
				display.Hint(name, keys()))
		}
	}
	if err := toml.Unmarshal(data, &file); err != nil {
		return Configuration{}, decodeError(path, err)
	}
	c.Networks, c.Sources = file.Networks, file.Sources
	for _, s := range Table {
		if err := c.readSetting(s, sections); err != nil {
			return Configuration{}, err
		}
	}
	return c, nil
}

// readSetting stores the value of a setting, if the file has one.
func (c *Configuration) readSetting(s Setting, sections map[string]any) error {
	section, name := s.split()
	table := sections
	if section != "" {
		var ok bool
		if table, ok = sections[section].(map[string]any); sections[section] != nil && !ok {
			return fmt.Errorf("%s: %s must be a table", c.place(section), section)
		}
	}
	value, ok := table[name]
	if !ok {
		return nil
	}
	if value, ok = s.convert(value); !ok {
		return fmt.Errorf("%s: %s must be %s", c.place(s.Key), s.Key, s.kind())
	}
	c.values[s.Key] = c.resolve(s, value)
	return nil
}

// resolve returns paths relative to the folder of the configuration file.
func (c *Configuration) resolve(s Setting, value any) any {
	resolve := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(filepath.Dir(c.Path), path)
	}
	switch value := value.(type) {
	case string:
		if s.IsPath {
			return resolve(value)
		}
	case []string:
		for i := range value {
			if s.IsPath || s.IsCommand && i == 0 && strings.Contains(value[i], "/") {
				value[i] = resolve(value[i])
			}
		}
	}
	return value
}

// convert returns a value of TOML as the type of the setting.
func (s Setting) convert(value any) (any, bool) {
	switch s.Default.(type) {
	case string:
		text, ok := value.(string)
		return text, ok
	case int:
		n, ok := value.(int64)
		return int(n), ok
	case bool:
		b, ok := value.(bool)
		return b, ok
	case time.Duration:
		text, ok := value.(string)
		d, err := time.ParseDuration(text)
		return d, ok && err == nil
	}
	items, ok := value.([]any)
	if !ok {
		return nil, false
	}
	list := make([]string, len(items))
	for i, item := range items {
		if list[i], ok = item.(string); !ok {
			return nil, false
		}
	}
	return list, true
}

// kind returns what a value of the setting must be, for an error.
func (s Setting) kind() string {
	switch s.Default.(type) {
	case string:
		return "a string in quotes"
	case int:
		return "a whole number"
	case bool:
		return "true or false"
	case time.Duration:
		return `a duration in quotes, such as "15m"`
	}
	return "a list of strings in quotes"
}

// keys returns all keys and sections of the file.
func keys() []string {
	list := []string{"network", "network.token", "source"}
	for _, s := range slices.Concat(Table, NetworkTable, SourceTable) {
		if section, _ := s.split(); section != "" && !slices.Contains(list, section) {
			list = append(list, section)
		}
		list = append(list, s.Key)
	}
	return list
}

// decodeError returns an error of the decoder with its place, without the value.
func decodeError(path string, err error) error {
	var wrong *toml.DecodeError
	if !errors.As(err, &wrong) {
		return fmt.Errorf("%s: %w", path, err)
	}
	line, column := wrong.Position()
	text := strings.TrimPrefix(wrong.Error(), "toml: ")
	key := strings.Join(wrong.Key(), ".")
	for _, s := range slices.Concat(NetworkTable, SourceTable) {
		if s.Key == key && strings.Contains(text, "cannot") {
			text = fmt.Sprintf("%s must be %s", key, s.kind())
		}
	}
	return fmt.Errorf("%s:%d:%d: %s", path, line, column, text)
}
