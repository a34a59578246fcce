package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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

// ShowFlags makes the help of a command show the flags of these names alone. The others work all the same.
func ShowFlags(cmd *cobra.Command, names ...string) {
	cmd.Annotations = map[string]string{shownFlags: strings.Join(names, " ")}
}

// shownFlags is the annotation of a command that contains the names of the flags in its help.
const shownFlags = "flags"

// HideRareFlags hides from the help of a command the flags of advanced settings, and those that ShowFlags left out. It
// returns a paragraph that says which flags these are, "" for none, and a function that shows them again.
func HideRareFlags(cmd *cobra.Command) (note string, show func()) {
	names, chosen := cmd.Annotations[shownFlags]
	shown := strings.Fields(names)
	keys := map[string]Setting{}
	for _, s := range Table {
		keys[s.Flag()] = s
	}
	var hidden []*pflag.Flag
	var others []string // that are no settings
	ofSettings := 0
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		s, isSetting := keys[f.Name]
		if f.Hidden || chosen && slices.Contains(shown, f.Name) || !chosen && !s.Advanced {
			return
		}
		f.Hidden = true
		hidden = append(hidden, f)
		switch {
		case isSetting:
			ofSettings++
		case f.Name != "help":
			others = append(others, "--"+f.Name)
		}
	})
	show = func() {
		for _, f := range hidden {
			f.Hidden = false
		}
	}
	if len(hidden) == 0 {
		return "", show
	}
	note = fmt.Sprintf("%d more settings are flags, too. \"tollbook config\" prints every setting with its value; the key\n"+
		"serve.max_connections is the flag --serve-max-connections. The page /configuration explains each.\n", ofSettings)
	if len(others) > 0 {
		note += "The manual page of this command has all flags, also " + strings.Join(others, ", ") + ".\n"
	}
	return note, show
}
