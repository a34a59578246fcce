package probe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIgnoredProxies(t *testing.T) {
	t.Parallel()
	env := map[string]string{"https_proxy": "http://proxy.test:3128", "ALL_PROXY": "socks5://proxy.test", "NO_PROXY": "*",
		"HTTP_PROXY": ""}
	if diff := cmp.Diff([]string{"https_proxy", "ALL_PROXY"}, IgnoredProxies(func(name string) string {
		return env[name]
	})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
