package x402

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tollbook/cmd/nodetest"
)

// schemaDisagreements lists the fixtures that the official schemas and ours judge differently, and why.
var schemaDisagreements = map[string]string{
	"10-v1-caip2-network": "the client of version 1 supports its own networks only",
	"unknown network":     "the same; the check network_caip2 fails for it",
}

// Rows that the official schemas accept.
const (
	schemaRow = `{"scheme":"exact","network":"eip155:8453","amount":"10000",` +
		`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",` +
		`"maxTimeoutSeconds":60,"extra":{}}`
	schemaRowV1 = `{"scheme":"exact","network":"base","maxAmountRequired":"10000",` +
		`"resource":"https://api.acme.test/quote","description":"d","mimeType":"application/json","outputSchema":{},` +
		`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",` +
		`"maxTimeoutSeconds":60}`
)

// TestSchemasOfOfficialSDKs compares our verdict on the envelope of each fixture with that of the published schemas.
func TestSchemasOfOfficialSDKs(t *testing.T) {
	t.Parallel()
	sdk := nodetest.Install(t, "../../cmd/tollbook/testdata/sdk", "--legacy-peer-deps")
	express := nodetest.Install(t, "../../cmd/tollbook/testdata/peers/express-v1", "--legacy-peer-deps")
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	envelopes, refused := map[string]json.RawMessage{}, map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, envelope, _ := strings.Cut(string(text), "-- envelope.json --\n")
		envelope, _, _ = strings.Cut(envelope, "\n-- ")
		e, ok := Reread(json.RawMessage(envelope), ChannelHeader, "std")
		if !ok || e.top == nil {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		envelopes[name], refused[name] = e.Raw, len(schemaFaults(&e)) > 0
	}
	for name, changes := range map[string]map[string]any{
		"valid": nil, "no timeout": {"maxTimeoutSeconds": nil}, "timeout 0": {"maxTimeoutSeconds": 0},
		"timeout as text": {"maxTimeoutSeconds": "60"}, "extra as text": {"extra": "{}"},
		"decimal amount": {"amount": "0.01"}, "amount as a number": {"amount": 1},
	} {
		raw, err := json.Marshal(envelopeWith(2, rowWith(changes)))
		if err != nil {
			t.Fatal(err)
		}
		e, _ := Reread(raw, ChannelHeader, "std")
		envelopes[name], refused[name] = e.Raw, len(schemaFaults(&e)) > 0
	}
	const v2 = `{"x402Version":2,"resource":{"url":"https://api.acme.test/quote"},"accepts":[` + schemaRow + `]}`
	const v1 = `{"x402Version":1,"error":"pay","accepts":[` + schemaRowV1 + `]}`
	for name, raw := range map[string]string{
		"version 2":               v2,
		"version 1":               v1,
		"a null row":              strings.Replace(v2, "]", ",null]", 1),
		"no resource":             strings.Replace(v2, `"resource":{"url":"https://api.acme.test/quote"},`, "", 1),
		"resource as text":        strings.Replace(v2, `{"url":"https://api.acme.test/quote"}`, `"quote"`, 1),
		"resource without a url":  strings.Replace(v2, `"url"`, `"uri"`, 1),
		"no payTo":                strings.Replace(v2, `"payTo"`, `"payToAddress"`, 1),
		"payTo as an object":      strings.Replace(v2, `"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"`, `{}`, 1),
		"network without a colon": strings.Replace(v2, "eip155:8453", "base", 1),
		"null extra":              strings.Replace(v2, `"extra":{}`, `"extra":null`, 1),
		"no accepts":              `{"x402Version":2,"resource":{"url":"https://api.acme.test/quote"}}`,
		"output schema null":      strings.Replace(v1, `"outputSchema":{}`, `"outputSchema":null`, 1),
		"relative resource":       strings.Replace(v1, `"https://api.acme.test/quote"`, `"/quote"`, 1),
		"no description":          strings.Replace(v1, `"description":"d",`, "", 1),
		"unknown network":         strings.Replace(v1, `"base"`, `"moonbase"`, 1),
	} {
		e, ok := Reread(json.RawMessage(raw), ChannelHeader, "std")
		if !ok {
			t.Errorf("%s: can't be read", name)
			continue
		}
		envelopes[name], refused[name] = json.RawMessage(raw), len(schemaFaults(&e)) > 0
	}
	input, err := json.Marshal(envelopes)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/schemas.cjs",
		filepath.Join(sdk, "@x402/core/dist/cjs/schemas"), filepath.Join(express, "x402/dist/cjs/types"))
	cmd.Stdin = bytes.NewReader(input)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var said map[string]string
	if err := json.Unmarshal(output, &said); err != nil {
		t.Fatal(err)
	}
	for name, reason := range said {
		differs := refused[name] != (reason != "")
		if why, listed := schemaDisagreements[name]; differs != listed {
			t.Errorf("%s: ours refuses it: %v; official: %q; listed: %q", name, refused[name], reason, why)
		}
	}
	for name := range schemaDisagreements {
		if _, ok := said[name]; !ok {
			t.Errorf("%s is listed, but no fixture", name)
		}
	}
}
