package source

import (
	"cmp"
	"fmt"
	"strings"

	"tollbook/site/jsontext"
	"tollbook/site/x402"
)

// readDiscovery reads a page of a facilitator's /discovery/resources.
func readDiscovery(doc []byte) (Page, error) {
	top, err := topOf(doc)
	if err != nil {
		return Page{}, err
	}
	return readResources(top)
}

// readB402 reads a page of B402's bazaar: the same, as the data of an envelope with a code.
func readB402(doc []byte) (Page, error) {
	top, err := topOf(doc)
	if err != nil {
		return Page{}, err
	}
	if data := top.child("data"); !data.isAbsent() {
		return readResources(data)
	}
	return Page{}, fmt.Errorf("%w: it has no data; its code is %.20q", ErrShape, top.text("code"))
}

func readResources(top object) (Page, error) {
	list, err := top.needList("items", "resources", "data")
	if err != nil {
		return Page{}, err
	}
	p := readList(list, readResource)
	window := top.child("pagination")
	if p.Total = window.number("total"); p.Total == nil {
		p.Total = top.number("total")
	}
	p.Next = cmp.Or(window.text("nextCursor", "cursor"), top.text("nextCursor"))
	return p, nil
}

// readResource reads an entry of a catalogue, as leniently as a 402.
func readResource(e *entries, o object) {
	row := Row{
		URL: cmp.Or(o.text("resource", "url"), o.child("resource").text("url")), Method: methodOf(o.text("method")),
		Type: HTTP, Protocol: X402, Service: o.line(MaxName, "serviceName"),
		Description: o.line(MaxText, "description"),
		MimeType:    o.line(MaxName, "mimeType"), Category: o.line(MaxName, "category"), Tags: o.words("tags"),
	}
	kind := strings.ToLower(o.text("type"))
	meta := o.child("metadata")
	row.Description = cmp.Or(row.Description, meta.line(MaxText, "description"))
	row.Service = cmp.Or(row.Service, meta.line(MaxName, "serviceName", "name"))
	if env, ok := x402.Reread(e.raw, x402.ChannelBody, "json"); ok {
		addEnvelope(&row, env)
		if d := env.Discovery; d != nil && d.MCP {
			kind = MCP
		}
	}
	if rows := o.list("accepts"); rows != nil { // version 1 has these members in each row
		for raw := range jsontext.Elements(rows) {
			first := objectOf(raw)
			row.Description = cmp.Or(row.Description, first.line(MaxText, "description"))
			row.MimeType = cmp.Or(row.MimeType, first.line(MaxName, "mimeType"))
			break
		}
	}
	switch kind {
	case "", HTTP:
	case MCP:
		row.Type, row.Tool, row.Method, row.Template = MCP, toolOf(o), "", ""
	default:
		e.skip(NotPaid, row.URL)
		return
	}
	e.add(row)
}

// addEnvelope fills what the entry itself does not say from the envelope that it contains.
func addEnvelope(row *Row, env x402.Envelope) {
	row.URL = cmp.Or(row.URL, env.Resource.URL)
	row.Description = cmp.Or(row.Description, cleanText(env.Resource.Description, MaxText))
	row.Service = cmp.Or(row.Service, cleanText(env.Resource.ServiceName, MaxName))
	row.MimeType = cmp.Or(row.MimeType, cleanText(env.Resource.MimeType, MaxName))
	if row.Tags == nil {
		for _, tag := range env.Resource.Tags[:min(len(env.Resource.Tags), MaxTags)] {
			row.Tags = append(row.Tags, cleanText(tag, MaxName))
		}
	}
	if d := env.Discovery; d != nil {
		row.Method, row.Template = cmp.Or(row.Method, methodOf(d.Method)), d.RouteTemplate
	}
	if len(env.Accepts) > 0 {
		a := env.Accepts[0]
		row.Price = cleanText(strings.Join([]string{a.AmountRaw, a.Asset, a.Network}, " "), MaxPrice)
	}
}

// toolOf returns the name of the tool that an entry of type mcp names.
func toolOf(o object) string {
	input := o.child("extensions").child("bazaar").child("info").child("input")
	return cmp.Or(input.line(MaxName, "toolName", "tool"), o.line(MaxName, "toolName", "tool"),
		o.child("metadata").line(MaxName, "toolName"))
}
