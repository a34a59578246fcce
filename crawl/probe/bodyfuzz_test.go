package probe

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"
	"time"

	"tollbook/site/x402"
)

// FuzzBody reads bodies that are compressed or claim to be, and parses Retry-After.
func FuzzBody(f *testing.F) {
	var packed, bomb bytes.Buffer
	for b, text := range map[*bytes.Buffer]string{&packed: `{"x402Version":1}`,
		&bomb: strings.Repeat("0", 2*x402.MaxBody)} {
		z := gzip.NewWriter(b)
		if _, err := z.Write([]byte(text)); err != nil {
			f.Fatal(err)
		}
		if err := z.Close(); err != nil {
			f.Fatal(err)
		}
	}
	f.Add("HTTP/1.1 402 Payment Required\r\nContent-Encoding: gzip\r\n\r\n" + packed.String())
	f.Add("HTTP/1.1 402 Payment Required\r\nContent-Encoding: x-gzip\r\nRetry-After: 120\r\n\r\n" + bomb.String())
	f.Add("HTTP/1.1 503 Busy\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\nContent-Encoding: gzip\r\n\r\nplain")
	f.Add("HTTP/1.0 402\r\nTransfer-Encoding: chunked\r\nRetry-After: " +
		"99999999999999999999\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, answer string) {
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		if wait, _ := RetryAfter(resp.Header, now); wait < 0 || wait > maxRetryAfter {
			t.Errorf("%q asks to wait %s", resp.Header, wait)
		}
		body, truncated, err := readBody(resp)
		if len(body) > x402.MaxBody || truncated && err == nil && len(body) != x402.MaxBody {
			t.Errorf("%d bytes, truncated %t, error %v", len(body), truncated, err)
		}
	})
}
