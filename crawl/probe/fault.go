package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"
)

// A fault ends an exchange. Its reason is a stable sentence for people. The libraries' own text stays in err, for logs.
type fault struct {
	class  string
	reason string
	err    error
}

func (f *fault) Error() string {
	if f.err == nil {
		return f.reason
	}
	return f.reason + ": " + f.err.Error()
}

func (f *fault) Unwrap() error { return f.err }

// errBody marks a fault after the response headers, while the body was read.
var errBody = errors.New("body broke off")

func judgeFault(err error) (Verdict, string, string) {
	f := asFault(err)
	switch f.class {
	case ClassRefused:
		return Refused, f.class, f.reason
	case ClassInterrupted:
		return Inconclusive, f.class, f.reason
	}
	return Failed, f.class, f.reason
}

// asFault finds the sentence for an error of net/http, crypto/tls or the resolver. The sentence never contains the text
// of an error that names our sockets, resolvers or files.
func asFault(err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, ErrRefused) {
		return &fault{ClassRefused, err.Error(), ErrRefused}
	}
	for _, read := range []func(error) (class, reason string){dnsFault, tlsFault, connFault, httpFault} {
		if class, reason := read(err); reason != "" {
			return &fault{class, reason, err}
		}
	}
	return &fault{ClassUnreachable, "no valid answer", err}
}

func dnsFault(err error) (class, reason string) {
	var dns *net.DNSError
	switch {
	case !errors.As(err, &dns):
		return "", ""
	case dns.IsNotFound:
		return ClassUnreachable, "no such host"
	case dns.IsTimeout:
		return ClassUnreachable, "DNS lookup timed out"
	}
	return ClassUnreachable, "DNS lookup failed"
}

func tlsFault(err error) (class, reason string) {
	var (
		invalid   x509.CertificateInvalidError
		wrongName x509.HostnameError
		unknown   x509.UnknownAuthorityError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		verify    *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		reason = "TLS: certificate has expired or is not yet valid"
	case errors.As(err, &invalid):
		reason = "TLS: certificate is invalid"
	case errors.As(err, &wrongName):
		reason = "TLS: certificate is for another name"
	case errors.As(err, &unknown):
		reason = "TLS: certificate is signed by an unknown authority"
	case errors.As(err, &verify):
		reason = "TLS: certificate cannot be verified"
	case errors.As(err, &record):
		reason = "TLS: the server does not speak TLS on this port"
	case errors.As(err, &alert), strings.Contains(err.Error(), "remote error: tls: "):
		reason = "TLS: the server refused the handshake"
	case strings.Contains(err.Error(), "TLS handshake timeout"):
		reason = "TLS: handshake timed out"
	case strings.Contains(err.Error(), "tls: "):
		reason = "TLS: handshake failed"
	}
	return ClassUnreachable, reason
}

func connFault(err error) (class, reason string) {
	class = ClassUnreachable
	var ne net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		reason = "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		reason = "connection reset"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.EADDRNOTAVAIL):
		reason = "host unreachable"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		reason = "connection closed without an answer"
	case errors.As(err, &ne) && ne.Timeout():
		reason = "timed out"
	}
	return class, reason
}

// httpFault recognises the errors that net/http distinguishes by their text alone.
func httpFault(err error) (class, reason string) {
	text := err.Error()
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("response headers exceeded", "header list larger"):
		return ClassOversized, fmt.Sprintf("response headers exceed %d KiB", maxHeader>>10)
	case has("connection error: COMPRESSION_ERROR", "connection error: PROTOCOL_ERROR"):
		// net/http reports HTTP/2 headers far beyond the limit like invalid ones.
		return ClassOversized, fmt.Sprintf("response headers exceed %d KiB or are damaged", maxHeader>>10)
	case has("server closed idle connection", "GOAWAY", "client connection lost"):
		return ClassUnreachable, "connection closed without an answer"
	case has("malformed", "transport connection broken", "chunk", "header line too long", "http2: ", "stream error",
		"connection error: "):
		return ClassInvalidHTTP, "the answer is not valid HTTP"
	}
	return "", ""
}

// newTimeout returns the fault of a limit of the prober.
func newTimeout(what string, after time.Duration, err error) *fault {
	return &fault{ClassUnreachable, fmt.Sprintf("%s after %s", what, formatSeconds(after)), err}
}

func newInterrupted(ctx context.Context) *fault {
	return &fault{ClassInterrupted, "the probe was interrupted", context.Cause(ctx)}
}

// formatSeconds formats a limit for people: "15 s", "0.2 s".
func formatSeconds(d time.Duration) string {
	return fmt.Sprintf("%g s", d.Round(10*time.Millisecond).Seconds())
}
