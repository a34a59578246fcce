// Package operator recomputes which services are linked to one operator, from their addresses, hosts and proofs alone.
package operator

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Service is what a service publishes about itself.
type Service struct {
	Name, Slug, BaseURL string
	Proved              bool                // its owner proved to control the host
	Free                bool                // its host is a free one
	Accounts            map[string][]string // addresses by network, one for all EVM networks
}

// largest is how many services a link names, and how many links a service has; most is how many a directory lists.
const (
	largest = 100
	most    = 1000
)

// Links returns the links of a directory and those of each service, by slug.
func Links(services []Service) (all []any, of map[string][]any) {
	slugs := map[[3]string]map[string]string{} // names by slug
	note := func(s Service, by, networks, value string) {
		key := [3]string{by, networks, value}
		if slugs[key] == nil {
			slugs[key] = map[string]string{}
		}
		slugs[key][s.Slug] = s.Name
	}
	for _, s := range services {
		for network, addresses := range s.Accounts {
			for _, a := range addresses {
				note(s, "recipient", network, a)
			}
		}
		u, err := url.Parse(s.BaseURL)
		if err != nil {
			continue
		}
		if s.Proved {
			note(s, "owner", "", strings.ToLower(u.Host))
		}
		name := strings.ToLower(u.Hostname())
		suffix, official := publicsuffix.PublicSuffix(name)
		isListed := official || strings.Contains(suffix, ".")
		if domain, err := publicsuffix.EffectiveTLDPlusOne(name); err == nil && isListed && !s.Free {
			note(s, "domain", "", domain)
		}
	}
	keys := slices.SortedFunc(maps.Keys(slugs), func(a, b [3]string) int {
		return cmp.Or(len(slugs[b])-len(slugs[a]), cmp.Compare(fmt.Sprintf("%q", a), fmt.Sprintf("%q", b)))
	})
	all, of = []any{}, map[string][]any{}
	for _, key := range keys {
		if len(slugs[key]) == 1 {
			continue
		}
		link := newLink(key, slugs[key])
		all = append(all, link)
		for slug := range slugs[key] {
			if len(of[slug]) < largest {
				of[slug] = append(of[slug], link)
			}
		}
	}
	return all, of
}

// First returns the links that a directory lists.
func First(all []any) []any { return all[:min(len(all), most)] }

func newLink(key [3]string, names map[string]string) map[string]any {
	link := map[string]any{"by": key[0], "networks": nil, "value": key[2], "service_count": len(names)}
	if key[1] != "" {
		link["networks"] = key[1]
	}
	list := []any{}
	for _, slug := range slices.Sorted(maps.Keys(names))[:min(len(names), largest)] {
		list = append(list, map[string]any{"name": names[slug], "slug": slug})
	}
	link["services"] = list
	return link
}
