package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"tollbook/site/jsontext"
)

// readMPPServices reads the registry of mpp.dev.
func readMPPServices(doc []byte) (Page, error) {
	return readServices(doc, func(e *entries, o object) {
		base := o.text("serviceUrl", "url")
		of := serviceRow(o, MPP)
		for raw := range jsontext.Elements(o.list("endpoints")) {
			ep := objectOf(raw)
			payment := ep.child("payment")
			address := join(base, placeholders(ep.text("path")))
			if payment.isAbsent() {
				e.skip(NotPaid, address)
				continue
			}
			row := of
			row.URL, row.Method = address, methodOf(ep.text("method"))
			row.Description = cmp.Or(ep.line(MaxText, "description"), of.Description)
			row.Price = cleanText(strings.Join([]string{payment.text("amount", "amountHint"), payment.text("currency"),
				payment.text("method")}, " "), MaxPrice)
			e.add(row)
		}
	})
}

// readL402Directory reads the services of l402.directory.
func readL402Directory(doc []byte) (Page, error) {
	return readServices(doc, func(e *entries, o object) {
		of := serviceRow(o, L402)
		for raw := range jsontext.Elements(o.list("endpoints")) {
			ep := objectOf(raw)
			pricing := ep.child("pricing")
			if amount := pricing.text("amount"); amount == "" || amount == "0" {
				e.skip(NotPaid, ep.text("url"))
				continue
			}
			row := of
			row.URL, row.Method = ep.text("url"), methodOf(ep.text("method"))
			row.Description = cmp.Or(ep.line(MaxText, "description"), of.Description)
			row.Price = cleanText(pricing.text("amount")+" "+pricing.text("currency"), MaxPrice)
			e.add(row)
		}
	})
}

// readSatring reads a page of Satring's services. Summaries have no URL; they are for readers who do not pay.
func readSatring(doc []byte) (Page, error) {
	partial := false
	p, err := readServices(doc, func(e *entries, o object) {
		named, _, _ := strings.Cut(o.text("protocol"), "+")
		row := serviceRow(o, cmp.Or(protocolOf(named), L402))
		row.URL, row.Service = o.text("url"), cmp.Or(o.line(MaxName, "owner_name"), row.Service)
		row.Name = o.line(MaxName, "name")
		row.Price = price(o, "pricing_usd", "USD", "pricing_sats", "sats")
		partial = partial || row.URL == "" && o.text("slug") != ""
		e.add(row)
	})
	p.Partial = partial
	return p, err
}

// readIndex reads a page of 402 Index.
func readIndex(doc []byte) (Page, error) {
	return readServices(doc, func(e *entries, o object) {
		row := serviceRow(o, protocolOf(o.text("protocol")))
		row.URL, row.Method = o.text("url"), methodOf(o.text("http_method"))
		row.Service, row.Name = o.line(MaxName, "provider"), o.line(MaxName, "name")
		row.Price = price(o, "price_usd", "USD", "price_sats", "sats")
		e.add(row)
	})
}

// readServices reads an object with a list of services and perhaps their number.
func readServices(doc []byte, read func(e *entries, o object)) (Page, error) {
	top, err := topOf(doc)
	if err != nil {
		return Page{}, err
	}
	list, err := top.needList("services")
	if err != nil {
		return Page{}, err
	}
	p := readList(list, read)
	p.Total = top.number("total")
	return p, nil
}

// serviceRow returns what all rows of a service have in common.
func serviceRow(o object, protocol string) Row {
	row := Row{Type: HTTP, Protocol: protocol, Service: o.line(MaxName, "name"),
		Description: o.line(MaxText, "description"), Category: o.line(MaxName, "category"), Tags: o.words("tags")}
	if list := o.words("categories"); row.Category == "" && len(list) > 0 {
		row.Category = list[0]
	}
	return row
}

// price returns the first of two amounts with its unit, "" for none.
func price(o object, first, unit, second, other string) string {
	if s := o.line(MaxPrice/2, first); s != "" {
		return s + " " + unit
	}
	if s := o.line(MaxPrice/2, second); s != "" {
		return s + " " + other
	}
	return ""
}

