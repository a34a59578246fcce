package jsontext

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestRead checks which documents are JSON, and what is said of the others.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, doc, want, fault string }{
		{name: "an object", doc: " {\"a\": 1}\r\n", want: `{"a": 1}`},
		{name: "a byte order mark", doc: "\ufeff [1]", want: "[1]"},
		{name: "a number", doc: "7", want: "7"},
		{name: "bytes that are not UTF-8", doc: "[\"caf\xe9\"]", want: "[\"caf\xe9\"]"},
		{name: "nothing", doc: "", fault: "it is empty"},
		{name: "a byte order mark alone", doc: "\ufeff", fault: "it is empty"},
		{name: "two byte order marks", doc: "\ufeff\ufeff[]", fault: "it is not JSON: invalid character"},
		{name: "UTF-16", doc: "\xff\xfe[\x00]\x00", fault: "it is UTF-16; JSON is UTF-8"},
		{name: "HTML", doc: "<!DOCTYPE html><p>", fault: "it is an HTML page, not JSON"},
		{name: "HTML after a comment", doc: "<!-- x --><html>", fault: "it is an HTML page, not JSON"},
		{name: "XML", doc: "<?xml version='1.0'?><a/>", fault: "it is XML, not JSON"},
		{name: "two values", doc: "{} {}", fault: "more text follows its JSON value"},
		{name: "a value and a comma", doc: "[1],", fault: "more text follows its JSON value"},
		{name: "half a document", doc: `{"a": [1, 2`, fault: "it is not JSON: it ends in the middle"},
		{name: "a comment", doc: `{"a": 1 /* x */}`, fault: "it is not JSON: invalid character '/' after object key:value " +
			"pair at byte 9"},
		{name: "YAML", doc: "openapi: 3.1.0", fault: "it is not JSON: invalid character 'o'"},
		{name: "deep", doc: strings.Repeat("[", 20_000), fault: "it nests more than 10000 levels"},
	} {
		got, err := Read([]byte(c.doc))
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if string(got) != c.want || !strings.HasPrefix(fault, c.fault) || (fault == "") != (c.fault == "") {
			t.Errorf("%s: %.40q, error %q; want %q, error %q", c.name, got, fault, c.want, c.fault)
		}
	}
}

// TestObject checks that the last of a repeated key counts, and that wrong kinds are no objects and no lists.
func TestObject(t *testing.T) {
	t.Parallel()
	o := ReadObject([]byte(`{"a": 1, "b\u0021": "x\n", "a": [2], "n": null}`), 10)
	for key, want := range map[string]string{"a": "[2]", "b!": `"x\n"`, "n": "null", "c": ""} {
		if got := string(o.Get(key)); got != want || o.Has(key) != (want != "") {
			t.Errorf("member %q is %q, want %q", key, got, want)
		}
	}
	if got := ReadObject([]byte(`{"a": 1, "b": 2, "c": 3}`), 2); len(got) != 2 {
		t.Errorf("%d members, want the first 2", len(got))
	}
	if ReadObject([]byte("{}"), 1) == nil || List([]byte("[]")) == nil {
		t.Error("an empty object or list is absent")
	}
	for _, text := range []string{"", "null", "7", `"x"`, "[1]"} {
		if ReadObject([]byte(text), 1) != nil || text != "[1]" && List([]byte(text)) != nil {
			t.Errorf("%q is read as an object or a list", text)
		}
	}
	for text, want := range map[string]string{`"a\u00e9"`: "aé", "-1.50": "-1.50", "true": "", "null": "", "{}": ""} {
		if got := Scalar([]byte(text)); got != want {
			t.Errorf("Scalar(%s) = %q, want %q", text, got, want)
		}
	}
}

// FuzzRead checks that Read returns valid JSON or says what a document is instead.
func FuzzRead(f *testing.F) {
	for _, doc := range []string{"\ufeff{\"a\": [1]}", "<html>", "\xff\xfe[", "{} {}", `{"a": `, "[\"\xff\"]", "7 ",
		"nul"} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		text, err := Read(doc)
		if (err == nil) != json.Valid(bytes.TrimPrefix(doc, []byte(ByteOrderMark))) {
			t.Errorf("error %v", err)
		}
		if err != nil {
			return
		}
		o := ReadObject(text, 1000)
		if (o != nil) != (Kind(text) == '{') || (List(text) != nil) != (Kind(text) == '[') {
			t.Errorf("%q is read as another kind", text)
		}
		for _, m := range o {
			if !json.Valid(m.Value) || len(o) < 1000 && o.Get(m.Key) == nil {
				t.Errorf("member %q is %q", m.Key, m.Value)
			}
		}
	})
}
