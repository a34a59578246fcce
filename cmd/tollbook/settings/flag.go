package settings

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// AddFlag adds the flag of a key, whose value is stored in target: a pointer to the setting's type.
func AddFlag(f *pflag.FlagSet, key string, target any) {
	s := Of(key)
	switch target := target.(type) {
	case *string:
		f.StringVar(target, s.Flag(), s.Default.(string), s.Meaning)
	case *int:
		f.IntVar(target, s.Flag(), s.Default.(int), s.Meaning)
	case *bool:
		f.BoolVar(target, s.Flag(), s.Default.(bool), s.Meaning)
	case *time.Duration:
		f.DurationVar(target, s.Flag(), s.Default.(time.Duration), s.Meaning)
	case *[]string:
		f.StringSliceVar(target, s.Flag(), s.Default.([]string), s.Meaning)
	default:
		panic(fmt.Sprintf("setting %s: a flag can't be stored in %T", key, target))
	}
}

// ExplainValue returns what the value of a flag must be, or err for a type that explains itself.
func ExplainValue(f *pflag.Flag, err error) error {
	switch f.Value.Type() {
	case "int":
		return errors.New("give a whole number")
	case "bool":
		return errors.New("give true or false")
	case "duration":
		return errors.New("give a duration such as 90s, 15m or 1h30m")
	}
	return err
}

// AddAllFlags adds the flag of each key, for a command that only shows the settings.
func AddAllFlags(f *pflag.FlagSet) {
	for _, s := range Table {
		switch s.Default.(type) {
		case string:
			AddFlag(f, s.Key, new(string))
		case int:
			AddFlag(f, s.Key, new(int))
		case bool:
			AddFlag(f, s.Key, new(bool))
		case time.Duration:
			AddFlag(f, s.Key, new(time.Duration))
		case []string:
			AddFlag(f, s.Key, new([]string))
		}
	}
}

// AddOldFlags adds the old names of the flags that cmd and the commands below it have. An old flag changes the value of
// the new one and is hidden from the help.
func AddOldFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	for _, s := range Table {
		flag := f.Lookup(s.Flag())
		if flag == nil || s.OldFlag == "" || f.Lookup(s.OldFlag) != nil {
			continue
		}
		old := f.VarPF(flag.Value, s.OldFlag, "", flag.Usage)
		old.Hidden, old.NoOptDefVal = true, flag.NoOptDefVal
	}
	for _, sub := range cmd.Commands() {
		AddOldFlags(sub)
	}
}

// replaceOldFlag marks the flag of a setting as changed if its old name was used, and writes a line with the new name.
func (s Setting) replaceOldFlag(f *pflag.FlagSet, stderr io.Writer) {
	if s.OldFlag == "" {
		return
	}
	flag, old := f.Lookup(s.Flag()), f.Lookup(s.OldFlag)
	if old == nil || !old.Changed || old.Value != flag.Value {
		return
	}
	flag.Changed = true
	fmt.Fprintf(stderr, "tollbook: --%s is an old name; use --%s\n", s.OldFlag, s.Flag())
}
