package serve

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// acceptsGzip parses Accept-Encoding (RFC 9110, section 12.5.3). It reports whether gzip, by name or by *, has a weight
// above zero that is not lower than that of identity.
func acceptsGzip(values []string) bool {
	gzip, identity, _ := weights(values)
	return gzip > 0 && gzip >= identity
}

// prefersZstd reports whether zstd, by name, has a weight above that of gzip, and not below that of identity. With
// equal weights a client gets gzip, the form in which files are stored.
func prefersZstd(values []string) bool {
	gzip, identity, zstd := weights(values)
	return zstd > max(gzip, 0) && zstd >= identity
}

// weights returns the weights of encodings in Accept-Encoding. It is -1 for an encoding that is not named; * stands for
// gzip alone.
func weights(values []string) (gzip, identity, zstd float64) {
	gzip, identity, zstd = -1, -1, -1
	other := 0.0
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			name, params, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip":
				gzip = max(gzip, weight(params))
			case "zstd":
				zstd = max(zstd, weight(params))
			case "identity":
				identity = weight(params)
			case "*":
				other = weight(params)
			}
		}
	}
	if gzip < 0 {
		gzip = other
	}
	return gzip, identity, zstd
}

// weight returns the q parameter of an item: 1 if absent, 0 if invalid.
func weight(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(param), "=")
		if !ok || !strings.EqualFold(name, "q") {
			continue
		}
		q, err := strconv.ParseFloat(value, 64)
		if err != nil || !(q >= 0 && q <= 1) {
			return 0
		}
		return q
	}
	return 1
}

// notModified reports whether the client already has the form with this ETag. If-Modified-Since counts only without
// If-None-Match (RFC 9110, section 13.1.3). It must be exactly the Last-Modified of the snapshot: after a rollback a
// client may have a newer response, which is another. A zero time matches nothing.
func notModified(header http.Header, tag string, built time.Time) bool {
	if tags := header.Values("If-None-Match"); len(tags) > 0 {
		return matches(tags, tag)
	}
	text := header.Get("If-Modified-Since")
	if text == "" || built.IsZero() {
		return false
	}
	since, err := http.ParseTime(text)
	return err == nil && built.Truncate(time.Second).Equal(since)
}

// matches compares a list of ETags with the weak comparison of If-None-Match; "*" matches any.
func matches(values []string, tag string) bool {
	for _, list := range values {
		for {
			list = strings.TrimLeft(list, " \t,")
			if list == "" {
				break
			}
			if list[0] == '*' {
				return true
			}
			list = strings.TrimPrefix(list, "W/")
			if list == "" || list[0] != '"' {
				break // not a list of ETags
			}
			end := strings.IndexByte(list[1:], '"')
			if end < 0 {
				break
			}
			if list[:end+2] == tag {
				return true
			}
			list = list[end+2:]
		}
	}
	return false
}
