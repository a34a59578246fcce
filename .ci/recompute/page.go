package main

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"tollbook/.ci/recompute/snapshot"
)

const pageRule = "pages"

// page returns the pairs of terms and values on a page, as an object: the lines "- Term: value" of a Markdown page, and
// the definitions (dt, dd) of an HTML page. The first value of a term counts.
func page(s *snapshot.Snapshot, name string) snapshot.Node {
	if n, ok := s.Trees[name]; ok {
		return n
	}
	pairs := map[string]any{}
	add := func(term, value string) {
		if _, ok := pairs[term]; !ok && term != "" {
			pairs[term] = value
		}
	}
	if strings.HasSuffix(name, ".md") {
		for line := range strings.Lines(string(s.Bytes[name])) {
			if term, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), ": "); ok {
				add(term, plainText(value))
			}
		}
	} else if root, err := html.Parse(bytes.NewReader(s.Bytes[name])); err == nil {
		term := ""
		for n := range root.Descendants() {
			switch n.DataAtom {
			case atom.Dt:
				term, _, _ = strings.Cut(textOf(n), " (") // without the asset
			case atom.Dd:
				add(term, textOf(n))
				term = ""
			}
		}
	}
	s.Trees[name] = snapshot.Node{File: name, Value: pairs}
	return s.Trees[name]
}

// textOf returns the text of an HTML element.
func textOf(n *html.Node) string {
	var b strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			b.WriteString(child.Data)
		}
	}
	return plainText(b.String())
}

// plainText returns a text with single blanks.
func plainText(text string) string { return strings.Join(strings.Fields(text), " ") }

// recomputePages compares figures on the HTML and the Markdown page of each service with its record.
func recomputePages(d *directory, r *snapshot.Report) {
	for _, s := range d.services {
		web, plain := page(d.snap, "services/"+s.slug+".html"), page(d.snap, "services/"+s.slug+"/page.md")
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
