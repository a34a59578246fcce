package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/cmd/tollbook/version"
	"tollbook/site/display"
)

// exitStatus returns 2 for an error of the command line and for a check without a result, the outcome of a lint, else 1.
func exitStatus(err error) int {
	if errors.As(err, new(terminal.UsageError)) || errors.Is(err, errUnknown) {
		return 2
	}
	if failed := (*lintError)(nil); errors.As(err, &failed) {
		return int(failed.outcome)
	}
	return 1
}

// explain returns the text of an error for the person who ran the command.
func explain(ctx context.Context, err error) string {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return settings.RedactText(err.Error())
}

func newRootCommand() *cobra.Command {
	c := &settings.Configuration{} // read before a command runs
	var log logOptions             // the same
	cmd := newGroup(&cobra.Command{
		Use:   "tollbook",
		Short: "Run a directory of network services that charge per request over HTTP 402",
		Long: `Tollbook finds services that charge per request over HTTP 402 (the x402 protocol), visits them on a
schedule, and publishes what it measures as a tree of files: every response of its /v1 API, and every page.

Settings can be flags, environment variables, or keys of a configuration file: the one that --config or
TOLLBOOK_CONFIG names, else ./tollbook.toml, else /etc/tollbook/tollbook.toml with the variables of
/etc/tollbook/tollbook.env. One rule gives all three names: the key per_day of the section [synthesis] is the flag
--synthesis-per-day and the variable TOLLBOOK_SYNTHESIS_PER_DAY. A flag wins over a variable, and a variable over
the file. Secrets are read from variables only. The page /configuration of every directory lists all settings.

EXIT STATUS

0 for success, 1 for a failure, 2 for an error in the command line or the configuration.`,
		Example: `  tollbook demo                          try it offline, with sample services
  tollbook services apply services.toml
  tollbook up                            run a whole directory
  tollbook show acme-quotes --directory https://directory.example`,
		Version:           version.Line(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	},
		newDemoCommand(c), newServicesCommand(newServicesImportCommand(), newServicesVerifyCommand(),
			newServicesOptOutsCommand()),
		newSourcesCommand(c, newPullCommand(c)), newSubmissions(), newSuggestions(),
		newFacilitators(),
		newCrawlCommand(), newChecks(), newIndexCommand(c),
		newBuildCommand(), newPublishCommand(), newRollbackCommand(), newPruneCommand(),
		newVerifyCommand(), newKeyCommand(), newServeCommand(), newUpCommand(c), newWorkCommand(c), newMCPCommand(),
		newEdgeCommand(), newTablesCommand(bucketHelp),
		newLintCommand(), newManualCommand(), newReadyCommand(), newDoctorCommand(c),
		newExport(), newImport(), newMigrateCommand(), newConfigCommand(c), newCompletionCommand())
	addReaderCommands(cmd)
	cmd.PersistentFlags().String("config", "", "configuration `file`; else ./tollbook.toml, else /etc/tollbook/tollbook.toml (TOLLBOOK_CONFIG)")
	log.AddFlags(cmd.PersistentFlags())
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.HasSubCommands() || strings.HasPrefix(cmd.Name(), cobra.ShellCompRequestCmd) {
			return nil // it only prints its help or completions
		}
		if err := settings.UseSystem(cmd, settings.SystemFolder, cmd.ErrOrStderr()); err != nil {
			return err
		}
		if err := settings.CheckVariables(os.Environ()); err != nil {
			return err
		}
		if err := c.Configure(cmd, os.Getenv); err != nil {
			return err
		}
		if err := log.Validate(); err != nil {
			return err
		}
		cmd.SetContext(withLog(cmd.Context(), log))
		return nil
	}
	registerCompletions(cmd, func(cmd *cobra.Command) error {
		return errors.Join(settings.UseSystem(cmd, settings.SystemFolder, io.Discard), c.Configure(cmd, os.Getenv))
	})
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if invalid := new(pflag.InvalidValueError); errors.As(err, &invalid) {
			f := invalid.GetFlag()
			err = fmt.Errorf("invalid argument %q for \"--%s\" flag: %w", invalid.GetValue(), f.Name,
				settings.ExplainValue(f, invalid.Unwrap()))
		}
		if unknown := new(pflag.NotExistError); errors.As(err, &unknown) {
			if flag := probableFlag(cmd, unknown.GetSpecifiedName()); flag != "" {
				return terminal.UsageErrorf("%w; did you mean --%s?", err, flag)
			}
		}
		return terminal.UsageErrorf("%w; see %s --help", err, cmd.CommandPath())
	})
	printHelp := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		note, show := settings.HideRareFlags(cmd)
		defer show()
		printHelp(cmd, args)
		if note != "" {
			fmt.Fprint(cmd.OutOrStdout(), "\n"+note)
		}
	})
	return cmd
}

// probableFlag returns the flag of a command that somebody probably meant: the only one that ends in the name, such as
// site-title for title, else one that is spelt alike. It returns "" if there is none.
func probableFlag(cmd *cobra.Command, name string) string {
	var names, longer []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		names = append(names, f.Name)
		if strings.HasSuffix(f.Name, "-"+name) {
			longer = append(longer, f.Name)
		}
	})
	if len(longer) == 1 {
		return longer[0]
	}
	return display.Nearest(name, names)
}

// Groups of commands in the help.
const (
	readerGroup   = "reader"
	operatorGroup = "operator"
)

// addReaderCommands adds the commands for the users of a directory, and shows them before the operator's.
func addReaderCommands(root *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: readerGroup, Title: "Find and check services:"},
		&cobra.Group{ID: operatorGroup, Title: "Run a directory:"})
	for _, c := range root.Commands() {
		c.GroupID = operatorGroup
	}
	for _, c := range newReaderCommands() {
		c.GroupID = readerGroup
		root.AddCommand(c)
	}
}

func newCompletionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a completion script for your shell",
		Long: `Completion prints a script with which a shell completes commands, flags and their values when you press
Tab.

EXIT STATUS

0 if the script is printed, 2 for an unknown shell.`,
		Example:   "  source <(tollbook completion bash)\n  tollbook completion zsh > \"${fpath[1]}/_tollbook\"",
		Args:      arguments("SHELL"),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
	}
	plain := cmd.Flags().Bool("no-descriptions", false, "leave out the descriptions of commands and flags")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return writeCompletion(cmd.OutOrStdout(), cmd.Root(), args[0], !*plain)
	}
	return cmd
}
