package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/lint"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl/probe"
	"tollbook/site/jsontext"
)

// lintError is returned if a lint does not pass. Its outcome is the exit status.
type lintError struct {
	outcome lint.Outcome
	text    string
}

func (e *lintError) Error() string { return e.text }

// lintOptions are the flags of lint.
type lintOptions struct {
	visitOptions
	Method string
	File   string
	Limit  int
	FailOn string
	JSON   bool
	HTML   string
	SARIF  string

	routes []probe.Route // hosts that this process serves; for tests
	guard  probe.Guard   // resolver and dialer; for tests

	lookupTXT func(ctx context.Context, name string) ([]string, error) // nil to look nothing up
}

// AddFlags adds the flags of lint.
func (o *lintOptions) AddFlags(f *pflag.FlagSet) {
	o.visitOptions.AddFlags(f)
	f.StringVar(&o.Method, "method", "",
		"`method` of the request (GET, POST, PUT, PATCH, DELETE); by default the declared one, else GET, then POST")
	f.StringVar(&o.File, "file", "", "check the URLs in a `file`, one a line; - reads standard input")
	f.IntVar(&o.Limit, "limit", 100, "most endpoints of a site that are asked")
	f.StringVar(&o.FailOn, "fail-on", lint.LevelCheck,
		"what makes the exit status 1: `check`, warning (also warnings) or hint (also hints)")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
	f.StringVar(&o.HTML, "html", "", "also write the report to a `file` of HTML that needs no other file")
	f.StringVar(&o.SARIF, "sarif", "", "also write the report to a `file` of SARIF 2.1.0, for code scanning")
}

func (o *lintOptions) validate() error {
	switch strings.ToUpper(o.Method) {
	case "", "GET", "POST", "PUT", "PATCH", "DELETE":
	default:
		return terminal.UsageErrorf("--method %q: use GET, POST, PUT, PATCH or DELETE", o.Method)
	}
	if !slices.Contains(lint.Levels, o.FailOn) {
		return terminal.UsageErrorf("--fail-on %q: use %s", o.FailOn, strings.Join(lint.Levels, ", "))
	}
	if o.Limit < 1 {
		return terminal.UsageErrorf("--limit %d: use 1 or more", o.Limit)
	}
	return o.contactOptions.validate()
}

