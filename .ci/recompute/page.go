package main

import (
	"fmt"
	"math/big"
	"strings"

	"tollbook/.ci/recompute/snapshot"
)

const pageRule = "pages"

// recomputePages compares figures on the HTML and the Markdown page of each service with its record.
func recomputePages(d *directory, r *snapshot.Report) {
	for _, s := range d.services {
		web, plain := d.snap.Page("services/"+s.slug+".html"), d.snap.Page("services/"+s.slug+"/page.md")
		detail := s.detail
		price := detail.Get("min_price_usd").Number()
		if price != nil {
			r.Figure(pageRule, web.Get("Price from"), dollarText(price))
			r.Figure(pageRule, plain.Get("Price from"), dollarText(price))
		} else {
			for _, line := range []snapshot.Node{web.Get("Price from"), plain.Get("Price from")} {
				if strings.Contains(line.Text(), "$") {
					r.Compare(pageRule, line, line.Text(), "no price")
				}
			}
		}
		uptime := detail.Get("uptime")
		r.Figure(pageRule, web.Get("Uptime, 30 days"), percentText(uptime.Get("30d"), "—not known"))
		r.Figure(pageRule, plain.Get("Uptime"),
			fmt.Sprintf("%s over 24 hours, %s over 7 days, %s over 30 days, %s over "+
				"90 days", percentText(uptime.Get("24h"), "not known"), percentText(uptime.Get("7d"), "not known"),
				percentText(uptime.Get("30d"), "not known"), percentText(uptime.Get("90d"), "not known")))
		r.Figure(pageRule, web.Get("Endpoints"), fmt.Sprint(detail.Get("endpoint_count").Int()))
		status := detail.Get("status").Text()
		if checked := detail.Get("last_checked_at"); checked.HasValue() {
			r.Figure(pageRule, plain.Get("Status"), status+", last checked "+checked.Text())
		}
		risk, _, _ := strings.Cut(plain.Get("Risk").Text(), ",")
		if want := detail.At("assessment", "risk", "level").Text(); risk != want {
			r.Compare(pageRule, plain.Get("Risk"), risk, want)
		}
		if ms := detail.Get("avg_response_time_ms"); ms.HasValue() && ms.Int() < 1000 {
			r.Figure(pageRule, web.Get("Average response, 24 hours"), fmt.Sprintf("%d ms", ms.Int()))
		}
	}
}

// percentText writes a percentage as pages do.
func percentText(n snapshot.Node, missing string) string {
	if number := n.Number(); number != nil {
		return snapshot.DecimalText(number) + "%"
	}
	return missing
}

// dollarText writes dollars as pages do: all decimals and at least two of them, or none for whole dollars.
func dollarText(r *big.Rat) string {
	if places, _ := r.FloatPrec(); places == 1 {
		return "$" + r.FloatString(2)
	}
	return "$" + snapshot.DecimalText(r)
}
