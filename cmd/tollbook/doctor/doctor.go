// Package doctor checks every component that a directory is configured to use, all at once, and says what to do about
// what is wrong. It changes nothing, and prints no secret. It must never know a flag or a configuration file.
package doctor

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"time"
)

// Options are the components to check.
type Options struct {
	Data          string                 // folder of the private Postgres
	Public        string                 // folder that snapshots are published to
	DatabaseURL   string                 // "" for the private Postgres
	To            string                 // place of publication; "" for none
	BaseURL       string                 // address for readers; "" for none
	Key           ed25519.PrivateKey     // signs checkpoints; nil for none
	RPC           map[string][]string    // addresses of nodes by network
	Configuration func() (string, error) // where the configuration is, or what is wrong with it
	Getenv        func(string) string
	Logger        *slog.Logger
}

// States of a finding.
const (
	Good    = "ok"
	Warning = "warning" // worth a look; nothing is wrong yet
	Wrong   = "wrong"
	None    = "none" // not configured
)

// Finding is the result of one check, and what to do about it.
type Finding struct {
	Check string `json:"check"`
	State string `json:"state"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"`
}

func good(format string, args ...any) Finding {
	return Finding{State: Good, Found: fmt.Sprintf(format, args...)}
}

func none(format string, args ...any) Finding {
	return Finding{State: None, Found: fmt.Sprintf(format, args...)}
}

func wrong(do, format string, args ...any) Finding {
	return Finding{State: Wrong, Found: fmt.Sprintf(format, args...), Do: do}
}

func warning(do, format string, args ...any) Finding {
	return Finding{State: Warning, Found: fmt.Sprintf(format, args...), Do: do}
}

// Check examines one component. One that does not return in time is abandoned.
type Check struct {
	Name string
	run  func(ctx context.Context) []Finding
}

// Examine runs all checks at once, each with a time limit, and returns their findings in order.
func Examine(ctx context.Context, checks []Check, timeout time.Duration, progress func(done, total int)) []Finding {
	type result struct {
		at    int
		found []Finding
	}
	results := make(chan result, len(checks))
	for i, c := range checks {
		go func() {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			looked := make(chan []Finding, 1)
			go func() { looked <- c.run(ctx) }()
			var found []Finding
			select {
			case found = <-looked:
			case <-ctx.Done():
				select { // what it says itself, if it notices the end as we do
				case found = <-looked:
				case <-time.After(timeout / 10):
					found = []Finding{wrong("look whether it answers at all, or give it more time: --timeout",
						"no answer within %s", timeout)}
				}
			}
			for j := range found {
				if found[j].Check == "" {
					found[j].Check = c.Name
				}
			}
			results <- result{i, found}
		}()
	}
	list := make([][]Finding, len(checks))
	for done := range checks {
		r := <-results
		list[r.at] = r.found
		progress(done+1, len(checks))
	}
	var all []Finding
	for _, found := range list {
		all = append(all, found...)
	}
	return all
}
