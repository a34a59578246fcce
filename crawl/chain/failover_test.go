package chain

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFewestFailuresFirst checks that failures count against a node, and that each answer halves them.
func TestFewestFailuresFirst(t *testing.T) {
	t.Parallel()
	var requests, outcomes string // by the request, of all addresses
	start := func(name string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "eth_chainId") {
				fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":"0x1"}`)
				return
			}
			requests += name
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
	c, err := NewClient(Network{ID: "eip155:1", RPC: []string{start("a"), start("b")}}, identity(),
		Options{Now: func() time.Time {
			now = now.Add(time.Hour) // no pause is that long
			return now
		}}.WithDefaults())
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
		requests, outcomes = "", tt.outcomes
		err := c.Ask(t.Context(), Question{Calls: []Call{{Method: "eth_blockNumber", Params: "[]"}},
			Read: func(int, []Call) error { return nil }})
		if diff := cmp.Diff(tt.want, requests); diff != "" || (err == nil) != strings.HasSuffix(tt.outcomes, ".") {
			t.Errorf("question %d: %v (-want +got):\n%s", i+1, err, diff)
		}
	}
}

// TestContradictionIsBlamed checks which node is blamed when an answer contradicts another node's: the answering node
// if a third node's answer fits, the other node if two contradict it, and none of two.
func TestContradictionIsBlamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answers string // of the nodes; the last one is the question's source
		fails   []int
		fits    bool
	}{
		{"x..", []int{1, 0, 0}, true},
		{"xx.", []int{0, 0, 1}, false}, // its own word is no evidence
		{"xxx", []int{0, 0, 1}, false},
		{"x.", []int{0, 0}, true},
	} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var addresses []string
		for _, answer := range tt.answers {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				result := "0x1"
				if body, _ := io.ReadAll(r.Body); answer == 'x' && !strings.Contains(string(body), "eth_chainId") {
					result = "0x2"
				}
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%q}`, result)
			}))
			defer s.Close()
			addresses = append(addresses, s.URL)
		}
		c, err := NewClient(Network{ID: "eip155:1", RPC: addresses}, identity(),
			Options{Now: func() time.Time { return now }}.WithDefaults())
		if err != nil {
			t.Fatal(err)
		}
		err = c.Ask(t.Context(), Question{Calls: []Call{{Method: "eth_blockNumber", Params: "[]"}}, Source: c.nodes[len(c.nodes)-1],
			Read: func(_ int, calls []Call) error {
				if s := (NewScanner(calls[0].Result)); s.Quantity() != 1 {
					return errors.New("it does not fit")
				}
				return nil
			}})
		fails := make([]int, len(c.nodes))
		for i, n := range c.nodes {
			fails[i] = n.fails
		}
		if diff := cmp.Diff(tt.fails, fails); diff != "" || (err == nil) != tt.fits {
			t.Errorf("%s: %v (-want +got):\n%s", tt.answers, err, diff)
		}
	}
}
