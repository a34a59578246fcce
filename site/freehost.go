package site

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed free-hosts.txt
var freeHostList string

// freeHosts are the domains of free-hosting and tunnel services, one a line of free-hosts.txt.
var freeHosts = sync.OnceValue(func() map[string]bool {
	domains := map[string]bool{}
	for line := range strings.Lines(freeHostList) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			domains[line] = true
		}
	}
	return domains
})

// IsFreeHost says whether a host is a free-hosting or development-tunnel domain, or a name under one.
func IsFreeHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for host != "" {
		if freeHosts()[host] {
			return true
		}
		_, host, _ = strings.Cut(host, ".")
	}
	return false
}
