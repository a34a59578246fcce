package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/directory"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/encode"
	"tollbook/site/x402"
)

// allowFormats are the forms of an allow-list, by name.
var allowFormats = []string{"json", "hosts", "recipients", "payfetch", "clawrouter"}

// allowOptions are the flags of allow.
type allowOptions struct {
	options
	keyOptions
	Format string
}

func newAllowListCommand() *cobra.Command {
	var o allowOptions
	var q *directoryQuery
	cmd := &cobra.Command{
		Use:   "allow [FILE]",
		Short: "Write an allow-list of services for a policy",
		Long: `Allow writes which services a policy for payments may allow: those that the directory finds safe to pay,
with the hosts, recipients, tokens and prices of their endpoints. All of it is of one snapshot. With --max-price and
--network it has only the payment options that pass. A list is as old as its snapshot: write it again each day.

With --format it writes what a spend firewall reads:

  json         hosts, recipients, tokens and prices, with the time of the snapshot
  hosts        a host a line
  recipients   network and address a line
  payfetch     "mode", "allow" and, with --max-price, "caps" of the config.json of payfetch
  clawrouter   "allowedPayees", "allowedNetworks" and "allowedAssets" of the spend control of ClawRouter

With FILE it replaces the file completely or not at all. With a key, too (--publish-key or TOLLBOOK_SIGNING_KEY), it
signs the file with Ed25519 and writes the signature to FILE.sig, in base64. openssl verifies it:

  base64 -d FILE.sig > sig && openssl pkeyutl -verify -pubin -inkey tollbook-key.pem -rawin -in FILE -sigfile sig

` + whichDirectory + `

EXIT STATUS

0 if the list is written, also an empty one. 1 if the directory could not be read, 2 for an error in the command line.`,
		Example: "  tollbook allow --category AI --network base --max-price 0.01\n" +
			"  tollbook allow --format payfetch --max-price 0.05 allow.json",
		Args:    optionalArgument("FILE"),
		PreRunE: func(cmd *cobra.Command, _ []string) error { return o.validate(cmd) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAllowList(cmd.Context(), &o, q, args, cmd.OutOrStdout())
		},
	}
	o.dataOptions.AddFlags(cmd.Flags())
	o.addDirectory(cmd.Flags())
	o.keyOptions.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.Format, "format", "json", "`form` of the list: "+strings.Join(allowFormats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("format",
		cobra.FixedCompletions(allowFormats, cobra.ShellCompDirectiveNoFileComp))
	q = newQuery(cmd, "allow")
	for _, name := range []string{"page", "per-page"} { // all pages are read
		_ = cmd.Flags().MarkHidden(name)
	}
	return cmd
}

func (o *allowOptions) validate(cmd *cobra.Command) error {
	if !slices.Contains(allowFormats, o.Format) {
		return terminal.UsageErrorf("--format %.40q: use %s", o.Format, strings.Join(allowFormats, ", "))
	}
	for _, name := range []string{"page", "per-page"} {
		if cmd.Flags().Changed(name) {
			return terminal.UsageErrorf("--%s has no effect: allow reads all pages", name)
		}
	}
	return o.options.validate(cmd.Flags())
}

// allowList is the list as JSON.
type allowList struct {
	Directory string           `json:"directory"` // where it was read
	Snapshot  string           `json:"snapshot"`
	AsOf      string           `json:"as_of"` // when the directory read its facts
	Filters   string           `json:"filters"`
	Services  []site.Allowance `json:"services"`
}

func runAllowList(ctx context.Context, o *allowOptions, q *directoryQuery, args []string, stdout io.Writer) error {
	var key ed25519.PrivateKey
	if len(args) > 0 {
		var err error
		if key, err = o.signingKey(); err != nil {
			return err
		}
	}
	var list *allowList
	err := o.with(func(r *directory.Reader) (err error) {
		list, err = readAllowList(ctx, r, q)
		return err
	})
	if err != nil {
		return err
	}
	text, err := list.format(o.Format, *q.values["max_price_usd"])
	if err != nil {
		return err
	}
	if len(args) == 0 {
		_, err := stdout.Write(text)
		return err
	}
	if err := replaceFile(args[0], text); err != nil {
		return fmt.Errorf("write allow-list: %w", err)
	}
	signed := ""
	if key != nil {
		signature := base64.StdEncoding.EncodeToString(ed25519.Sign(key, text))
		if err := replaceFile(args[0]+".sig", []byte(signature+"\n")); err != nil {
			return fmt.Errorf("write signature of the allow-list: %w", err)
		}
		signed = ", signed in " + args[0] + ".sig"
	}
	_, err = fmt.Fprintf(stdout, "Wrote %s to %s%s\n", display.Plural(int64(len(list.Services)), "service", "services"),
		args[0], signed)
	return err
}

// maxAllowances is the most services of a list. A directory may answer with any number of pages.
const maxAllowances = 100_000

// readAllowList reads all pages of the list from one snapshot.
func readAllowList(ctx context.Context, r *directory.Reader, q *directoryQuery) (*allowList, error) {
	body, err := r.Get(ctx, "/"+archive.CheckpointFile, nil)
	if err != nil {
		return nil, err
	}
	pointer, err := archive.ParseCheckpoint(body)
	if err != nil {
		return nil, fmt.Errorf("read the directory %s: %w", r.Name(), err)
	}
	list := &allowList{Directory: r.Name(), Snapshot: pointer.Snapshot, AsOf: pointer.BuiltAt, Services: []site.Allowance{}}
	for page := 1; ; page++ {
		body, values, err := q.getWith(ctx, r, "", url.Values{"strict": {"1"}, "snapshot": {pointer.Snapshot},
			"page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(site.MaxPageSize)}})
		if err != nil {
			return nil, err
		}
		list.Filters = q.describe(values)
		network := values.Get("network")
		if n, ok := x402.NetworkByAbbreviation(network); ok {
			network = n.ID
		}
		var got site.List[site.Allowance, site.PaginationMeta]
		if err := r.Decode(q.route.Pattern, body, &got); err != nil {
			return nil, err
		}
		for _, a := range got.Data {
			a.Keep(network, site.Decimal(values.Get("max_price_usd")))
			if len(a.Options) > 0 {
				list.Services = append(list.Services, a)
			}
		}
		if page >= got.Meta.TotalPages || len(got.Data) == 0 {
			return list, nil
		}
		if page*site.MaxPageSize >= maxAllowances {
			return nil, fmt.Errorf("read the directory %s: its list has more than %d services; use filters", r.Name(),
				maxAllowances)
		}
	}
}

// format returns the list in a form. most is the price cap in dollars, "" for none.
func (l *allowList) format(form, most string) ([]byte, error) {
	switch form {
	case "hosts":
		return lines(l.hosts()), nil
	case "recipients":
		return lines(l.distinct(func(o *site.AllowedOption) string { return o.NetworkCAIP2 + " " + o.PayTo })), nil
	case "payfetch":
		return indented(struct {
			Mode  string          `json:"mode"`
			Allow []string        `json:"allow"`
			Caps  json.RawMessage `json:"caps,omitempty"`
		}{"allowlist", l.hosts(), capsOf(most)})
	case "clawrouter":
		return indented(struct {
			Payees   []string `json:"allowedPayees"`
			Networks []string `json:"allowedNetworks"`
			Assets   []string `json:"allowedAssets"`
		}{l.distinct(func(o *site.AllowedOption) string { return o.PayTo }),
			l.distinct(func(o *site.AllowedOption) string { return o.NetworkCAIP2 }),
			l.distinct(func(o *site.AllowedOption) string { return o.AssetAddress })})
	}
	return indented(l)
}

// capsOf returns the cap of one call for payfetch. A decimal of dollars is a number of JSON as it is.
func capsOf(most string) json.RawMessage {
	usd, err := site.ParseDecimal(most)
	if err != nil { // "" for none
		return nil
	}
	return json.RawMessage(`{"perCallUsd":` + string(usd) + `}`)
}

// hosts returns the names of the hosts without ports, each once.
func (l *allowList) hosts() []string {
	list := []string{}
	for i := range l.Services {
		for _, host := range l.Services[i].Hosts {
			if name, _, err := net.SplitHostPort(host); err == nil {
				host = name
			}
			list = append(list, host)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// distinct returns a value of all options, each once.
func (l *allowList) distinct(value func(*site.AllowedOption) string) []string {
	list := []string{}
	for i := range l.Services {
		for k := range l.Services[i].Options {
			list = append(list, value(&l.Services[i].Options[k]))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// maxAllowed is the longest line of a list, in bytes.
const maxAllowed = 300

// lines returns texts of a directory as lines. It leaves out those that are no name: a text that is cleaned or cut
// would name something else.
func lines(texts []string) []byte {
	var b strings.Builder
	for _, text := range texts {
		if text != "" && len(text) <= maxAllowed && text == display.Line(text, maxAllowed) {
			b.WriteString(text + "\n")
		}
	}
	return []byte(b.String())
}

// indented returns a value as JSON with indents.
func indented(v any) ([]byte, error) {
	line, err := encode.Line(v)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	err = printJSON(&b, line)
	return []byte(b.String()), err
}
