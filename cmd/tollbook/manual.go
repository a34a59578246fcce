package main

import (
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/terminal"
	"tollbook/cmd/tollbook/version"
)

// newManualCommand returns the command that writes manual pages, for packagers.
func newManualCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write manual pages of all commands",
		Long: `Man writes tollbook.1 and a page for each further command into FOLDER, in the format of man(7). The
pages contain what --help prints. If SOURCE_DATE_EPOCH (seconds since 1970) is set, the pages have that date;
otherwise they have none.

EXIT STATUS

0 if the pages are written, 1 if not.`,
		Example: "  tollbook man man1 && man -l man1/tollbook-serve.1",
		Args:    arguments("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			date := ""
			if s := os.Getenv("SOURCE_DATE_EPOCH"); s != "" {
				seconds, err := strconv.ParseInt(s, 10, 64)
				if err != nil {
					return terminal.UsageErrorf("SOURCE_DATE_EPOCH %q: give a number of seconds", s)
				}
				date = time.Unix(seconds, 0).UTC().Format(time.DateOnly)
			}
			return terminal.WriteManual(cmd.Root(), args[0], date, version.Version())
		},
	}
	return cmd
}
