// This part of the package contains what the commands of tollbook share: groups, arguments, the flags --data and --as,
// and how a command opens its database. It must never know a command.

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/terminal"
)

// newGroup makes cmd a command that contains others. Alone it prints its help; an unknown name is an error.
func newGroup(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := "see " + cmd.CommandPath() + " --help"
		if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
			hint = "did you mean " + strings.Join(similar, " or ") + "?"
		}
		return terminal.UsageErrorf("unknown command %q for %s; %s", args[0], cmd.CommandPath(), hint)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(commands...)
	return cmd
}

// groupStatus is the last part of the help of a group.
const groupStatus = `

EXIT STATUS

That of the subcommand: 0 for success, 1 for a failure, 2 for an error in the command line.`

// arguments accepts exactly the named arguments, such as "FILE".
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return terminal.UsageErrorf("%s is missing; see %s --help", names[len(args)], cmd.CommandPath())
		case len(args) > len(names):
			return terminal.UsageErrorf("unexpected argument %q; see %s --help", args[len(names)], cmd.CommandPath())
		}
		return nil
	}
}

// optionalArgument accepts one argument or none.
func optionalArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return arguments(name)(cmd, args)
	}
}
