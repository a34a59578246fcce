// Package x402test reads the recorded responses of testdata, which the tests of several packages answer with: the
// envelopes from the field, and the fixtures of package x402.
//
// It must never know how a response is read or judged.
package x402test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/template"
	"time"

	"golang.org/x/tools/txtar"
)

// Response is a response as it is sent.
type Response struct {
	Name   string
	Status int
	Header http.Header
	Body   []byte
}

// Fill is what the placeholders of the field's envelopes stand for.
type Fill struct {
	Base    string    // {BASE}: the URL of the server
	Invoice string    // {INVOICE}: a BOLT11 invoice
	Expires time.Time // {EXPIRES}
}

// ReadField reads field/envelopes.json, by name. A header value {"b64": JSON} is sent as base64, {"b64url": JSON} as
// base64url without padding, and {"mpp": {...}} as a challenge Payment, whose request is base64url of its JSON.
func ReadField(data []byte, fill Fill) ([]Response, error) {
	data = []byte(strings.NewReplacer("{BASE}", fill.Base, "{INVOICE}", fill.Invoice,
		"{EXPIRES}", fill.Expires.UTC().Format(time.RFC3339)).Replace(string(data)))
	var cases map[string]struct {
		Status  int                  `json:"status"`
		Headers [][2]json.RawMessage `json:"headers"`
		Body    json.RawMessage      `json:"body"`
		BodyB64 []byte               `json:"body_b64"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		return nil, fmt.Errorf("read the envelopes of the field: %w", err)
	}
	var list []Response
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		r := Response{Name: name, Status: c.Status, Header: http.Header{}, Body: c.BodyB64}
		if r.Status == 0 {
			r.Status = http.StatusPaymentRequired
		}
		for _, pair := range c.Headers {
			var key string
			if err := json.Unmarshal(pair[0], &key); err != nil {
				return nil, fmt.Errorf("read the headers of %s: %w", name, err)
			}
			value, err := headerValue(pair[1])
			if err != nil {
				return nil, fmt.Errorf("read the header %s of %s: %w", key, name, err)
			}
			r.Header.Add(key, value)
		}
		if r.Header.Get("Content-Type") == "" {
			r.Header.Set("Content-Type", "application/json")
		}
		var text string
		switch {
		case c.BodyB64 != nil || c.Body == nil:
		case json.Unmarshal(c.Body, &text) == nil:
			r.Body = []byte(text)
		default:
			r.Body = compact(c.Body)
		}
		list = append(list, r)
	}
	return list, nil
}

// headerValue returns the text of a header value of the field's envelopes.
func headerValue(raw json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var packed struct {
		B64    json.RawMessage `json:"b64"`
		B64URL json.RawMessage `json:"b64url"`
		MPP    json.RawMessage `json:"mpp"`
	}
	if err := json.Unmarshal(raw, &packed); err != nil {
		return "", err
	}
	switch {
	case packed.B64 != nil:
		return base64.StdEncoding.EncodeToString(compact(packed.B64)), nil
	case packed.B64URL != nil:
		return base64.RawURLEncoding.EncodeToString(compact(packed.B64URL)), nil
	}
	return challenge(packed.MPP)
}

// challenge returns a challenge Payment with its parameters in the order of an object.
func challenge(raw json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil { // the brace
		return "", err
	}
	var params []string
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return "", err
		}
		var text string
		if json.Unmarshal(value, &text) != nil || string(value) == "null" {
			text = string(compact(value))
			if key == "request" {
				text = base64.RawURLEncoding.EncodeToString([]byte(text))
			}
		}
		params = append(params, fmt.Sprintf(`%s="%s"`, key, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)))
	}
	return "Payment " + strings.Join(params, ", "), nil
}

func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return raw // the caller has read it as JSON
	}
	return b.Bytes()
}

// Members returns the files of an archive by name.
func Members(archive *txtar.Archive) map[string][]byte {
	members := map[string][]byte{}
	for _, f := range archive.Files {
		members[f.Name] = f.Data
	}
	return members
}

// ReadFixture expands the template of a fixture's response, and reads it as HTTP/1.1. The body begins after the blank
// line. It reads at most maxBody bytes of it, and one more.
//
//	{{std "envelope.json"}}      the file, compacted, in standard base64; also stdraw, url, urlraw, json
//	{{repeat 60000 "x"}}         60,000 times x
func ReadFixture(text []byte, members map[string][]byte, maxBody int) (Response, error) {
	encode := func(e *base64.Encoding) func(string) string {
		return func(name string) string { return e.EncodeToString(compact(members[name])) }
	}
	expand, err := template.New("answer").Funcs(template.FuncMap{
		"std": encode(base64.StdEncoding), "stdraw": encode(base64.RawStdEncoding),
		"url": encode(base64.URLEncoding), "urlraw": encode(base64.RawURLEncoding),
		"json":   func(name string) string { return string(compact(members[name])) },
		"repeat": func(n int, s string) string { return strings.Repeat(s, n) },
		"quoted": func(name string) (string, error) {
			text, err := json.Marshal(string(compact(members[name])))
			return string(text), err
		},
		"padded": func(name string) string { // "PADDING" in the file stands for 45,000 bytes
			return base64.StdEncoding.EncodeToString(bytes.Replace(compact(members[name]), []byte("PADDING"),
				bytes.Repeat([]byte("y"), 45000), 1))
		},
		"first": func(n int, s string) string { return s[:n] },
	}).Parse(string(text))
	if err != nil {
		return Response{}, fmt.Errorf("read the template of a fixture: %w", err)
	}
	var b bytes.Buffer
	if err := expand.Execute(&b, nil); err != nil {
		return Response{}, fmt.Errorf("expand a fixture: %w", err)
	}
	head, body, _ := strings.Cut(b.String(), "\n\n")
	head = strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n"
	r, err := http.ReadResponse(bufio.NewReaderSize(strings.NewReader(head+strings.TrimSuffix(body, "\n")), 1<<20), nil)
	if err != nil {
		return Response{}, fmt.Errorf("read a fixture: %w", err)
	}
	defer r.Body.Close()
	content, err := io.ReadAll(io.LimitReader(r.Body, int64(maxBody)+1))
	if err != nil {
		return Response{}, fmt.Errorf("read the body of a fixture: %w", err)
	}
	return Response{Status: r.StatusCode, Header: r.Header, Body: content}, nil
}
