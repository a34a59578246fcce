package main

import (
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/manual"
)

// newManualCommand writes manual pages, for those who package Tollbook.
func newManualCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write a manual page of every command",
		Hidden: true,
		Long: `Man writes tollbook.1 and a page of each further command into FOLDER, in the format of man(7). They say what --help says.
With SOURCE_DATE_EPOCH, seconds since 1970, pages carry that day; without, none. A packager calls it once, a reader types
"man -l FOLDER/tollbook-serve.1".

EXIT STATUS

0 when the pages are written, 1 when not.`,
		Args: arguments("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			date := ""
			if s := os.Getenv("SOURCE_DATE_EPOCH"); s != "" {
				seconds, err := strconv.ParseInt(s, 10, 64)
				if err != nil {
					return usagef("SOURCE_DATE_EPOCH %q: it is a number of seconds", s)
				}
				date = time.Unix(seconds, 0).UTC().Format(time.DateOnly)
			}
			return manual.Write(cmd.Root(), args[0], date, version())
		},
	}
	return cmd
}
