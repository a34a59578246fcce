package chart

import (
	"cmp"
	"html/template"
	"net/url"
	"strconv"

	"tollbook/site"
	"tollbook/site/display"
)

// CheckRows returns checks as rows of a table.
func CheckRows(checks []site.CheckEntry) template.HTML {
	m := newMarkup(600 * len(checks))
	for i := range checks {
		c := &checks[i]
		m.raw(`<tr><td class="nowrap">`).time(c.CheckedAt.String(), c.CheckedAt.UTC().Format(display.SecondLayout))
		m.raw(`</td><td>`)
		if c.Counted {
			m.answered(c.IsUp)
		} else {
			m.raw(`<span class="quiet">not counted</span>`)
		}
		m.raw(`</td><td class="num">`)
		if c.StatusCode != nil {
			m.number(*c.StatusCode)
		} else {
			m.raw(noneHTML)
		}
		m.raw(`</td><td class="num">`).value(display.Millis(c.ResponseTimeMS))
		m.raw(`</td><td class="num">`).text(display.Number(int64(c.EndpointsFound)))
		m.raw(`</td><td class="error">`)
		if c.ErrorMessage != nil {
			m.raw(`<bdi>`).text(display.Line(*c.ErrorMessage, display.MaxLine)).raw(`</bdi>`)
		}
		m.raw("</td></tr>\n")
	}
	return m.html()
}

// Payment is one option to pay for an endpoint.
type Payment struct {
	site.PricingEntry
	Network   string // the network's name
	NetworkID string // CAIP-2
	Amount    string // "$0.01", or atomic units if the asset's worth in dollars is not known
	Exact     string // the amount in atomic units
	Maximum   bool   // the amount is a maximum
	Cost      string // what calls cost if it is, in words
	PayToURL  string // of the recipient at a block explorer, "" for none
}

// PaymentRows returns payment options as rows of a table.
func PaymentRows(payments []Payment) template.HTML {
	m := newMarkup(800 * len(payments))
	for i := range payments {
		p := &payments[i]
		m.raw(`<tr><td data-label="Network" title="`).text(p.NetworkID)
		m.raw(`"><bdi>`).text(p.Network)
		m.raw(`</bdi></td><td data-label="Asset" title="`).text(display.Line(p.AssetAddress, display.MaxLine))
		m.raw(`"><bdi>`).text(display.Asset(p.AssetName))
		m.raw(`</bdi></td><td data-label="Scheme"><bdi>`).text(display.Line(p.Scheme, display.MaxCode))
		m.raw(`</bdi>`)
		if p.Protocol != "" && p.Protocol != "x402" {
			m.raw(` <small>over `).text(display.Line(p.Protocol, display.MaxCode)).raw(`</small>`)
		}
		m.raw(`</td><td data-label="Price" class="num price" title="`).text(p.Exact).raw(`">`)
		if p.Maximum {
			m.raw(`<small class="nowrap">up to</small> `)
		}
		m.value(p.Amount)
		if p.RecipientReason != nil {
			m.raw(` <small>cannot be paid: `).text(site.ReceptionText(*p.RecipientReason)).raw(`</small>`)
		} else if p.PriceCaveat != nil {
			m.raw(` <small>not counted: `).text(*p.PriceCaveat).raw(`</small>`)
		}
		if p.Cost != "" {
			m.raw(` <small>`).text(p.Cost).raw(`</small>`)
		}
		for _, need := range p.PayableBy.Conditions {
			m.raw(` <small>`).text(need.Text).raw(`</small>`)
		}
		m.raw(`</td><td data-label="Recipient" class="wide">`).recipient(p.PayTo, p.PayToURL)
		if words := p.PayableBy.Words(); words != "" {
			m.raw(` <small>`).text(words).raw(`</small>`)
		}
		m.raw("</td></tr>\n")
	}
	return m.html()
}

// ComplianceResult is the result of a compliance check. Reason and Mend say why it fails and what to do; they are nil
// if it passes.
type ComplianceResult struct {
	site.ComplianceCheck
	Reason, Mend *string
	Anchor       string // of the rule; the ID if empty
}

// ComplianceItems returns results as items of a list. A check that fails links to its rule on the page at methodology.
func ComplianceItems(results []ComplianceResult, methodology string) template.HTML {
	m := newMarkup(250 * len(results))
	for i := range results {
		r := &results[i]
		m.raw(`<li title="`).text(display.Line(r.ID, display.MaxCode)).raw(`">`)
		label := display.Line(r.Label, display.MaxLine)
		if r.Pass {
			m.raw(passHTML).raw(` <div><span>`).text(label).raw(`</span>`)
		} else {
			m.raw(failHTML).raw(` <div><a href="`).text(methodology + "#" + url.PathEscape(cmp.Or(r.Anchor, r.ID)))
			m.raw(`">`).text(label).raw(`</a>`)
		}
		if r.Reason != nil {
			m.raw(`<p class="found"><bdi>`).text(display.Reason(*r.Reason)).raw(`</bdi></p>`)
		}
		if r.Mend != nil {
			m.raw(`<p class="mend"><bdi>`).text(display.Line(*r.Mend, display.MaxLine)).raw(`</bdi></p>`)
		}
		m.raw("</div></li>\n")
	}
	return m.html()
}

// UptimeRows returns the uptime of four windows, and how much was checked in each, as rows of a table.
func UptimeRows(u *site.UptimeWindows) template.HTML {
	m := newMarkup(600)
	for _, w := range []struct {
		label    literal
		uptime   *float64
		days     int // in the window; 0 if hours count
		coverage *site.CoverageWindow
	}{
		{"24 hours", u.H24, 0, &u.Coverage.H24},
		{"7 days", u.D7, site.WindowDays["7d"], &u.Coverage.D7},
		{"30 days", u.D30, site.WindowDays["30d"], &u.Coverage.D30},
		{"90 days", u.D90, site.WindowDays["90d"], &u.Coverage.D90},
	} {
		m.raw(`<tr><th scope="row">`).raw(w.label)
		m.raw(`</th><td class="num">`).value(display.Percent(w.uptime))
		m.raw(`</td><td class="num">`).text(display.Number(int64(w.coverage.DaysCovered)))
		if w.days > 0 {
			m.raw(" of ").text(strconv.Itoa(w.days))
		}
		m.raw(`</td><td class="num">`).text(display.Number(w.coverage.CheckCount)).raw("</td></tr>\n")
	}
	return m.html()
}
