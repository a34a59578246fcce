package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/directory"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/routes"
)

// checkOptions are the flags of check.
type checkOptions struct {
	options
	PayTo, Network, Price, Method string
	Ask                           bool
	AllowPrivate                  []string

	guard  probe.Guard
	routes []probe.Route // hosts that this process serves; for tests
}

// AddFlags adds the flags of check.
func (o *checkOptions) AddFlags(f *pflag.FlagSet) {
	o.options.AddFlags(f)
	f.StringVar(&o.PayTo, "pay-to", "", "`address` of the recipient that the URL names; compared with those observed")
	f.StringVar(&o.Network, "network", "", "`network` to pay on, such as base, BSE or eip155:8453")
	f.StringVar(&o.Price, "price", "", "price in US `dollars` that the URL names, such as 0.01")
	f.BoolVar(&o.Ask, "ask", false, "ask the URL once without paying, and compare what it answers now")
	f.StringVar(&o.Method, "method", "", "`method` of that request; by default the one that was observed")
	settings.AddFlag(f, "crawl.allow_private", &o.AllowPrivate)
}

func (o *checkOptions) validate(f *pflag.FlagSet) error {
	switch o.Method = strings.ToUpper(o.Method); o.Method {
	case "", "GET", "POST", "PUT", "PATCH", "DELETE":
	default:
		return terminal.UsageErrorf("--method %q: use GET, POST, PUT, PATCH or DELETE", o.Method)
	}
	if f.Changed("pay-to") && !isAddress(o.PayTo) {
		return terminal.UsageErrorf("--pay-to %q: give the address of a recipient, as its network writes it", o.PayTo)
	}
	if f.Changed("price") {
		price, err := site.ParseDecimal(strings.TrimPrefix(o.Price, "$"))
		if err != nil || len(price) > 60 {
			return terminal.UsageErrorf("--price %q: give an amount in US dollars such as 0.01", o.Price)
		}
		o.Price = string(price)
	}
	if o.Method != "" && !o.Ask {
		return terminal.UsageErrorf("--method has no effect without --ask")
	}
	o.guard.AllowPrivate = o.AllowPrivate
	if err := o.guard.Validate(); err != nil {
		return terminal.UsageErrorf("--crawl-allow-private: %w", err)
	}
	return o.options.validate(f)
}

// isAddress reports whether a text may be an address of a recipient.
func isAddress(s string) bool {
	segment := routes.SegmentByName("address")
	return s != "" && len(s) <= segment.MaxLength && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~'
	}) < 0
}