// placeholders writes the parameters of a path, such as :id, as {id}.
func placeholders(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok && name != "" {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// readMPPScan reads a page of MPPScan's list of sites.
func readMPPScan(doc []byte) (Page, error) {
	data, err := resultOf(doc)
	if err != nil {
		return Page{}, err
	}
	list, err := data.needList("origins", "items")
	if err != nil {
		return Page{}, err
	}
	p := readList(list, func(e *entries, o object) {
		row := serviceRow(o, MPP)
		row.URL, row.Site = o.text("url", "origin"), true
		row.Service = cmp.Or(row.Service, o.line(MaxName, "title"))
		e.add(row)
	})
	p.Total = data.number("total", "total_count")
	return p, nil
}

// readX402Scan reads a page of x402scan's resources, from the query of its pages or from its paid API.
func readX402Scan(doc []byte) (Page, error) {
	top, err := topOf(doc)
	if err != nil {
		return Page{}, err
	}
	data, window := top, top.child("pagination")
	if window.isAbsent() {
		if data, err = resultOf(doc); err != nil {
			return Page{}, err
		}
		window = data
	}
	list, err := data.needList("items", "data")
	if err != nil {
		return Page{}, err
	}
	p := readList(list, func(e *entries, o object) {
		if !jsontext.IsAbsent(o.Get("deprecatedAt")) {
			e.skip(NotPaid, o.text("resource"))
			return
		}
		before := len(e.page.Rows)
		readResource(e, o)
		if len(e.page.Rows) > before {
			row, origin := &e.page.Rows[before], o.child("origin")
			row.Service = cmp.Or(row.Service, origin.line(MaxName, "title"))
			row.Description = cmp.Or(row.Description, origin.line(MaxText, "description"))
			row.Tags = tagsOf(o)
		}
	})
	p.Total = window.number("total_count", "total")
	more := cmp.Or(string(window.Get("hasNextPage")), string(window.Get("has_next_page")))
	p.Last = more == "false"
	return p, nil
}

// tagsOf returns the tags of a resource of x402scan, each an object with a tag.
func tagsOf(o object) (tags []string) {
	for raw := range jsontext.Elements(o.list("tags")) {
		if tag := objectOf(raw).child("tag").line(MaxName, "name"); tag != "" && len(tags) < MaxTags {
			tags = append(tags, tag)
		}
	}
	return tags
}

// resultOf returns the result of a tRPC query.
func resultOf(doc []byte) (object, error) {
	doc, err := readJSON(doc)
	if err != nil {
		return object{}, err
	}
	top := objectOf(doc)
	data := top.unwrap("result", "data")
	if inner := data.child("json"); !inner.isAbsent() {
		data = inner
	}
	if data.isAbsent() {
		return object{}, fmt.Errorf("%w: it has no result; its error is %.80q", ErrShape,
			cmp.Or(top.unwrap("error", "json").text("message"), top.child("error").text("message")))
	}
	return data, nil
}

// readL402Apps reads the list of APIs in the page of l402apps.com.
func readL402Apps(doc []byte) (Page, error) {
	_, rest, ok := bytes.Cut(doc, []byte("window.__APIS__"))
	rest, isSet := bytes.CutPrefix(bytes.TrimLeft(rest, " "), []byte("="))
	list := jsontext.First(rest)
	if !ok || !isSet || jsontext.Kind(list) != '[' || !json.Valid(list) {
		return Page{}, fmt.Errorf("%w: the page has no list __APIS__", ErrShape)
	}
	return readList(list, func(e *entries, o object) {
		row := serviceRow(o, L402)
		row.URL, row.Method = o.text("endpoint"), methodOf(o.text("method"))
		row.Service, row.Name = o.line(MaxName, "provider"), o.line(MaxName, "name")
		if cost := o.line(MaxPrice/2, "cost"); cost != "" {
			row.Price = cost + " sats"
		}
		e.add(row)
	}), nil
}
