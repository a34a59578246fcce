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
}

// TestSchemasOfOfficialSDKs compares our verdict on the envelope of each fixture with that of the published schemas.
func TestSchemasOfOfficialSDKs(t *testing.T) {
	t.Parallel()
	sdk := nodetest.Install(t, "../../cmd/tollbook/testdata/sdk", "--legacy-peer-deps")
	v1 := nodetest.Install(t, "../../cmd/tollbook/testdata/peers/express-v1", "--legacy-peer-deps")
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
	input, err := json.Marshal(envelopes)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/schemas.cjs",
		filepath.Join(sdk, "@x402/core/dist/cjs/schemas"), filepath.Join(v1, "x402/dist/cjs/types"))
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
