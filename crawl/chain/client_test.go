package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// identity returns the call for a chain's id of EVM nodes.
func identity() Identity {
	return Identity{Call: Call{Method: "eth_chainId", Params: "[]"}, Network: func(result []byte) (string, error) {
		s := NewScanner(result)
		return fmt.Sprintf("eip155:%d", s.Quantity()), s.Err
	}}
}

// askOnce asks one question: for the chain's id.
func askOnce(ctx context.Context, o Options, addresses ...string) error {
	c, err := NewClient(Network{ID: "eip155:1", RPC: addresses}, identity(), o.WithDefaults())
	if err != nil {
		return err
	}
	return c.Ask(ctx, Question{Calls: []Call{{Method: "eth_blockNumber", Params: "[]"}},
		Read: func(_ int, calls []Call) error {
			s := NewScanner(calls[0].Result)
			s.Quantity()
			return s.End()
		}})
}

// TestKeysStaySecret checks that a key in the path, query or user of a URL is in no error and no log, and is not sent
// to the target of a redirect.
func TestKeysStaySecret(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		t.Error("a redirect was followed")
	}))
	defer elsewhere.Close()
	for name, h := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter,
			_ *http.Request) {
			http.Error(w, "no", http.StatusInternalServerError)
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		},
		"a broken one": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"another chain": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x2"}`)
		},
	} {
		s := httptest.NewServer(h)
		var log bytes.Buffer
		o := Options{Backoff: time.Microsecond,
			Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
		address := strings.Replace(s.URL, "http://", "http://user:hunter2@", 1) + "/v2/hunter2?key=hunter2"
		err := askOnce(t.Context(), o, address)
		s.Close()
		gone := askOnce(t.Context(), o, address) // the server is closed
		if err == nil || gone == nil {
			t.Fatalf("%s: no error", name)
		}
		if text := err.Error() + gone.Error() + log.String(); strings.Contains(text, "hunter2") {
			t.Errorf("%s: the key is revealed:\n%s", name, text)
		}
	}
	if _, err := NewClient(Network{ID: "eip155:1", RPC: []string{"ftp://hunter2"}}, identity(),
		Options{}.WithDefaults()); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a wrong address: %v", err)
	}
}

// TestRetryAfter checks that a node that asks to wait is not asked before, and that another node is asked meanwhile.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	requests := 0
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Retry-After", "120")
		http.Error(w, "slow down", http.StatusTooManyRequests)
	}))
	defer busy.Close()
	free := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x1"}`)
	}))
	defer free.Close()
	c, err := NewClient(Network{ID: "eip155:1", RPC: []string{busy.URL, free.URL}}, identity(),
		Options{Now: func() time.Time { return now }}.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	q := Question{Calls: []Call{{Method: "eth_blockNumber", Params: "[]"}},
		Read: func(int, []Call) error { return nil }}
	ask := func(want int) {
		t.Helper()
		if err := c.Ask(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if requests != want {
			t.Errorf("the busy node was asked %d times, want %d", requests, want)
		}
	}
	ask(1)
	now = now.Add(119 * time.Second)
	ask(1)
	c.nodes[1].fails = 9 // now the busy one would be the better
	now = now.Add(2 * time.Second)
	ask(2)

	alone, err := NewClient(Network{ID: "eip155:1", RPC: []string{busy.URL}}, identity(),
		Options{Now: func() time.Time { return now }}.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	var f *NodeFault
	if err := alone.Ask(t.Context(), q); !errors.As(err, &f) || f.Kind != KindRate || f.Wait != 2*time.Minute {
		t.Errorf("alone: got %v, want the fault of kind rate, to wait two minutes", err)
	}
}

// TestAtomicStaysWhole checks that the calls of an atomic question are never split, however often the node fails, and
// that independent calls are.
func TestAtomicStaysWhole(t *testing.T) {
	t.Parallel()
	for _, atomic := range []bool{true, false} {
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if requests++; requests == 2 || requests == 3 { // the first asks which chain it is
				fmt.Fprint(w, strings.Repeat("[", 100))
				return
			}
			var all []json.RawMessage
			if json.Unmarshal(body, &all) != nil {
				all = []json.RawMessage{body}
			}
			for i, call := range all {
				var c struct{ ID int64 }
				_ = json.Unmarshal(call, &c)
				all[i] = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":"0x1"}`, c.ID)
			}
			_ = json.NewEncoder(w).Encode(all)
		}))
		defer server.Close()
		c, err := NewClient(Network{ID: "eip155:1", RPC: []string{server.URL}}, identity(),
			Options{Logger: slog.New(slog.DiscardHandler)}.WithDefaults())
		if err != nil {
			t.Fatal(err)
		}
		var read []int
		err = c.Ask(t.Context(), Question{Calls: []Call{{Method: "eth_blockNumber", Params: "[]"},
			{Method: "eth_blockNumber", Params: "[]"}}, Atomic: atomic, Read: func(_ int, calls []Call) error {
			read = append(read, len(calls))
			return nil
		}})
		want := map[bool][]int{true: {2}, false: {1, 1}}[atomic]
		if diff := cmp.Diff(want, read); diff != "" || err != nil {
			t.Errorf("atomic %v: %v (-want +got):\n%s", atomic, err, diff)
		}
	}
}
