package probe

import (
	"errors"
	"net/http"
	"testing"
)

// TestHead checks what each answer to HEAD says about payment, and that one request is sent.
func TestHead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		want   *bool
	}{
		{"served", status(200), new(true)},
		{"served without content", status(204), new(true)},
		{"asked to pay", func(w http.ResponseWriter, _ *http.Request) { demand(w) }, new(false)},
		{"no such method", status(405), new(false)},
		{"not there", status(404), new(false)},
		{"sent elsewhere", status(302, "Location", "/other"), new(false)},
		{"wants credentials", status(401), nil},
		{"a bot filter", status(403, "Cf-Mitigated", "challenge"), nil},
		{"too often", status(429), nil},
		{"in trouble", status(500), nil},
		{"come back later", status(503, "Retry-After", "1"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, service, base := serve(t, test.answer)
			answer, err := p.Head(t.Context(), base+"/x?a=b")
			got := answer.Free
			if err != nil || (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
				t.Errorf("got %v, %v", got, err)
			}
			if len(service.seen) != 1 || service.seen[0] != "HEAD /x?a=b" {
				t.Errorf("requests %q", service.seen)
			}
		})
	}
	p := New(Options{})
	t.Cleanup(p.Close)
	for _, address := range []string{"http://127.0.0.1/x", "ftp://example.com/x", "http://[::1]:8080/", "%"} {
		if _, err := p.Head(t.Context(), address); !errors.Is(err, ErrRefused) {
			t.Errorf("HEAD of %s: %v, want a refusal", address, err)
		}
	}
}
