package main

import (
	"fmt"
	"strings"

	"tollbook/cmd/tollbook/directory"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/site"
	"tollbook/site/display"
)

// suggestedName is the maximum number of names in a hint.
const suggestedName = 3

// suggest returns the end of an error about an unknown name: the names that contain it, else the one that is the fewest
// edits away, else what to do instead.
func suggest(name string, names []string, otherwise string) string {
	lower := strings.ToLower(name)
	var list []string
	for _, n := range names {
		if lower != "" && strings.Contains(strings.ToLower(n), lower) && len(list) < suggestedName {
			list = append(list, fmt.Sprintf("%q", own(n)))
		}
	}
	if len(list) > 0 {
		return "; did you mean " + strings.Join(list, " or ") + "?"
	}
	if s := display.Hint(lower, names); s != "" {
		return s
	}
	return "; " + otherwise
}

// noNetwork returns the error for a name that means no network of the directory. elsewhere is the network that the
// name means in other directories; zero for none.
func noNetwork(name string, elsewhere site.Network, list []site.Network) error {
	var names, common []string
	for i := range list {
		names = append(names, directory.NetworkValue(list[i]))
		common = append(common, strings.ToLower(list[i].Name))
	}
	has := "the directory has " + own(strings.Join(names, " "))
	if elsewhere.CAIP2 != "" {
		return terminal.UsageErrorf("--network %q: no listed service accepts payment on %s; %s", own(name), elsewhere.Name, has)
	}
	return terminal.UsageErrorf("--network %q: there is no such network%s", own(name),
		suggest(name, append(common, names...), has))
}
