package main

import (
	"slices"
	"strings"
	"testing"

	"tollbook/site/x402"
)

// TestNetworkNames checks that networks are offered by names without a colon, because bash splits words at colons.
func TestNetworkNames(t *testing.T) {
	t.Parallel()
	list := networkNames()
	if !slices.Contains(list, "base\teip155:8453") {
		t.Errorf("base is not offered: %q", list)
	}
	for _, line := range list {
		name, id, _ := strings.Cut(line, "\t")
		if got, ok := x402.ResolveNetwork(name); !ok || got != id || strings.Contains(name, ":") {
			t.Errorf("%q is no name of %s without a colon", name, id)
		}
	}
}
