package probe

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"tollbook/site/rail"
)

// TestLook compares what a service asks agents and browsers for, and by GET and POST.
func TestLook(t *testing.T) {
	t.Parallel()
	const other = "0x742d35Cc6634C0532925a3b844Bc454e4438f44e"
	terms := func(w http.ResponseWriter, amount, payTo string) {
		body := strings.NewReplacer(`"10000"`, `"`+amount+`"`, "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", payTo).
			Replace(fmt.Sprintf(envelope, ""))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		fmt.Fprint(w, body)
	}
	const own = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	isBrowser := func(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }
	var count atomic.Int64
	for _, tt := range []struct {
		name     string
		service  http.HandlerFunc
		want     string // what differs, in the order of the readers
		requests int    // of the look, beyond those of the probe
	}{
		{"the same", func(w http.ResponseWriter, _ *http.Request) { terms(w, "10000", own) }, "", 3},
		{"a page for browsers", func(w http.ResponseWriter, r *http.Request) {
			if isBrowser(r) {
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<html>")
				return
			}
			terms(w, "10000", own)
		}, "", 3},
		{"a browser pays another", func(w http.ResponseWriter, r *http.Request) {
			if isBrowser(r) {
				terms(w, "10000", other)
				return
			}
			terms(w, "10000", own)
		}, "recipient", 4},
		{"a browser pays more", func(w http.ResponseWriter, r *http.Request) {
			if isBrowser(r) {
				terms(w, "20000", own)
				return
			}
			terms(w, "10000", own)
		}, "amount", 4},
		{"a page that asks for another payment", func(w http.ResponseWriter, r *http.Request) {
			if isBrowser(r) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusPaymentRequired)
				fmt.Fprintf(w, "<script>window.x402 = {paymentRequired: %s}</script>", strings.Replace(
					fmt.Sprintf(envelope, ""), own, other, 1))
				return
			}
			terms(w, "10000", own)
		}, "recipient", 4},
		{"POST pays another", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				terms(w, "10000", other)
				return
			}
			terms(w, "10000", own)
		}, "recipient", 4},
		{"POST costs more", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				terms(w, "90000", own)
				return
			}
			terms(w, "10000", own)
		}, "", 3},
		{"another price for every request", func(w http.ResponseWriter, _ *http.Request) {
			terms(w, fmt.Sprint(1000+count.Add(1)), own)
		}, "", 4},
		{"a client that pays another", func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.UserAgent(), "node") {
				terms(w, "10000", other)
				return
			}
			terms(w, "10000", own)
		}, "recipient", 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, service, base := serve(t, tt.service)
			r := p.Probe(t.Context(), Target{URL: base, Method: "GET", OnlyMethod: true})
			before := len(service.seen)
			var got []string
			for _, c := range rail.CompareReaders(p.Look(t.Context(), r, true)) {
				got = append(got, c.Of)
			}
			if text := strings.Join(got, ", "); text != tt.want || len(service.seen)-before != tt.requests {
				t.Errorf("%q differs after %d requests, want %q after %d", text, len(service.seen)-before, tt.want,
					tt.requests)
			}
		})
	}
}
