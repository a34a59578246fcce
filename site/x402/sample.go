package x402

import (
	"bytes"
	"encoding/json"
)

// sampleDepth is the largest depth to which a sample follows a schema. maxSample is its largest length in bytes.
const (
	sampleDepth = 6
	maxSample   = 16 << 10
)

// sample returns the smallest value that a JSON schema describes, with required members only. For each value it takes
// the schema's example, default or first allowed value, else "sample", 0 or false. It returns nil without a schema, and
// never follows references.
func sample(schema json.RawMessage, levels int) json.RawMessage {
	list, ok := members(schema)
	if !ok || levels == 0 {
		return nil
	}
	s := object(list)
	if value := ownExample(s); value != nil {
		return value
	}
	switch s.text("type") {
	case "string":
		return json.RawMessage(`"sample"`)
	case "integer", "number":
		return json.RawMessage(`0`)
	case "boolean":
		return json.RawMessage(`false`)
	case "array":
		return json.RawMessage(`[]`)
	case "null":
		return json.RawMessage(`null`)
	}
	if s.text("type") != "object" && s.get("properties") == nil {
		return nil
	}
	return sampleObject(s, levels)
}

// ownExample returns the value that a schema itself contains: its example, default or first allowed value.
func ownExample(s object) json.RawMessage {
	for _, key := range []string{"const", "example", "default"} {
		if value := s.get(key); !absent(value) && len(value) <= maxSample {
			return value
		}
	}
	for _, key := range []string{"examples", "enum"} {
		if values, _, ok := elements(s.get(key), 1); ok && len(values) > 0 && len(values[0]) <= maxSample {
			return values[0]
		}
	}
	return nil
}

func sampleObject(s object, levels int) json.RawMessage {
	properties := s.child("properties")
	required, _, _ := elements(s.get("required"), maxRows)
	var out writer
	for _, raw := range required {
		if name, ok := stringValue(raw); ok {
			out.add(name, sample(properties.get(name), levels-1))
		}
	}
	return out.object()
}

// writer collects the members of an object, up to maxSample bytes.
type writer struct{ bytes.Buffer }

// add adds a member that has a value.
func (w *writer) add(name string, value json.RawMessage) {
	key, err := json.Marshal(name)
	if err != nil || value == nil || w.Len()+len(key)+len(value) > maxSample {
		return
	}
	if w.Len() > 0 {
		w.WriteByte(',')
	}
	w.Write(key)
	w.WriteByte(':')
	w.Write(value)
}

func (w *writer) object() json.RawMessage { return json.RawMessage("{" + w.String() + "}") }

// sampleFields reads version 1's field descriptions, a map of names to a type word, an example or a small schema, into
// an example value for each that is not optional. A type word stands for its smallest value.
func sampleFields(raw json.RawMessage) json.RawMessage {
	list, ok := members(raw)
	if !ok {
		return nil
	}
	var out writer
	for _, m := range list {
		out.add(m.Key, fieldExample(m.Value))
	}
	return out.object()
}

func fieldExample(raw json.RawMessage) json.RawMessage {
	word, isText := stringValue(raw)
	if !isText {
		if list, ok := members(raw); ok {
			if kind(object(list).get("required")) == 'f' {
				return nil
			}
			return sample(raw, sampleDepth)
		}
		return present(raw)
	}
	switch word {
	case "string":
		return json.RawMessage(`"sample"`)
	case "number", "integer":
		return json.RawMessage(`0`)
	case "boolean":
		return json.RawMessage(`false`)
	}
	return raw
}
