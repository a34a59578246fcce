package main

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const pageRule = "pages"

// page returns the pairs of terms and values on a page, as an object: the lines "- Term: value" of a Markdown page, and
// the definitions (dt, dd) of an HTML page. The first value of a term counts.
func (s *snapshot) page(name string) node {
	if n, ok := s.trees[name]; ok {
		return n
	}
	pairs := map[string]any{}
	add := func(term, value string) {
		if _, ok := pairs[term]; !ok && term != "" {
			pairs[term] = value
		}
	}
	if strings.HasSuffix(name, ".md") {
		for line := range strings.Lines(string(s.bytes[name])) {
			if term, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), ": "); ok {
				add(term, plainText(value))
			}
		}
	} else if root, err := html.Parse(bytes.NewReader(s.bytes[name])); err == nil {
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
	s.trees[name] = node{file: name, value: pairs}
	return s.trees[name]
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
func recomputePages(d *directory, r *report) {
	for _, s := range d.services {
		web, plain := d.snap.page("services/"+s.slug+".html"), d.snap.page("services/"+s.slug+"/page.md")
		detail := s.detail
		price := detail.get("min_price_usd").number()
		if price != nil {
			r.figure(pageRule, web.get("Price from"), dollarText(price))
			r.figure(pageRule, plain.get("Price from"), dollarText(price))
		} else {
			for _, line := range []node{web.get("Price from"), plain.get("Price from")} {
				if strings.Contains(line.text(), "$") {
					r.compare(pageRule, line, line.text(), "no price")
				}
			}
		}
		uptime := detail.get("uptime")
		r.figure(pageRule, web.get("Uptime, 30 days"), percentText(uptime.get("30d"), "—not known"))
		r.figure(pageRule, plain.get("Uptime"),
			fmt.Sprintf("%s over 24 hours, %s over 7 days, %s over 30 days, %s over "+
				"90 days", percentText(uptime.get("24h"), "not known"), percentText(uptime.get("7d"), "not known"),
				percentText(uptime.get("30d"), "not known"), percentText(uptime.get("90d"), "not known")))
		r.figure(pageRule, web.get("Endpoints"), fmt.Sprint(detail.get("endpoint_count").int()))
		status := detail.get("status").text()
		if checked := detail.get("last_checked_at"); checked.hasValue() {
			r.figure(pageRule, plain.get("Status"), status+", last checked "+checked.text())
		}
		risk, _, _ := strings.Cut(plain.get("Risk").text(), ",")
		if want := detail.at("assessment", "risk", "level").text(); risk != want {
			r.compare(pageRule, plain.get("Risk"), risk, want)
		}
		if ms := detail.get("avg_response_time_ms"); ms.hasValue() && ms.int() < 1000 {
			r.figure(pageRule, web.get("Average response, 24 hours"), fmt.Sprintf("%d ms", ms.int()))
		}
	}
}

// percentText writes a percentage as pages do.
func percentText(n node, missing string) string {
	if number := n.number(); number != nil {
		return decimalText(number) + "%"
	}
	return missing
}

// dollarText writes dollars as pages do: all decimals and at least two of them, or none for whole dollars.
func dollarText(r *big.Rat) string {
	if places, _ := r.FloatPrec(); places == 1 {
		return "$" + r.FloatString(2)
	}
	return "$" + decimalText(r)
}
