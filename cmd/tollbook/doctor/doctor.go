// Package doctor checks every component that a directory is configured to use, all at once, and suggests fixes. It
// changes nothing and prints no secret. It must never know a flag or a configuration file.
package doctor

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"time"

	"tollbook/output"
	"tollbook/site/webbotauth"
)

// Options are the components to check.
type Options struct {
	Data          string              // folder of the private Postgres
	Public        string              // folder that snapshots are published to
	DatabaseURL   string              // "" for the private Postgres
	To            string              // place of publication; "" for none
	Retention     output.Retention    // of Public
	BaseURL       string              // URL for readers; "" for none
	Key           ed25519.PrivateKey  // signs checkpoints; nil for none
	Signer        *webbotauth.Signer  // of the crawler's requests; nil for none
	SignerErr     error               // why requests can't be signed; nil if they can, or need not
	RPC           map[string][]string // URLs of nodes by network
	Contact       string              // the setting crawl.contact
	HasContact    bool                // whether it names whom the owners of services can ask about visits
	Configuration string              // name of the configuration file, or that there is none
	Getenv        func(string) string
	Logger        *slog.Logger
}

// States of a finding.
const (
	Good    = "ok"
	Warning = "warning" // a fault may follow
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

// Check checks one component. Examine does not wait for a check that exceeds its time limit.
type Check struct {
	Name string
	run  func(ctx context.Context) []Finding
}

// Examine runs all checks at once, each with a time limit, and returns their findings in order.
func Examine(ctx context.Context, checks []Check, timeout time.Duration, progress func(done, total int)) []Finding {
	type result struct {
		index    int
		findings []Finding
	}
	results := make(chan result, len(checks))
	for i, c := range checks {
		go func() {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			returned := make(chan []Finding, 1)
			go func() { returned <- c.run(ctx) }()
			var findings []Finding
			select {
			case findings = <-returned:
			case <-ctx.Done():
				select { // a check that notices the end returns a better message
				case findings = <-returned:
				case <-time.After(timeout / 10):
					findings = []Finding{wrong("check that it answers at all, or raise --timeout",
						"no answer within %s", timeout)}
				}
			}
			for j := range findings {
				if findings[j].Check == "" {
					findings[j].Check = c.Name
				}
			}
			results <- result{i, findings}
		}()
	}
	list := make([][]Finding, len(checks))
	for done := range checks {
		r := <-results
		list[r.index] = r.findings
		progress(done+1, len(checks))
	}
	var all []Finding
	for _, findings := range list {
		all = append(all, findings...)
	}
	return all
}
