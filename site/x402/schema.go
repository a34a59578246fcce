package x402

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// schemaFault is a rule of the official schemas that an envelope breaks. Row is nil for the envelope itself.
type schemaFault struct {
	row    *int
	detail string // "maxTimeoutSeconds must be a number above zero; got nothing"
}

// schemaFaults returns the broken rules that name a required member or its type. The schemas are those of @x402/core
// for version 2, and of x402 for the rows of version 1. Limits of their networks and schemes are left out, since they
// say what a client supports.
func schemaFaults(e *Envelope) []schemaFault {
	top := e.top
	if top == nil {
		top, _ = members(e.Raw)
	}
	s := schema{version: e.Version, top: top}
	if e.Version >= 2 {
		s.checkEnvelope()
	}
	rows, _, isList := elements(top.get("accepts"), maxRows)
	switch {
	case !isList:
		s.add(mustBe("accepts", "a list", top.get("accepts")))
	case len(rows) == 0:
		s.add("accepts must contain an object; got an empty list")
	}
	for i, raw := range rows {
		s.row = &i
		if row, ok := members(raw); ok {
			s.checkRow(row)
		} else {
			s.add(mustBe("a row of accepts", "an object", raw))
		}
	}
	return s.faults
}

type schema struct {
	version int
	top     object
	row     *int
	faults  []schemaFault
}

func (s *schema) add(detail string) { s.faults = append(s.faults, schemaFault{s.row, detail}) }

// need adds a fault if a member fails a test.
func (s *schema) need(o object, key, want string, test func(json.RawMessage) bool) {
	if raw := o.get(key); !test(raw) {
		s.add(mustBe(key, want, raw))
	}
}

func (s *schema) checkEnvelope() {
	if raw := s.top.get("x402Version"); kind(raw) != '0' || numberText(raw) != "2" {
		s.add(mustBe("x402Version", "the number 2", raw))
	}
	s.need(s.top, "error", "a string", orNull(isString))
	s.need(s.top, "extensions", "an object", orNull(isObject))
	list, ok := members(s.top.get("resource"))
	if !ok {
		s.add(mustBe("resource", "an object", s.top.get("resource")))
		return
	}
	resource := object(list)
	s.need(resource, "url", "a string that is not empty", isText)
	s.need(resource, "description", "a string", orNull(isString))
	s.need(resource, "mimeType", "a string", orNull(isString))
	s.need(resource, "serviceName", "1 to 32 characters of printable ASCII", orNull(isLabel))
	s.need(resource, "iconUrl", "a string of at most 2048 characters", orNull(func(raw json.RawMessage) bool {
		text, ok := stringValue(raw)
		return ok && len(text) <= 2048
	}))
	s.need(resource, "tags", "a list of at most 5 texts of 1 to 32 characters of printable ASCII",
		orNull(func(raw json.RawMessage) bool {
			list, more, ok := elements(raw, 5)
			for _, tag := range list {
				ok = ok && isLabel(tag)
			}
			return ok && !more
		}))
}

func (s *schema) checkRow(row object) {
	s.need(row, "scheme", "a string that is not empty", isText)
	s.need(row, amountKeyOf(s.version), "a string that is not empty", isText)
	s.need(row, "asset", "a string that is not empty", isText)
	s.need(row, "payTo", "a string that is not empty", isText)
	if s.version >= 2 {
		s.need(row, "network", "a CAIP-2 id", func(raw json.RawMessage) bool {
			text, _ := stringValue(raw)
			return len(text) >= 3 && strings.Contains(text, ":")
		})
		s.need(row, "maxTimeoutSeconds", "a number above zero", func(raw json.RawMessage) bool {
			n, err := strconv.ParseFloat(string(raw), 64)
			return kind(raw) == '0' && err == nil && n > 0
		})
		s.need(row, "extra", "an object", orNull(isObject))
		return
	}
	s.need(row, "network", "a string that is not empty", isText)
	s.need(row, "maxTimeoutSeconds", "a whole number", func(raw json.RawMessage) bool {
		return kind(raw) == '0' && numberText(raw) != "" && !strings.Contains(numberText(raw), ".")
	})
	s.need(row, "resource", "an absolute URL", isAbsolute)
	s.need(row, "description", "a string", isString)
	s.need(row, "mimeType", "a string", isString)
	s.need(row, "outputSchema", "an object", orMissing(isObject))
	s.need(row, "extra", "an object", orMissing(isObject))
}

func isString(raw json.RawMessage) bool { return kind(raw) == '"' }

func isObject(raw json.RawMessage) bool { return kind(raw) == '{' }

func isText(raw json.RawMessage) bool {
	text, _ := stringValue(raw)
	return text != ""
}

func isLabel(raw json.RawMessage) bool {
	text, _ := stringValue(raw)
	return text != "" && len(text) <= 32 && isPrinted(text)
}

func isAbsolute(raw json.RawMessage) bool {
	text, _ := stringValue(raw)
	u, err := url.Parse(text)
	return err == nil && u.IsAbs()
}

func orNull(test func(json.RawMessage) bool) func(json.RawMessage) bool {
	return func(raw json.RawMessage) bool { return absent(raw) || test(raw) }
}

func orMissing(test func(json.RawMessage) bool) func(json.RawMessage) bool {
	return func(raw json.RawMessage) bool { return len(raw) == 0 || test(raw) }
}

// schemaWarnings returns the broken rules as warnings.
func schemaWarnings(e *Envelope) []Warning {
	var out []Warning
	for _, f := range schemaFaults(e) {
		out = append(out, Warning{Code: schemaInvalid, Row: f.row, Detail: clip(cleanText(f.detail), 200)})
	}
	return out
}
