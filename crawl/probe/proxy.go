package probe

import "strings"

// proxyVariables name a proxy for most programs, in capitals or lower case. curl, Go and Python read all but the last,
// which Go ignores.
var proxyVariables = []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"}

// IgnoredProxies returns the names of the environment's variables that name a proxy. No request to a service uses one:
// a proxy resolves the names of hosts by itself, so a Guard could not see which addresses are visited.
func IgnoredProxies(getenv func(string) string) (names []string) {
	for _, name := range proxyVariables {
		for _, name := range []string{name, strings.ToLower(name)} {
			if getenv(name) != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// ProxyAdvice says what to do where services can be reached through a proxy alone.
const ProxyAdvice = "run the crawl on a machine that reaches services directly, or route its traffic below HTTP (NAT, a VPN)"
