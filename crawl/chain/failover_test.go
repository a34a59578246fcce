package chain

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWhoFailedLeastIsAskedFirst: failures count against an address, half of them less with each answer.
func TestWhoFailedLeastIsAskedFirst(t *testing.T) {
	t.Parallel()
	var asked, outcomes string // by the request, of all addresses
	start := func(name string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "eth_chainId") {
				fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":"0x1"}`)
				return
			}
			asked += name
			fails := strings.HasPrefix(outcomes, "x")
			if outcomes = outcomes[min(1, len(outcomes)):]; fails {
				http.Error(w, "no", http.StatusInternalServerError)
				return
			}
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":"0x7"}`)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c, err := newClient(Network{ID: "eip155:1", RPC: []string{start("a"), start("b")}}, Options{Now: func() time.Time {
		now = now.Add(time.Hour) // nobody is left alone for so long
		return now
	}}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct{ outcomes, want string }{
		{"xxx.", "abab"}, // a has failed twice, b once, and answered since
		{"x.", "bb"},
		{"xx.", "bba"},
		{".", "a"},
		{"x.", "aa"},
		{"xxxxxxxx", "aaababab"}, // as often as there are tries
	} {
		asked, outcomes = "", tt.outcomes
		err := c.ask(t.Context(), question{calls: []call{{method: "eth_blockNumber", params: "[]"}}, read: func(int, []call) error { return nil }})
		if diff := cmp.Diff(tt.want, asked); diff != "" || (err == nil) != strings.HasSuffix(tt.outcomes, ".") {
			t.Errorf("question %d: %v (-want +got):\n%s", i+1, err, diff)
		}
	}
}
