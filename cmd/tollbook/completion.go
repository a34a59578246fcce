// This file says what a shell offers when somebody presses Tab, beyond the names of commands and flags. It reads the
// published folder, or for at most a second the directory that a user named: it must never wait for a database, a
// bucket or a chain.

package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/directory"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/x402"
)

// flagValues are the values of flags, by the command's path and the flag's name.
var flagValues = map[string][]string{
	"tollbook build --expand":    {"all", "none"},
	"tollbook publish --expand":  {"auto", "all", "contract", "none"},
	"tollbook rollback --expand": {"auto", "all", "contract", "none"},
	"tollbook submissions list --state": {
		site.SubmissionPending, site.SubmissionApproved, site.SubmissionRejected, "all",
	},
	"tollbook suggestions list --state": {site.SuggestionOpen, site.SuggestionClosed, "all"},
}

// argumentValues return the values of a command's argument.
var argumentValues = map[string]func(cmd *cobra.Command) []string{
	"tollbook crawl":           slugs,
	"tollbook rollback":        snapshots,
	"tollbook services edit":   slugs,
	"tollbook services hide":   slugs,
	"tollbook services pause":  slugs,
	"tollbook services remove": slugs,
	"tollbook services resume": slugs,
	"tollbook services retire": slugs,
	"tollbook services verify": slugs,
	"tollbook services show":   slugs,
	"tollbook show":            slugs,
}

// registerCompletions adds completions to cmd and all commands below it. configure gives the flags of a command their
// values from variables and the configuration file, because a command does not run while it is completed.
func registerCompletions(cmd *cobra.Command, configure func(*cobra.Command) error) {
	path := cmd.CommandPath()
	if values := argumentValues[path]; values != nil {
		cmd.ValidArgsFunction = func(
			cmd *cobra.Command, args []string, _ string,
		) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			_ = configure(cmd) // without the settings, the values of the default folder are offered
			return values(cmd), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for _, name := range []string{"expand", "state"} {
		if values := flagValues[path+" --"+name]; values != nil {
			registerValues(cmd, name, values)
		}
	}
	isReader := cmd.Flags().Lookup("directory") != nil
	if cmd.Flags().Lookup("network") != nil && !isReader {
		registerValues(cmd, "network", networkNames())
	}
	for name, values := range directoryValues {
		if cmd.Flags().Lookup(name) != nil && isReader {
			_ = cmd.RegisterFlagCompletionFunc(name, func(
				cmd *cobra.Command, _ []string, _ string,
			) ([]string, cobra.ShellCompDirective) {
				_ = configure(cmd)
				return values(cmd), cobra.ShellCompDirectiveNoFileComp
			})
		}
	}
	if cmd.Flags().Lookup("data") != nil {
		_ = cmd.MarkFlagDirname("data")
	}
	for _, sub := range cmd.Commands() {
		registerCompletions(sub, configure)
	}
}

func registerValues(cmd *cobra.Command, flag string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// networkNames returns a name of each network without a colon, because bash splits words at colons.
func networkNames() []string {
	var list []string
	for _, n := range x402.Networks() {
		if i := slices.IndexFunc(n.Aliases, func(s string) bool { return !strings.Contains(s, ":") }); i >= 0 {
			list = append(list, n.Aliases[i]+"\t"+n.ID)
		}
	}
	return list
}

// publicFolder returns the folder that the command's --data publishes to.
func publicFolder(cmd *cobra.Command) string {
	data, err := cmd.Flags().GetString("data")
	if err != nil {
		return ""
	}
	return filepath.Join(data, "public")
}

// wait is how long a directory may take to answer.
const wait = time.Second

// readCompletion returns what do reads from the directory of the command: the one of its flag --directory, if it has
// that and --data is not on the command line, else the one in the folder. It returns nothing if that fails, because a
// shell would show an error in the middle of a command line.
func readCompletion[T any](cmd *cobra.Command, do func(context.Context, *directory.Reader) ([]T, error)) []T {
	url := ""
	if f := cmd.Flags().Lookup("directory"); f != nil && !cmd.Flags().Changed("data") {
		url = f.Value.String()
	}
	r, err := directory.Open(directory.Options{URL: url, Public: publicFolder(cmd)})
	if err != nil {
		return nil
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), wait)
	defer cancel()
	list, err := do(ctx, r)
	if err != nil {
		return nil
	}
	return list
}

// isSafe reports whether a shell inserts a value as it is. A directory may send any text.
func isSafe(value string) bool {
	return value != "" && strings.IndexFunc(value, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ._-", r)
	}) < 0
}

// slugs returns the services of the directory.
func slugs(cmd *cobra.Command) []string {
	return readCompletion(cmd, func(ctx context.Context, r *directory.Reader) ([]string, error) { return r.Slugs(ctx) })
}

// directoryValues return the values of flags from the directory, by the flag's name.
var directoryValues = map[string]func(cmd *cobra.Command) []string{
	"category": func(cmd *cobra.Command) []string {
		list := readCompletion(cmd, func(ctx context.Context, r *directory.Reader) ([]string, error) { return r.Categories(ctx) })
		return slices.DeleteFunc(list, func(s string) bool { return !isSafe(s) })
	},
	"network": func(cmd *cobra.Command) (names []string) {
		for _, n := range readCompletion(cmd, func(ctx context.Context, r *directory.Reader) ([]site.Network, error) {
			return r.Networks(ctx)
		}) {
			if isSafe(n.Abbreviation) { // bash splits a CAIP-2 id at its colon
				names = append(names, n.Abbreviation+"\t"+display.Name(n.Name))
			}
		}
		return names
	},
}

// snapshots returns the ids of the snapshots in the folder, the newest first.
func snapshots(cmd *cobra.Command) []string {
	zips, err := filepath.Glob(filepath.Join(publicFolder(cmd), "snapshots", "*.zip"))
	if err != nil {
		return nil
	}
	var list []string
	for _, name := range zips {
		id := strings.TrimSuffix(filepath.Base(name), ".zip")
		if _, ok := archive.ParseSnapshotID(id); ok {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// writeCompletion writes the script that makes a shell complete the commands of root, with or without their
// descriptions.
func writeCompletion(w io.Writer, root *cobra.Command, shell string, descriptions bool) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, descriptions)
	case "zsh":
		if !descriptions {
			return root.GenZshCompletionNoDesc(w)
		}
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, descriptions)
	case "powershell":
		if !descriptions {
			return root.GenPowerShellCompletion(w)
		}
		return root.GenPowerShellCompletionWithDesc(w)
	}
	return terminal.UsageErrorf("unknown shell %q: choose bash, zsh, fish or powershell", shell)
}
