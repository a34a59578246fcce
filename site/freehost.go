package site

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed free-hosts.txt
var freeHostList []byte

// shippedFreeHosts are the domains of free-hosts.txt.
var shippedFreeHosts = sync.OnceValue(func() FreeHosts {
	var f FreeHosts
	f, err := f.With(freeHostList)
	if err != nil {
		panic("free-hosts.txt: " + err.Error()) // a test reads it
	}
	return f
})

// FreeHosts are the domains of free-hosting and development-tunnel services that an operator adds to the shipped list,
// which counts always: the zero value is that alone. They are never changed, only replaced.
type FreeHosts struct {
	added map[string]bool
}

// freeHostLine bounds a line of a list: a domain has 253 characters at most, a comment may be longer.
const freeHostLine = 1000

// With adds the domains of a list: one a line, '#' begins a comment. An error names the line that is none.
func (f FreeHosts) With(list []byte) (FreeHosts, error) {
	with := FreeHosts{added: make(map[string]bool, len(f.added))}
	for domain := range f.added {
		with.added[domain] = true
	}
	n := 0
	for line := range strings.Lines(string(list)) {
		n++
		if len(line) > freeHostLine {
			return f, fmt.Errorf("line %d: it has %d characters, %d are allowed", n, len(line), freeHostLine)
		}
		domain, _, _ := strings.Cut(line, "#")
		if domain = strings.ToLower(strings.TrimSpace(domain)); domain == "" {
			continue
		}
		if !isDomain(domain) {
			return f, fmt.Errorf("line %d: %q is no domain such as example.app", n, domain)
		}
		with.added[domain] = true
	}
	return with, nil
}

// Has says whether a host is one of the domains, or a name under one.
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

// isDomain says whether s is a name of two labels or more, in lower case and ASCII (xn--… for the rest), and no
// address.
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
