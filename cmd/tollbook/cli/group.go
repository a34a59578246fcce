// Package cli contains what the commands of tollbook share: groups, arguments, the flags --data and --as, and how a
// command opens its database. It must never know a command.
package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/usage"
)

// NewGroup makes cmd a command that contains others. Alone it prints its help; an unknown name is an error.
func NewGroup(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := "see " + cmd.CommandPath() + " --help"
		if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
			hint = "did you mean " + strings.Join(similar, " or ") + "?"
		}
		return usage.Errorf("unknown command %q for %s; %s", args[0], cmd.CommandPath(), hint)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(commands...)
	return cmd
}

// GroupStatus is the last part of the help of a group.
const GroupStatus = `

EXIT STATUS

That of the subcommand: 0 for success, 1 for a failure, 2 for an error in the command line.`

// Arguments accepts exactly the named arguments, such as "FILE".
func Arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage.Errorf("%s is missing; see %s --help", names[len(args)], cmd.CommandPath())
		case len(args) > len(names):
			return usage.Errorf("unexpected argument %q; see %s --help", args[len(names)], cmd.CommandPath())
		}
		return nil
	}
}

// OptionalArgument accepts one argument or none.
func OptionalArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return Arguments(name)(cmd, args)
	}
}
