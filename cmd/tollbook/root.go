package main

import (
	"errors"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// errUsage marks an error of the command line itself: exit status 2.
var errUsage = errors.New("usage")

func exitStatus(err error) int {
	if errors.Is(err, errUsage) {
		return 2
	}
	return 1
}

func newRootCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tollbook",
		Short: "A directory of network services that charge per request over HTTP 402",
		Long: `Tollbook finds services that charge per request over HTTP 402 (the x402 protocol), visits them on a schedule, and
publishes what it measures as a tree of finished files: every response of its /v1 API and every page.

Try "tollbook demo": everything offline, with sample services.

EXIT STATUS

0 when all went well, 1 when something failed, 2 for a command line that cannot be understood.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return errors.Join(errUsage, err) })
	cmd.AddCommand(newDemoCommand(), newServicesCommand(), newCrawlCommand(), newBuildCommand(), newServeCommand())
	return cmd
}

// version is the module's, as the Go command recorded it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
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
