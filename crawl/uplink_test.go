package crawl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestIsOwnFault reads the last outcomes of domains: + reached, - failed.
func TestIsOwnFault(t *testing.T) {
	t.Parallel()
	for outcomes, want := range map[string]bool{
		"":              false,
		"--":            false, // two may fail by chance
		"---":           true,  // three do not
		"++++++++++---": true,  // what was reached before them does not matter
		"--+":           false, // another one is reached
		"---+":          false, // and is more than a fifth
		"----+":         true,  // a fifth: it may have been reached before the network failed
		"----++":        false,
		strings.Repeat("+", 230) + strings.Repeat("-", 12):    true, // one of twenty domains
		strings.Repeat("+", 230) + strings.Repeat("-", 10):    false,
		strings.Repeat("+", 90_000) + strings.Repeat("-", 20): true, // twenty are enough
		strings.Repeat("+", 90_000) + strings.Repeat("-", 19): false,
	} {
		var list []outcome
		for _, c := range outcomes {
			list = append(list, outcome{reached: c == '+'})
		}
		if got := isOwnFault(list); got != want {
			t.Errorf("%.60q of %d domains: %t, want %t", outcomes, len(outcomes), got, want)
		}
	}
}

// TestOwnNetworkFails checks that nobody is charged while this machine reaches no host, that a round says so and stops,
// and that a service which fails alone is charged. With control hosts one service is enough to tell.
func TestOwnNetworkFails(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	for _, test := range []struct {
		name     string
		services int
		control  []string
		charged  bool // without a network
	}{
		{"share of hosts", 5, nil, false},
		{"two services say nothing", 2, nil, true},
		{"control", 1, []string{"control.test:443"}, false},
		{"control is reached", 4, []string{listener.Addr().String()}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w, o := newTown(t, "com")
			var cut, alone atomic.Bool
			dial := o.Routes[0].Dial
			o.Routes[0].Dial = func(ctx context.Context, network, address string) (net.Conn, bool, error) {
				if cut.Load() || alone.Load() && strings.HasPrefix(address, "api.s0.com:") {
					return nil, true, &net.DNSError{Err: "network is unreachable", Name: address, IsTemporary: true}
				}
				return dial(ctx, network, address)
			}
			m := open(t)
			for i := range test.services {
				name := fmt.Sprintf("s%d", i)
				w.hosts["api."+name+".com"] = func(rw http.ResponseWriter, _ *http.Request) {
					rw.Header().Set("Connection", "close") // each visit opens one
					pay(rw, challenge)
				}
				m.list(t, oneEndpoint(name, "http://api."+name+".com", "/x"))
			}
			now := &clock{now: dawn}
			c := crawler(t, m, Options{Now: now.Now, Control: test.control}, o)
			c.uplink.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if cut.Load() && address == "control.test:443" {
					return nil, errors.New("no route to host")
				}
				return net.Dial(network, listener.Addr().String())
			}
			round := func(want error) map[string]int {
				t.Helper()
				report, err := c.Round(t.Context())
				if !errors.Is(err, want) {
					t.Errorf("the round ends with %v, want %v", err, want)
				}
				return map[string]int{site.StatusOnline: report.Online, site.StatusOffline: report.Offline}
			}
			results := []map[string]int{round(nil)}
			now.set(dawn.Add(time.Hour))
			cut.Store(true)
			if test.charged {
				results = append(results, round(nil))
			} else {
				results = append(results, round(ErrUplink))
			}
			cut.Store(false)
			now.set(dawn.Add(3 * time.Hour))
			results = append(results, round(nil))
			alone.Store(true)
			now.set(dawn.Add(5 * time.Hour))
			results = append(results, round(nil))

			all, none := map[string]int{site.StatusOnline: test.services, site.StatusOffline: 0},
				map[string]int{site.StatusOnline: 0, site.StatusOffline: 0}
			if test.charged {
				none[site.StatusOffline] = test.services
			}
			want := []map[string]int{all, none, all, {site.StatusOnline: test.services - 1, site.StatusOffline: 1}}
			if diff := cmp.Diff(want, results); diff != "" {
				t.Errorf("with, without and with the network, and with one service that fails (-want +got):\n%s", diff)
			}
		})
	}
}
