package main

import (
	"bytes"
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
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl/probe"
	"tollbook/site/encode"
	"tollbook/site/rail"
)

// errUnread is returned if there was nothing to check. The exit status is 2, as for an error in the command line.
var errUnread = errors.New("could not be read")

// lintOptions are the flags of lint.
type lintOptions struct {
	visitOptions
	Method string
	JSON   bool

	gap    time.Duration // between two requests
	routes []probe.Route // hosts that this process serves; for tests
	guard  probe.Guard   // resolver and dialer; for tests
}

// AddFlags adds the flags of lint.
func (o *lintOptions) AddFlags(f *pflag.FlagSet) {
	o.visitOptions.AddFlags(f)
	f.StringVar(&o.Method, "method", "",
		"`method` of the request (GET, POST, PUT, PATCH, DELETE); by default GET is tried, then POST")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
}

func (o *lintOptions) validate() error {
	switch strings.ToUpper(o.Method) {
	case "", "GET", "POST", "PUT", "PATCH", "DELETE":
		return o.contactOptions.validate()
	}
	return terminal.UsageErrorf("--method %q: use GET, POST, PUT, PATCH or DELETE", o.Method)
}

func newLintCommand() *cobra.Command {
	o := lintOptions{gap: time.Second}
	cmd := &cobra.Command{
		Use:   "lint URL",
		Short: "Check one endpoint as the crawler does, and suggest fixes",
		Long: `Lint requests one URL without paying, as a crawl does: with the same rules against hostile addresses,
the same reader of 402 responses and the same 14 checks. It prints the prices, and for each failed check what was
found, what was expected and how to fix it. Then it prints warnings, which do not affect a grade, and each deviation
that a strict client would have refused. It needs no database and stores nothing.

A URL that is paid by GET gets one HEAD request more, because many sellers serve that without payment by mistake.
Lint does not compare prices with an OpenAPI document; a crawl does.

If the URL is that of an MCP server, lint lists its tools, asks those that the list names as paid for their price, and
checks each answer. It calls no other tool, and none that may destroy something. URL#TOOL checks one tool.

Replace parameters in a path such as /users/{id} with values. A URL on a private network is refused unless
--crawl-allow-private names its host. Unlike a crawl, lint needs no --crawl-contact, because it asks once, for you.

With --json the report is one object: url, verdict, class, reason, method, status, final_url, redirects, grade,
passed, total, asks (one entry for each way to pay), checks (all 14, with reason, expected and mend), warnings,
defects, protocols, grade_reason, rails (the checks of other protocols over which the response makes offers; they
give the grade where there are no terms of x402) and tools (of an MCP server: name, paid, destructive, and the report
of each that was called). Fields may be added, never renamed. Unknown values are null.

EXIT STATUS

0 if all 14 checks pass. 1 if one fails. 2 if there was nothing to check: no response, a URL that is refused, a
response that is no 402 (or 412) of the service itself, an MCP server no tool of which asks for payment; and for an
error in the command line.`,
		Example: `  tollbook lint https://api.acme.example/quote

  In a pipeline, with a server on the same machine. Without TLS, transport_https fails, so jq ignores that check:

    tollbook lint --json --crawl-allow-private 127.0.0.1:8080 http://127.0.0.1:8080/quote |
        jq -e '.passed != null and [.checks[] | select(.pass | not) | .id] - ["transport_https"] == []'`,
		Args:    arguments("URL"),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, args []string) error {
			if !strings.Contains(args[0], "://") {
				return terminal.UsageErrorf("lint needs a URL such as https://api.acme.example/quote, got %q", args[0])
			}
			return runLint(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// runLint prints a report on one URL. Its error says why the exit status is not 0.
func runLint(ctx context.Context, o lintOptions, address string, stdout io.Writer) error {
	if _, err := o.visitOptions.guard(); err != nil {
		return err
	}
	guard := &o.guard
	guard.AllowPrivate = o.AllowPrivate
	p := probe.New(probe.Options{Guard: guard, Routes: o.routes, UserAgent: o.userAgent(), Pace: o.pace})
	defer p.Close()
	address = settings.RedactUser(address) // which is refused all the same
	session := &probe.Session{}            // if the URL names a tool
	result := p.Probe(ctx, probe.Target{URL: address, Method: o.Method, Session: session})
	p.EndSession(ctx, session)
	var tools []probe.ToolResult
	if result.SuggestsMCP() && o.pace(ctx, "") == nil {
		tools, _ = p.ProbeTools(ctx, address, lint.MaxTools) // an error means that it is no MCP server
	}
	if readers := p.Look(ctx, result, o.Method == ""); len(readers) > 0 {
		result.Conflicts = rail.CompareReaders(readers)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("lint %s: %w", address, err)
	}
	report := lint.New(address, result, o.headFree(ctx, p, result))
	report.AddTools(tools)
	if o.JSON {
		line, err := encode.Line(report)
		var b bytes.Buffer
		if err == nil {
			err = json.Indent(&b, line, "", "  ")
		}
		if err == nil {
			_, err = b.WriteTo(stdout)
		}
		if err != nil {
			return fmt.Errorf("print report: %w", err)
		}
	} else if _, err := io.WriteString(stdout, report.Text()); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	for _, r := range report.Judged() {
		switch failed := len(r.Failed()); {
		case r.Passed == nil:
			return fmt.Errorf("%s %w: %s", r.URL, errUnread, r.Reason)
		case len(r.Conflicts) > 0:
			return fmt.Errorf("%s asks for two different payments for one request", r.URL)
		case failed > 0:
			_, total := r.Counts()
			return fmt.Errorf("%s fails %d of %d checks", r.URL, failed, total)
		}
	}
	return nil
}

// headFree reports whether a URL that is paid by GET is served by HEAD without payment.
func (o *lintOptions) headFree(ctx context.Context, p *probe.Prober, result probe.Result) bool {
	if result.Verdict != probe.Paid || result.Method != http.MethodGet || o.pace(ctx, "") != nil {
		return false
	}
	head, err := p.Head(ctx, result.FinalURL)
	return err == nil && head.Free != nil && *head.Free // a failed HEAD request is no warning
}

// pace waits between two requests to a host, as a crawl does.
func (o *lintOptions) pace(ctx context.Context, _ string) error {
	select {
	case <-time.After(o.gap):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
