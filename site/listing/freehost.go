package listing

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed free-hosts.txt
var freeHostList []byte

// shippedFreeHosts returns the domains of free-hosts.txt.
var shippedFreeHosts = sync.OnceValue(func() FreeHosts {
	var f FreeHosts
	f, err := f.With(freeHostList)
	if err != nil {
		panic("free-hosts.txt: " + err.Error()) // a test parses the file
	}
	return f
})

// FreeHosts is a set of domains of free-hosting and development-tunnel services. It always includes the shipped list;
// the zero value contains nothing else. A FreeHosts value does not change.
type FreeHosts struct {
	added map[string]bool
}

// freeHostLine is the maximum length of a line in bytes: a domain has at most 253 characters, a comment may be longer.
const freeHostLine = 1000

// With returns f with the domains of a list added: one domain per line, # starts a comment. An error names the invalid
// line.
func (f FreeHosts) With(list []byte) (FreeHosts, error) {
	with := FreeHosts{added: make(map[string]bool, len(f.added))}
	for domain := range f.added {
		with.added[domain] = true
	}
	n := 0
	for line := range strings.Lines(string(list)) {
		n++
		if len(line) > freeHostLine {
			return f, fmt.Errorf("line %d: has %d bytes; at most %d are allowed", n, len(line), freeHostLine)
		}
		domain, _, _ := strings.Cut(line, "#")
		if domain = strings.ToLower(strings.TrimSpace(domain)); domain == "" {
			continue
		}
		if !isDomain(domain) {
			return f, fmt.Errorf("line %d: %q is not a domain name such as example.app", n, domain)
		}
		with.added[domain] = true
	}
	return with, nil
}

// Has reports whether a host is one of the domains or a subdomain of one.
func (f FreeHosts) Has(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for host != "" {
		if f.added[host] || shippedFreeHosts().added[host] {
			return true
		}
		_, host, _ = strings.Cut(host, ".")
	}
	return false
}

// List returns the domains, sorted.
func (f FreeHosts) List() []string {
	all := maps.Clone(shippedFreeHosts().added)
	maps.Copy(all, f.added)
	return slices.Sorted(maps.Keys(all))
}

// isDomain reports whether s is a domain name of at least two labels in lower-case ASCII (xn--… for other letters), and
// not an IP address.
func isDomain(s string) bool {
	labels := strings.Split(s, ".")
	last := labels[len(labels)-1]
	if len(s) > 253 || len(labels) < 2 || strings.Trim(last, "0123456789") == "" {
		return false
	}
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' ||
			strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return true
}
