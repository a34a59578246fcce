package probe

import (
	"crypto/tls"
	"io"
	"net/http"
	"testing"
	"time"
)

// TestGRPC asks servers that answer as gRPC does: with status 200, and the result of the call in trailers.
func TestGRPC(t *testing.T) {
	t.Parallel()
	trailers := func(contentType string, pairs ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			for i := 0; i < len(pairs); i += 2 {
				w.Header().Set(http.TrailerPrefix+pairs[i], pairs[i+1])
			}
			_, _ = io.WriteString(w, "x")
		}
	}
	const challenge = `L402 macaroon="AGIA", invoice="lnbc1"`
	for _, tt := range []struct {
		name    string
		service http.HandlerFunc
		class   string
		reason  string
	}{
		{"L402", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Www-Authenticate", challenge)
			trailers("application/grpc", "Grpc-Status", "13", "Grpc-Message", "payment required")(w, r)
		}, ClassGRPC, "asks for payment over L402 by gRPC, which needs a client of that service"},
		{"LSAT in the header", status(200, "Grpc-Status", "13", "Www-Authenticate", "LSAT"+challenge[4:]), ClassGRPC,
			"asks for payment over L402 by gRPC, which needs a client of that service"},
		{"a failed call", trailers("application/json", "Grpc-Status", "13", "Grpc-Message", "payment required"),
			ClassGRPC, "answers the gRPC status 13: payment required"},
		{"a server without a result", status(200, "Content-Type", "application/grpc+proto"), ClassGRPC,
			"answers over gRPC, which needs a client of that service"},
		{"a call that succeeded", trailers("application/grpc", "Grpc-Status", "0"), ClassOpen,
			"answers 200 OK without asking for payment"},
		{"another trailer", trailers("application/json", "Digest", "x"), ClassOpen,
			"answers 200 OK without asking for payment"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, _, base := serve(t, tt.service)
			if got := p.Probe(t.Context(), Target{URL: base, Method: "GET"}); got.Class != tt.class || got.Reason != tt.reason {
				t.Errorf("over HTTP/1.1: %s: %s; want %s: %s", got.Class, got.Reason, tt.class, tt.reason)
			}
			ca := newAuthority(t)
			server := startTLS(t, &tls.Config{Certificates: []tls.Certificate{
				ca.issue(t, "a.sample.test", -time.Hour, time.Hour)}}, tt.service)
			q := New(Options{Routes: []Route{sampleRoute(server.Listener.Addr().String(), ca.pool)}})
			t.Cleanup(q.Close)
			got := q.Probe(t.Context(), Target{URL: "https://a.sample.test/", Method: "GET"})
			if got.Class != tt.class || got.Reason != tt.reason {
				t.Errorf("over HTTP/2: %s: %s; want %s: %s", got.Class, got.Reason, tt.class, tt.reason)
			}
		})
	}
}
