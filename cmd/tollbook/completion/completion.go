// Package completion says what a shell offers when somebody presses Tab, beyond the names of commands and flags. It
// reads the published folder alone: it must never wait for a database, a bucket or a chain.
package completion

import (
	"encoding/json"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/usage"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
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
}

// argumentValues return the values of a command's argument.
var argumentValues = map[string]func(cmd *cobra.Command) []string{
	"tollbook rollback":        snapshots,
	"tollbook services edit":   slugs,
	"tollbook services hide":   slugs,
	"tollbook services pause":  slugs,
	"tollbook services remove": slugs,
	"tollbook services resume": slugs,
	"tollbook services retire": slugs,
	"tollbook services verify": slugs,
	"tollbook services show":   slugs,
}

// Register adds completions to cmd and all commands below it. configure gives the flags of a command their values from
// variables and the configuration file, because a command does not run while it is completed.
func Register(cmd *cobra.Command, configure func(*cobra.Command) error) {
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
	if cmd.Flags().Lookup("network") != nil {
		registerValues(cmd, "network", networkNames())
	}
	if cmd.Flags().Lookup("data") != nil {
		_ = cmd.MarkFlagDirname("data")
	}
	for _, sub := range cmd.Commands() {
		Register(sub, configure)
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

// slugs returns the services of the current snapshot.
func slugs(cmd *cobra.Command) []string {
	source, err := output.OpenSource(publicFolder(cmd), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil
	}
	defer source.Close()
	snap, err := source.Current()
	if err != nil {
		return nil
	}
	defer snap.Release()
	data, err := snap.ReadFile(site.IndexFile)
	if err != nil {
		return nil
	}
	var index site.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return nil
	}
	return index.Slugs
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

// Write writes the script that makes a shell complete the commands of root, with or without their descriptions.
func Write(w io.Writer, root *cobra.Command, shell string, descriptions bool) error {
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
	return usage.Errorf("unknown shell %q: choose bash, zsh, fish or powershell", shell)
}
