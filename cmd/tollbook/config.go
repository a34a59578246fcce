package main

import (
	"os"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/settings"
)

// newConfigCommand has the flag of every setting, so that a command line can be tried.
func newConfigCommand(c *settings.Configuration) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print every setting, its value, and where the value comes from",
		Long: `Config prints each setting with the value that commands use, and its origin: the default, the file with
its line, the variable, or the flag. A flag on its own command line shows what that flag would do. Of secrets it
prints only whether they are set; of URLs that may contain one, only scheme and host. Like every command it refuses
an unknown key or TOLLBOOK_ variable, and suggests a similar one.

EXIT STATUS

0 if the settings are printed, 2 for a configuration that every command refuses.`,
		Example: "  tollbook config\n  tollbook config --json --serve-listen 127.0.0.1:8080",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			values, err := c.Values(cmd.Flags(), os.Getenv)
			if err != nil {
				return err
			}
			if asJSON {
				return report.JSONList(cmd.OutOrStdout(), values)
			}
			t := report.NewTable(cmd.OutOrStdout(), "KEY", "VALUE", "ORIGIN")
			for _, v := range values {
				t.Row(v.Key, v.Text(), v.Source())
			}
			return t.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	settings.AddAllFlags(cmd.Flags())
	return cmd
}
