package judge

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tollbook/site/x402"
)

// TestMethodologyFingerprint checks that the page's worked example of a fingerprint is that of its graded example, and
// that it follows the recipe.
func TestMethodologyFingerprint(t *testing.T) {
	t.Parallel()
	page := readMethodology(t)
	block := func(heading string) string {
		_, part, _ := strings.Cut(page, "\n### "+heading+"\n")
		_, part, _ = strings.Cut(part, "\n    ")
		part, _, _ = strings.Cut(part, "\n\n")
		return strings.ReplaceAll(part, "\n    ", "\n")
	}
	header := base64.StdEncoding.EncodeToString([]byte(block("A version 2 service")))
	envelope := x402.Capture(x402.Answer{Status: 402, Header: http.Header{"Payment-Required": {header}},
		URL: "https://api.acme.test/quote"}).Envelope
	if envelope == nil {
		t.Fatal("the page's envelope cannot be read")
	}
	_, section, _ := strings.Cut(page, "\n### Fingerprints\n")
	section, _, _ = strings.Cut(section, "\n### ")
	text := block("Fingerprints") + "\n"
	want := envelope.Fingerprint()
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(text))); got != want {
		t.Errorf("the SHA-256 of the page's text is %s, the fingerprint is %s. The text is\n%s", got, want, text)
	}
	if !strings.Contains(section, "\n    "+want+"\n") {
		t.Errorf("the page does not contain the fingerprint %s", want)
	}
	for _, member := range x402.VolatileExtra() {
		if !strings.Contains(section, "`"+member+"`") {
			t.Errorf("the page does not say that the fingerprint leaves out %s", member)
		}
	}
}