func newCheckCommand() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check URL",
		Short: "Check a recipient and price before paying at a URL",
		Long: `Check compares what a URL asks for with what a directory observed there. It prints the service that the
URL belongs to, its risk, and one line for each thing compared. It never pays.

With --pay-to, --network and --price it compares what you were told: the recipient, the network and the price in US
dollars. With --ask it requests the URL itself, without paying, as a crawl does, and compares every payment option in
the answer: recipient, network, token and price. A URL on a private network is refused unless --crawl-allow-private
names its host. User, query and fragment of the URL are ignored by the look-up.

` + whichDirectory + `

With --json it prints one object: url (in normal form), verdict (same, listed if nothing was compared, differs, danger
or unknown), findings (about, result, text), observed (what the API returns for the URL; null if it is not listed) and
answer (verdict, reason and payment options of the request of --ask). Fields may be added, never renamed.

EXIT STATUS

0 if the URL is listed, not in danger, payable, and all that was compared is as observed. 1 if something differs, if
the service is in danger, or if a payment is advised against. 2 if there is no verdict: the URL is not listed, too
little is known of the service, standard clients can't pay it, the directory could not be read, --ask got no payment
terms; and for an error in the command line.`,
		Example: "  tollbook check https://api.acme.example/quote --pay-to 0x5aAe…eAed --network base --price 0.01\n" +
			"  tollbook check --ask https://api.acme.example/quote && ./pay.sh",
		Args:    arguments("URL"),
		PreRunE: func(cmd *cobra.Command, _ []string) error { return o.validate(cmd.Flags()) },
		RunE: func(cmd *cobra.Command, args []string) error {
			normal, err := listing.NormalURL(args[0])
			if err != nil {
				return terminal.UsageErrorf("check needs a URL such as https://api.acme.example/quote, got %q",
					settings.RedactUser(args[0]))
			}
			return runCheck(cmd.Context(), &o, args[0], normal, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// runCheck prints a report on a URL. Its error says why the exit status is not 0.
func runCheck(ctx context.Context, o *checkOptions, address, normal string, stdout io.Writer) error {
	var report *readerReport
	err := o.with(func(r *directory.Reader) (err error) {
		report, err = o.check(ctx, r, address, normal)
		return err
	})
	if isInterrupted(ctx) {
		return ctx.Err()
	}
	if err != nil {
		if errors.As(err, new(terminal.UsageError)) {
			return err
		}
		return fmt.Errorf("check %s: %w: %w", normal, errUnknown, err)
	}
	if o.JSON {
		err = printValue(stdout, report)
	} else {
		_, err = io.WriteString(stdout, report.text())
	}
	if err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return report.failure()
}

// check asks the directory, and with --ask the URL, and compares.
func (o *checkOptions) check(ctx context.Context, r *directory.Reader, address, normal string) (*readerReport, error) {
	claim := claim{PayTo: o.PayTo, Price: site.Decimal(o.Price)}
	var err error
	if o.Network != "" {
		if claim.Network, err = o.network(ctx, r); err != nil {
			return nil, err
		}
	}
	record, err := observe(ctx, r, normal)
	if err != nil {
		return nil, err
	}
	out := &readerReport{URL: normal, record: record}
	if record != nil {
		out.Observed = record.body
	}
	var answer *directoryAnswer
	if o.Ask {
		answer = o.ask(ctx, address, record)
		if isInterrupted(ctx) {
			return nil, ctx.Err()
		}
		out.Answer = answer
	}
	out.Findings = compare(record, claim, answer)
	if out.Verdict = verdictOf(out.Findings, record); out.has(aboutRecipient, resultDiffers) || record == nil {
		out.Findings = append(out.Findings, out.findRecipients(ctx, r, claim)...)
	}
	return out, nil
}

// network returns the CAIP-2 id of the network of --network.
func (o *checkOptions) network(ctx context.Context, r *directory.Reader) (string, error) {
	list, err := r.Networks(ctx)
	if err != nil {
		return "", err
	}
	n, _ := directory.FindNetwork(list, o.Network)
	if n.CAIP2 == "" {
		return "", noNetwork(o.Network, n, list)
	}
	return n.CAIP2, nil
}

// record is what the directory knows of a URL.
type record struct {
	site.AddressLookup
	body    json.RawMessage     // AddressLookup as received
	service *site.ServiceDetail // nil if the directory does not return it
	options []option
	needs   []string           // what buyers need first, with the option, each once
	first   *site.Time         // since when the URL is observed
	history []site.PayToChange // of the URL's recipients, newest first
}

// observe returns what the directory knows of a URL in normal form, or nil if it lists no such URL.
func observe(ctx context.Context, r *directory.Reader, normal string) (*record, error) {
	path := "/v1/lookup/url/" + site.Hash(normal) + ".json"
	body, err := r.Get(ctx, path, nil)
	if directory.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var one struct{ Data json.RawMessage }
	o := &record{}
	if err := r.Decode(path, body, &one); err != nil {
		return nil, err
	}
	if err := r.Decode(path, one.Data, &o.AddressLookup); err != nil {
		return nil, err
	}
	if o.body = one.Data; o.URL != normal {
		return nil, fmt.Errorf("read the directory %s: it answers for another URL than it was asked for", r.Name())
	}
	if site.ValidSlug(o.Service.Slug) {
		_, o.service, err = r.Service(ctx, o.Service.Slug)
		if err != nil && !directory.IsNotFound(err) {
			return nil, err
		}
	}
	o.addOptions()
	return o, nil
}

// orAtomic returns a price in dollars, or else in atomic units.
func orAtomic(usd *string, atomic string) string {
	if usd != nil {
		return "$" + own(*usd)
	}
	return own(atomic) + " atomic units"
}

// addOptions collects the payment options at the URL, and the history of its recipients.
func (o *record) addOptions() {
	for i := range o.Prices {
		p := &o.Prices[i]
		q := option{Method: p.Method, Scheme: p.Scheme, Asset: p.AssetAddress, AssetName: p.AssetName, Amount: p.Price,
			PriceUSD: p.PriceUSD, PayTo: p.PayTo, since: &p.Since}
		if p.NetworkCAIP2 != nil {
			q.Network = *p.NetworkCAIP2
		}
		o.options = append(o.options, q)
	}
	if o.service == nil {
		return
	}
	var inDetail []option
	for i := range o.service.Endpoints {
		e := &o.service.Endpoints[i]
		if !isAt(o.URL, o.service.BaseURL, e.Path) {
			continue
		}
		if o.first == nil || e.FirstSeenAt.Before(o.first.Time) {
			o.first = &e.FirstSeenAt
		}
		for _, p := range e.X402Pricing() {
			q := option{Method: e.Method, Scheme: p.Scheme, Network: p.Network, Asset: p.AssetAddress,
				AssetName: p.AssetName, Amount: p.Price, PriceUSD: p.PriceUSD, PayTo: p.PayTo}
			if p.NetworkCAIP2 != nil {
				q.Network = *p.NetworkCAIP2
			}
			inDetail = append(inDetail, q)
			for _, need := range p.PayableBy.Conditions {
				text := fmt.Sprintf("%s on %s by %s: %s", orAtomic(p.PriceUSD, p.Price), networkName(q.Network), own(p.Scheme),
					own(need.Text))
				if words := p.PayableBy.Words(); words != "" {
					text += "; " + own(words)
				}
				if !slices.Contains(o.needs, text) {
					o.needs = append(o.needs, text)
				}
			}
		}
	}
	if o.Clipped { // the look-up leaves out options
		o.options = inDetail
	}
	for _, c := range o.service.PayToChanges {
		if _, path, ok := strings.Cut(c.Endpoint, " "); ok && isAt(o.URL, o.service.BaseURL, path) {
			o.history = append(o.history, c)
		}
	}
}
