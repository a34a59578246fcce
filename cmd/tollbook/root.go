package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// usageError is an error of the command line itself: exit status 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// usagef says what is wrong with the command line.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func exitStatus(err error) int {
	if errors.As(err, new(usageError)) || errors.Is(err, errUnread) {
		return 2
	}
	return 1
}

// explain is err in words for whoever typed the command. What fails because it was told to stop is no riddle of
// contexts.
func explain(ctx context.Context, err error) string {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return err.Error()
}

func newRootCommand() *cobra.Command {
	c := &config{} // filled before any command runs
	cmd := group(&cobra.Command{
		Use:   "tollbook",
		Short: "A directory of network services that charge per request over HTTP 402",
		Long: `Tollbook finds services that charge per request over HTTP 402 (the x402 protocol), visits them on a schedule, and
publishes what it measures as a tree of finished files: every response of its /v1 API and every page.

Try "tollbook demo": everything offline, with sample services.

What flags say can stand in a file too, ./tollbook.toml or that of --config (TOLLBOOK_CONFIG), and in variables: the key
per_day of its section [synthesis] is --synthesis-per-day and TOLLBOOK_SYNTHESIS_PER_DAY. A flag wins over a variable, a
variable over the file. Secrets are read from variables only.

EXIT STATUS

0 when all went well, 1 when something failed, 2 for a command line that cannot be understood.`,
		Version:           versionLine(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}, newDemoCommand(), newServicesCommand(), newSubmissionsCommand(), newFacilitatorsCommand(), newCrawlCommand(), newIndexCommand(c), newBuildCommand(), newPublishCommand(), newRollbackCommand(), newPruneCommand(), newVerifyCommand(), newKeyCommand(), newServeCommand(), newUpCommand(c), newWorkCommand(c), newMCPCommand(), newEdgeCommand(), newLintCommand(), newManualCommand(), newReadyCommand())
	cmd.PersistentFlags().String("config", "", "configuration `file`; ./tollbook.toml when it is there (TOLLBOOK_CONFIG)")
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.HasSubCommands() {
			return nil // it only explains itself
		}
		return c.configure(cmd, os.Getenv)
	}
	cmd.AddCommand(newDoctorCommand(c), newExportCommand(), newImportCommand())
	cmd.AddCommand(newConfigCommand(c, cmd))
	complete(cmd)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usagef("%w; see %s --help", err, cmd.CommandPath()) })
	return cmd
}

// group makes cmd a command that only holds others: by itself it explains itself, and a name that it does not know is
// an error.
func group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := "see " + cmd.CommandPath() + " --help"
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, " or ") + "?"
		}
		return usagef("unknown command %q for %s; %s", args[0], cmd.CommandPath(), hint)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(commands...)
	return cmd
}

// arguments takes exactly as many arguments as there are names: "FILE".
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("%s is missing; see %s --help", names[len(args)], cmd.CommandPath())
		case len(args) > len(names):
			return usagef("unexpected argument %q; see %s --help", args[len(names)], cmd.CommandPath())
		}
		return nil
	}
}

// userAgent names Tollbook to the services it visits.
func userAgent(contact string) string {
	return "Tollbook/" + version() + " (+" + contact + ")"
}

// isTerminal says whether people watch f; then progress is a bar, else it is log lines.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// newLogger writes to stderr: answers go to stdout, the rest here.
func newLogger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}