func newLintCommand() *cobra.Command {
	o := lintOptions{lookupTXT: net.DefaultResolver.LookupTXT}
	cmd := &cobra.Command{
		Use:   "lint URL...",
		Short: "Check endpoints as the crawler does, and suggest fixes",
		Long: `Lint requests a URL without paying, as a crawl does: with the same rules against hostile addresses, the
same reader of 402 responses and the same 14 checks. It prints the prices, and for each failed check what was found,
what was expected and how to fix it. Then it prints warnings, which do not affect a grade, and each deviation that a
strict client would have refused. Then hints for the owner: who cannot find, read or pay the URL although the checks
pass, with the fix as code if the response names the program that answered. It needs no database and stores nothing.

Lint is for your own service, so it does not wait between requests, as a crawl does. It makes at most four requests at
a time.

A URL without a path, such as https://api.acme.example, is a site: lint reads its documents (OpenAPI, manifests,
agent cards, llms.txt) and checks each endpoint that they declare, at most --limit. If they declare none, it checks the
address itself. --file checks the URLs in a file, one a line; empty lines, and lines that begin with #, are skipped.

A URL that is paid by GET gets one HEAD request more, because many sellers serve that without payment by mistake. A URL
that is paid is also asked as a page in a browser asks before it pays: OPTIONS, then the same request with an Origin.
Lint does not compare prices with an OpenAPI document; a crawl does.

If the URL is that of an MCP server, lint lists its tools, asks those that the list names as paid for their price, and
checks each answer. It calls no other tool, and none that may destroy something. URL#TOOL checks one tool.

Replace parameters in a path such as /users/{id} with values. A URL on a private network is refused unless
--crawl-allow-private names its host. Unlike a crawl, lint needs no --crawl-contact, because it asks once, for you.

With --json the report on one URL is one object: url, verdict, class, reason, method, status, final_url, redirects,
grade, passed, total, asks (one entry for each way to pay), checks (all 14, with reason, expected and mend), warnings,
defects, conflicts (two terms for one request), protocols, grade_reason, rails (the checks of other protocols over
which the response makes offers; they give the grade where there are no terms of x402), calls (each request: method,
url, body, sample, status, class), hints (code, label, meaning, fix, snippets, endpoints), browser and browser_reason
(whether a page can pay), catalogues (source, and the documented rules of it that the answers break) and tools (of an
MCP server: name, paid, destructive, and the report of each that was called). For several URLs, a file or a site it is
one object with reports, sites (url, declared, left_out, documents) and complete, which is false if you pressed
Ctrl-C. Fields may be added, never renamed. Unknown values are null.

--html writes a page to hand to a colleague: one file, readable on a phone and on paper. --sarif writes what code
scanning of GitHub, GitLab and others reads.

EXIT STATUS

0 if every URL can be paid and all its checks pass. 1 if a check fails, or if --fail-on names warnings or hints and
there is one. 2 for an error in the command line, and for a URL that is refused. 3 if a URL answers, but not with a
402 (or 412) that can be paid. 4 if there is no response, or one that says nothing about the URL: a bot filter, a rate
limit, a demand for input that no example declares. Of several URLs, the highest counts.`,
		Example: `  tollbook lint https://api.acme.example/quote
  tollbook lint https://api.acme.example --html report.html
  tollbook lint --file urls.txt --fail-on warning --sarif lint.sarif

  In a pipeline, with a server on the same machine. Without TLS, transport_https fails, so jq ignores that check:

    tollbook lint --json --crawl-allow-private 127.0.0.1:8080 http://127.0.0.1:8080/quote |
        jq -e '.passed != null and [.checks[] | select(.pass | not) | .id] - ["transport_https"] == []'`,
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			addresses, err := o.addresses(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return runLint(cmd.Context(), o, addresses, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// Limits of a file of URLs.
const (
	maxAddressFile = 4 << 20 // bytes
	maxAddresses   = 10_000
)

// addresses returns the URLs of the command line, then those of the file.
func (o *lintOptions) addresses(args []string, stdin io.Reader) ([]string, error) {
	list := slices.Clone(args)
	from := make([]string, len(args)) // where each URL stands, for errors
	if o.File != "" {
		data, err := readAddressFile(o.File, stdin)
		if err != nil {
			return nil, terminal.UsageErrorf("--file: %w", err)
		}
		data = bytes.TrimPrefix(data, []byte(jsontext.ByteOrderMark))
		for i, line := range strings.Split(string(data), "\n") {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				list, from = append(list, line), append(from, fmt.Sprintf("--file %s, line %d: ", o.File, i+1))
			}
		}
	}
	switch {
	case len(list) == 0 && o.File != "":
		return nil, terminal.UsageErrorf("--file %s: the file names no URL", o.File)
	case len(list) == 0:
		return nil, terminal.UsageErrorf("URL is missing; see tollbook lint --help")
	case len(list) > maxAddresses:
		return nil, terminal.UsageErrorf("%d URLs: use at most %d", len(list), maxAddresses)
	}
	for i, address := range list {
		if !strings.Contains(address, "://") {
			return nil, terminal.UsageErrorf("%slint needs a URL such as https://api.acme.example/quote, got %.200q",
				from[i], address)
		}
		list[i] = settings.RedactUser(address) // which is refused all the same
	}
	return list, nil
}

func readAddressFile(name string, stdin io.Reader) ([]byte, error) {
	if name != "-" {
		return settings.ReadFile(name, maxAddressFile)
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxAddressFile+1))
	if err == nil && len(data) > maxAddressFile {
		err = fmt.Errorf("standard input has more than %d bytes", maxAddressFile)
	}
	return data, err
}

// runLint prints a report on URLs. Its error says why the exit status is not 0.
func runLint(ctx context.Context, o lintOptions, addresses []string, stdout io.Writer) error {
	if _, err := o.visitOptions.guard(); err != nil {
		return err
	}
	l := newLinter(&o)
	defer l.close()
	sites, targets := l.plan(ctx, addresses)
	alone := len(addresses) == 1 && o.File == "" && len(targets) == 1 && targets[0].url == addresses[0]
	batch := lint.Batch{Sites: append([]lint.Site{}, sites...)}
	out := &reportWriter{w: stdout, silent: o.JSON}
	for i := range sites {
		if !alone {
			out.print(sites[i].Text())
		}
	}
	batch.Reports, batch.Complete = l.ask(ctx, targets, func(r *lint.Report) { out.print(r.Text()) })
	if alone && !batch.Complete {
		return fmt.Errorf("lint %s: %w", addresses[0], ctx.Err())
	}
	switch {
	case o.JSON && alone:
		out.err = printValue(stdout, batch.Reports[0])
	case o.JSON:
		out.err = printValue(stdout, batch)
	case !alone:
		out.print(batch.Summary(o.FailOn) + "\n")
	}
	if out.err != nil {
		return fmt.Errorf("print report: %w", out.err)
	}
	if err := o.writeFiles(&batch); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("lint: %w", err)
	}
	return o.verdict(&batch)
}

// reportWriter prints reports with an empty line between them. It stops at the first error.
type reportWriter struct {
	w       io.Writer
	silent  bool // nothing is printed as text
	err     error
	printed bool
}

func (w *reportWriter) print(text string) {
	if w.silent || w.err != nil {
		return
	}
	if w.printed {
		text = "\n" + text
	}
	w.printed = true
	_, w.err = io.WriteString(w.w, text)
}

// writeFiles writes the files that flags ask for.
func (o *lintOptions) writeFiles(b *lint.Batch) error {
	for _, file := range []struct {
		flag, name string
		content    func(b *lint.Batch, level string) ([]byte, error)
	}{{"--html", o.HTML, lint.HTML}, {"--sarif", o.SARIF, lint.SARIF}} {
		if file.name == "" {
			continue
		}
		content, err := file.content(b, o.FailOn)
		if err == nil {
			err = os.WriteFile(file.name, content, 0o644)
		}
		if err != nil {
			return fmt.Errorf("%s: write report: %w", file.flag, err)
		}
	}
	return nil
}

// verdict returns the error that stands for the exit status.
func (o *lintOptions) verdict(b *lint.Batch) error {
	outcome := b.Outcome(o.FailOn)
	if outcome == lint.Passes {
		return nil
	}
	if len(b.Reports) != 1 {
		return &lintError{outcome, strings.TrimSuffix(b.Summary(o.FailOn), ".")}
	}
	for _, r := range b.Reports[0].Judged() {
		if r.Outcome(o.FailOn) == outcome {
			return &lintError{outcome, r.Complaint(o.FailOn)}
		}
	}
	return nil
}

// headFree reports whether a URL that is paid by GET is served by HEAD without payment.
func (l *linter) headFree(ctx context.Context, result probe.Result) bool {
	if result.Verdict != probe.Paid || result.Method != http.MethodGet {
		return false
	}
	head, err := l.prober.Head(ctx, result.FinalURL)
	return err == nil && head.Free != nil && *head.Free // a failed HEAD request is no warning
}
