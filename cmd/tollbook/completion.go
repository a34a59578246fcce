package main

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/x402"
)

// What shells are told beyond the names of commands and flags. Whoever presses Tab waits: nothing here asks a database,
// a bucket or a chain.

// completedValues are what a flag takes, by the command's path and the flag's name.
var completedValues = map[string][]string{
	"tollbook build --expand":           {"all", "none"},
	"tollbook publish --expand":         {"all", "contract", "none"},
	"tollbook rollback --expand":        {"all", "contract", "none"},
	"tollbook submissions list --state": {site.SubmissionPending, site.SubmissionApproved, site.SubmissionRejected, "all"},
}

// completedArguments are what a command's argument may be.
var completedArguments = map[string]func(cmd *cobra.Command) []string{
	"tollbook rollback":        publishedSnapshots,
	"tollbook services remove": publishedSlugs,
	"tollbook services verify": publishedSlugs,
	"tollbook services show":   publishedSlugs,
}

// complete tells all below cmd what completes them.
func complete(cmd *cobra.Command) {
	path := cmd.CommandPath()
	if list := completedArguments[path]; list != nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return list(cmd), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for _, name := range []string{"expand", "state"} {
		if values := completedValues[path+" --"+name]; values != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	if cmd.Flags().Lookup("network") != nil {
		_ = cmd.RegisterFlagCompletionFunc("network", cobra.FixedCompletions(networkNames(), cobra.ShellCompDirectiveNoFileComp))
	}
	if cmd.Flags().Lookup("data") != nil {
		_ = cmd.MarkFlagDirname("data")
	}
	for _, sub := range cmd.Commands() {
		complete(sub)
	}
}

// networkNames are the networks that are known, by a name without a colon, at which bash would cut it.
func networkNames() []string {
	var list []string
	for _, n := range x402.Networks() {
		if i := slices.IndexFunc(n.Aliases, func(s string) bool { return !strings.Contains(s, ":") }); i >= 0 {
			list = append(list, n.Aliases[i]+"\t"+n.ID)
		}
	}
	return list
}

// publishedIn is the folder that a command's --data publishes to.
func publishedIn(cmd *cobra.Command) string {
	data, err := cmd.Flags().GetString("data")
	if err != nil {
		return ""
	}
	o := dataOptions{Data: data}
	return o.public()
}

// publishedSlugs are the services of the current snapshot.
func publishedSlugs(cmd *cobra.Command) []string {
	source, err := output.OpenSource(publishedIn(cmd), slog.New(slog.DiscardHandler))
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

// publishedSnapshots are the snapshots that the folder keeps, the newest first.
func publishedSnapshots(cmd *cobra.Command) []string {
	zips, err := filepath.Glob(filepath.Join(publishedIn(cmd), "snapshots", "*.zip"))
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
