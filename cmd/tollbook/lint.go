package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/lint"
	"tollbook/crawl/probe"
)

// errUnread is a lint that had nothing to judge: exit status 2, as a command line that cannot be understood.
var errUnread = errors.New("could not be read")

// lintOptions are the flags of lint.
type lintOptions struct {
	Method       string
	JSON         bool
	AllowPrivate []string
	Contact      string

	gap    time.Duration // between two requests
	routes []probe.Route // names that live in this process; for tests
	guard  probe.Guard   // its resolver and dialer; for tests
}

// AddFlags adds the flags of lint.
func (o *lintOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Method, "method", "", "ask with this `method` (GET, POST, PUT, PATCH, DELETE); otherwise GET is tried, then POST")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
	f.StringSliceVar(&o.AllowPrivate, "allow-private", nil, "`HOST[:PORT]` that may be asked although it is private, such as 127.0.0.1:8080")
	f.StringVar(&o.Contact, "contact", "https://tollbook.example/bot", "`address` that the user agent names for questions")
}

func (o *lintOptions) validate() error {
	switch strings.ToUpper(o.Method) {
	case "", "GET", "POST", "PUT", "PATCH", "DELETE":
		return nil
	}
	return usagef("--method %q: it is GET, POST, PUT, PATCH or DELETE", o.Method)
}

func newLintCommand() *cobra.Command {
	o := lintOptions{gap: time.Second}
	cmd := &cobra.Command{
		Use:   "lint URL",
		Short: "Read one address as the crawler would, and say how to mend what fails",
		Long: `Lint asks one address what it costs, without paying, exactly as a crawl would: by the same rules against hostile addresses,
with the same reader of 402 answers and the same 14 checks. It says what is asked for, what was found and expected for each
check that fails and how to mend it, then warnings, which no grade counts, and the leniencies that reading took: what a
strict client would have refused. It needs no database and keeps nothing.

An address that is paid by GET is asked with HEAD once more, since many sellers serve that unpaid by mistake. Prices are not
compared with an OpenAPI document here; a crawl does that.

An address that only a caller can fill, such as /users/{id}, is not asked: give a concrete one. So is none on a private
network, unless --allow-private names it.

With --json the report is one object: url, verdict, class, reason, method, status, final_url, redirects, grade, passed, total,
asks (a way to pay each), checks (all 14, with reason, expected and mend), warnings, defects and protocols. Fields are only
ever added. What is not known is null.

EXIT STATUS

0 when all 14 checks pass. 1 when one fails. 2 when there was nothing to check: no answer, an address that is not asked, an
answer that is no 402 (or 412) of the service's own; and for a command line that cannot be understood.

EXAMPLE

In a pipeline, against a server that was started there; a plain server fails transport_https, so that check is left out:

    tollbook lint --json --allow-private 127.0.0.1:8080 http://127.0.0.1:8080/quote |
        jq -e '.passed != null and [.checks[] | select(.pass | not) | .id] - ["transport_https"] == []'`,
		Args:    arguments("URL"),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLint(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// runLint prints a report on one address. Its error says why the exit status is not 0.
func runLint(ctx context.Context, o lintOptions, address string, stdout io.Writer) error {
	guard := &o.guard
	guard.AllowPrivate = o.AllowPrivate
	if err := guard.Validate(); err != nil {
		return usagef("%w", err)
	}
	p := probe.New(probe.Options{Guard: guard, Routes: o.routes, UserAgent: userAgent(o.Contact), Pace: o.pace})
	defer p.Close()
	found := p.Probe(ctx, probe.Target{URL: address, Method: o.Method})
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("lint %s: %w", address, err)
	}
	report := lint.New(address, found, o.headFree(ctx, p, found))
	if o.JSON {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(report); err != nil {
			return fmt.Errorf("print report: %w", err)
		}
	} else if _, err := io.WriteString(stdout, report.Text()); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	switch failed := len(report.Failed()); {
	case report.Passed == nil:
		return fmt.Errorf("%s %w: %s", address, errUnread, report.Reason)
	case failed > 0:
		return fmt.Errorf("%s fails %d of %d checks", address, failed, report.Total)
	}
	return nil
}

// headFree asks an address that is paid by GET with HEAD, and says whether that is served without payment.
func (o *lintOptions) headFree(ctx context.Context, p *probe.Prober, found probe.Result) bool {
	if found.Verdict != probe.Paid || found.Method != http.MethodGet || o.pace(ctx, "") != nil {
		return false
	}
	free, err := p.Head(ctx, found.FinalURL)
	return err == nil && free != nil && *free // what HEAD does not tell is no warning
}

// pace keeps requests to a host apart, as a crawl does.
func (o *lintOptions) pace(ctx context.Context, _ string) error {
	select {
	case <-time.After(o.gap):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
