package serve

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// acceptsGzip reads Accept-Encoding: gzip has a weight above zero, by its own name or by *, and identity none above it.
func acceptsGzip(values []string) bool {
	gzip, identity, other := -1.0, -1.0, 0.0
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			name, params, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip":
				gzip = max(gzip, weight(params))
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
	return gzip > 0 && gzip >= identity
}

// weight is the q of an item, 1 without one, 0 where it can't be read.
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

// notModified says whether the reader already has the form that has this tag. If-Modified-Since counts only without
// If-None-Match.
func notModified(header http.Header, tag string, built time.Time) bool {
	if tags := header.Values("If-None-Match"); len(tags) > 0 {
		return matches(tags, tag)
	}
	text := header.Get("If-Modified-Since")
	if text == "" {
		return false
	}
	since, err := http.ParseTime(text)
	return err == nil && !built.Truncate(time.Second).After(since)
}

// matches compares a list of tags weakly, as If-None-Match wants it; "*" is any.
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
				break // no list of tags
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
