package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFaults checks the sentences for people. They are stored with every check and shown on pages.
func TestFaults(t *testing.T) {
	t.Parallel()
	op := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(93, 184, 216, 34), Port: 443},
			Err: err}
	}
	tests := []struct {
		err           error
		class, reason string
	}{
		{&net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}, ClassUnreachable, "no such host"},
		{op(&net.DNSError{Err: "server misbehaving", Name: "x", Server: "10.0.0.2:53", IsTemporary: true}),
			ClassUnreachable, "DNS lookup failed"},
		{&net.DNSError{Err: "i/o timeout", Name: "x", Server: "10.0.0.2:53", IsTimeout: true}, ClassUnreachable,
			"DNS lookup timed out"},
		{op(os.NewSyscallError("connect", syscall.ECONNREFUSED)), ClassUnreachable, "connection refused"},
		{op(os.NewSyscallError("read", syscall.ECONNRESET)), ClassUnreachable, "connection reset"},
		{op(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), ClassUnreachable, "host unreachable"},
		{op(os.NewSyscallError("connect", syscall.ENETUNREACH)), ClassUnreachable, "host unreachable"},
		{op(os.ErrDeadlineExceeded), ClassUnreachable, "timed out"},
		{op(context.DeadlineExceeded), ClassUnreachable, "timed out"},
		{io.EOF, ClassUnreachable, "connection closed without an answer"},
		{fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w", io.ErrUnexpectedEOF), ClassUnreachable,
			"connection closed without an answer"},
		{errors.New("http: server closed idle connection"), ClassUnreachable, "connection closed without an answer"},
		{errors.New("http2: server sent GOAWAY and closed the connection"), ClassUnreachable,
			"connection closed without an answer"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}, ClassUnreachable,
			"TLS: certificate has expired or is not yet valid"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}},
			ClassUnreachable, "TLS: certificate is invalid"},
		{&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}},
			ClassUnreachable, "TLS: certificate is for another name"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, ClassUnreachable,
			"TLS: certificate is signed by an unknown authority"},
		{&tls.CertificateVerificationError{Err: errors.New("x")}, ClassUnreachable,
			"TLS: certificate cannot be verified"},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, ClassUnreachable,
			"TLS: the server does not speak TLS on this port"},
		{tls.AlertError(40), ClassUnreachable, "TLS: the server refused the handshake"},
		{errors.New("net/http: TLS handshake timeout"), ClassUnreachable, "TLS: handshake timed out"},
		{errors.New("tls: server selected unsupported curve"), ClassUnreachable, "TLS: handshake failed"},
		{errors.New("net/http: server response headers exceeded 262144 bytes; aborted"), ClassOversized,
			"response headers exceed 256 KiB"},
		{errors.New("http2: response header list larger than advertised limit"), ClassOversized,
			"response headers exceed 256 KiB"},
		{errors.New(`malformed HTTP response "220 mail"`), ClassInvalidHTTP, "the answer is not valid HTTP"},
		{errors.New("stream error: stream ID 1; INTERNAL_ERROR"), ClassInvalidHTTP, "the answer is not valid HTTP"},
		{fmt.Errorf("%w: port 25 is not for web services", ErrRefused), ClassRefused,
			"refused: port 25 is not for web services"},
		{newTimeout("timed out", 15*time.Second, context.DeadlineExceeded), ClassUnreachable, "timed out after 15 s"},
		{fmt.Errorf("dial: %w", newTimeout("connecting timed out", 2500*time.Millisecond, nil)), ClassUnreachable,
			"connecting timed out after 2.5 s"},
		{errors.New("something new at 10.0.0.2:53"), ClassUnreachable, "no valid answer"},
	}
	for _, tt := range tests {
		for _, err := range []error{tt.err, &url.Error{Op: "Get", URL: "https://example.com/", Err: tt.err}} {
			if tt.class == ClassRefused && err != tt.err {
				continue // refusals are not wrapped by net/http
			}
			f := asFault(err)
			if diff := cmp.Diff([]string{tt.class, tt.reason}, []string{f.class, f.reason}); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
	}
}

// TestConnectTimeouts checks the limits of the handshake and of the dial, which are shorter than that of the request.
func TestConnectTimeouts(t *testing.T) {
	t.Parallel()
	silent := "https" + raw(t, true, hang)[len("http"):]
	p := New(Options{Guard: &Guard{AllowPrivate: []string{"127.0.0.1"}}, ConnectTimeout: time.Second})
	t.Cleanup(p.Close)
	if got := p.Probe(t.Context(), Target{URL: silent}); got.Reason != "TLS: handshake timed out" {
		t.Errorf("TLS: %s (%s)", got.Class, got.Reason)
	}
	stuck := New(Options{ConnectTimeout: time.Second, Routes: []Route{{
		Domain: "sample.test",
		Dial: func(ctx context.Context, _, _ string) (net.Conn, bool, error) {
			<-ctx.Done()
			return nil, true, ctx.Err()
		},
	}}})
	t.Cleanup(stuck.Close)
	if got := stuck.Probe(t.Context(),
		Target{URL: "http://a.sample.test/"}); got.Reason != "connecting timed out after 1 s" {
		t.Errorf("TCP: %s (%s)", got.Class, got.Reason)
	}
}
