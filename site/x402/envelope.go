package x402

import (
	"encoding/json"
	"fmt"
	"strconv"

	"tollbook/site/invisible"
)

// maxRows is the largest number of rows of accepts that are read. A large facilitator refuses more than 16.
const maxRows = 64

// readEnvelope reads one candidate. It returns false when text is neither an envelope nor requirements without one.
func readEnvelope(text json.RawMessage, channel Channel, decode string) (Envelope, bool) {
	e := Envelope{Channel: channel, Decode: decode, Raw: text}
	var d defects
	top, rows, ok := envelopeParts(text, &d)
	if !ok {
		return Envelope{}, false
	}
	if key := duplicateKey(text, 4); key != "" {
		d.add(duplicateMember, key)
	}
	objects := make([]object, len(rows)) // nil for a row that is not an object
	for i, row := range rows {
		objects[i], _ = members(row)
	}
	e.Version = readVersion(top, objects, channel, &d)
	switch inHeader := channel == ChannelHeader; {
	case channel == ChannelMCP: // has one place for all versions
	case e.Version >= 2 && !inHeader:
		d.add(v2OutsideHeader)
	case e.Version == 1 && inHeader:
		d.add(v1InHeader)
	}
	e.Error = clip(cleanText(top.text("error")), maxText)
	for i, row := range rows {
		d.row = &i
		if kind(row) != '{' {
			d.add(rowNotObject)
			continue
		}
		e.Accepts = append(e.Accepts, readRequirement(objects[i], row, top, e.Version, &d))
	}
	d.row = nil
	e.Resource = readResource(top, objects, e.Version, &d)
	e.Discovery = readDiscovery(top, objects, e.Version, &d)
	e.Defects, e.top = d.list, top
	return e, true
}

// envelopeParts returns the envelope's members and the rows of accepts, from any shape that services use.
func envelopeParts(text json.RawMessage, d *defects) (top object, rows []json.RawMessage, ok bool) {
	top, isObject := members(text)
	if !isObject {
		rows, more, _ := elements(text, maxRows)
		if len(rows) == 0 || !isRequirement(rows[0]) {
			return nil, nil, false
		}
		d.add(requirementsBare)
		if more {
			d.add(acceptsTooMany)
		}
		return nil, rows, true
	}
	accepts := top.get("accepts")
	switch {
	case accepts == nil && top.get("x402Version") == nil:
		if !isRequirement(text) {
			return nil, nil, false
		}
		d.add(requirementsBare)
		return nil, []json.RawMessage{text}, true
	case absent(accepts):
		d.add(acceptsMissing)
	case kind(accepts) == '{':
		d.add(acceptsObject)
		rows = []json.RawMessage{accepts}
	case kind(accepts) == '[':
		var more bool
		if rows, more, _ = elements(accepts, maxRows); len(rows) == 0 {
			d.add(acceptsEmpty)
		}
		if more {
			d.add(acceptsTooMany)
		}
	default:
		d.add(acceptsInvalid, string(accepts))
	}
	return top, rows, true
}

// isRequirement reports whether a value has the keys of a row of accepts.
func isRequirement(text json.RawMessage) bool {
	list, ok := members(text)
	if !ok {
		return false
	}
	row := object(list)
	_, recipient := firstOf(row, payToKeys)
	_, price := firstOf(row, amountKeys)
	return row.get("scheme") != nil && row.get("network") != nil && (recipient != nil || price != nil)
}

// firstOf returns the first of keys that is present and not null, with its value.
func firstOf(o object, keys []string) (string, json.RawMessage) {
	for _, key := range keys {
		if value := o.get(key); !absent(value) {
			return key, value
		}
	}
	return "", nil
}

// readVersion returns x402Version, or the version of the envelope's shape if x402Version is missing or invalid.
func readVersion(top object, rows []object, channel Channel, d *defects) int {
	raw := top.get("x402Version")
	switch text, isText := stringValue(raw); {
	case absent(raw):
		if top != nil {
			d.add(versionMissing)
		}
	case kind(raw) == '0':
		if n, ok := versionNumber(numberText(raw)); ok {
			return n
		}
		d.add(versionInvalid, string(raw))
	case isText:
		if n, ok := versionNumber(text); ok {
			d.add(versionText, text)
			return n
		}
		d.add(versionInvalid, text)
	default:
		d.add(versionInvalid, string(raw))
	}
	if channel == ChannelHeader || channel == ChannelAlias {
		return 2
	}
	for _, row := range rows {
		if network := row.text("network"); row.get("amount") != nil || caip2.MatchString(network) {
			return 2
		}
	}
	return 1
}

// versionNumber reads a version from 1 to 99.
func versionNumber(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= 99
}

// readResource reads the description of the resource, from the places of both versions.
func readResource(top object, rows []object, version int, d *defects) Resource {
	from, source := top.get("resource"), top
	if absent(from) {
		for i, row := range rows {
			if value := row.get("resource"); !absent(value) {
				if from, source = value, row; version >= 2 {
					d.row = &i
					d.add(resourceInRow)
					d.row = nil
				}
				break
			}
		}
	}
	var r Resource
	switch kind(from) {
	case '"':
		r.URL = cleanURL(unquote(from))
		r.Description, r.MimeType = words(source, "description", d), words(source, "mimeType", d)
		if version >= 2 {
			d.add(resourceText)
		}
	case '{':
		list, _ := members(from)
		o := object(list)
		r = Resource{
			URL:         cleanURL(o.text("url")),
			Description: words(o, "description", d),
			MimeType:    words(o, "mimeType", d),
			ServiceName: words(o, "serviceName", d),
			IconURL:     cleanURL(o.text("iconUrl")),
			Tags:        readTags(o.get("tags"), d),
		}
		if version == 1 {
			d.add(resourceObject)
		}
	case 0, 'n':
	default:
		d.add(fieldTypeMismatch, "resource")
	}
	if r.URL == "" && len(rows) > 0 {
		d.add(resourceMissing)
	}
	return r
}

// maxTags is the largest number of tags that are read. The protocol allows five.
const maxTags = 16

func readTags(raw json.RawMessage, d *defects) []string {
	list, _, ok := elements(raw, maxTags)
	if !ok {
		if !absent(raw) {
			d.add(fieldTypeMismatch, "tags")
		}
		return nil
	}
	var tags []string
	for _, value := range list {
		if s, ok := stringValue(value); ok {
			if s = clip(cleanText(s), 64); s != "" {
				tags = append(tags, s)
			}
		}
	}
	return tags
}

// words reads a text for people, cleaned and clipped.
func words(o object, key string, d *defects) string {
	raw := o.get(key)
	s, ok := stringValue(raw)
	if !ok {
		if !absent(raw) {
			d.add(fieldTypeMismatch, key)
		}
		return ""
	}
	for _, r := range s {
		if invisible.Is(r) && r != '\n' && r != '\t' && r != '\r' {
			d.add(textCleaned, fmt.Sprintf("%s: U+%04X", key, r))
			break
		}
	}
	return clip(cleanText(s), maxText)
}
