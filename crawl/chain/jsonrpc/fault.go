package jsonrpc

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Kind is what went wrong with a request, and so what is to be done. Metrics use it as a label.
type Kind string

const (
	KindRange       Kind = "range"       // too much was asked for at once: ask for half
	KindBatch       Kind = "batch"       // too many requests in one body: send fewer
	KindRate        Kind = "rate"        // too often: wait, as long as the node says
	KindTimeout     Kind = "timeout"     // too slow: another address; the second time, half
	KindBehind      Kind = "behind"      // the node has not come that far, or has forgotten: another address
	KindUnsupported Kind = "unsupported" // the node knows no such method or tag
	KindRefused     Kind = "refused"     // the node wants a key, or serves another chain: not this address
	KindServer      Kind = "server"      // the node, or what stands before it, is broken: another address
	KindMalformed   Kind = "malformed"   // no JSON-RPC: a page, half a body, answers that are missing
	KindLie         Kind = "lie"         // well formed, and can't be so
	KindForked      Kind = "forked"      // the node's chain is not the one that was begun with
)

// Fault is a failed request. It names the node by scheme and host alone: the rest of the address may hold a key.
type Fault struct {
	Kind Kind
	Host string
	Text string
	Wait time.Duration // that the node asks for
}

func (f *Fault) Error() string { return fmt.Sprintf("%s: %s (%s)", f.Host, f.Text, f.Kind) }

// rpcError is the error member of an answer.
type rpcError struct {
	code    int64
	message string
	data    string
}

// wordings find the kind of an error by its words, in lower case; the first match counts. Codes say little: -32005,
// -32000 and -32602 mean something else at each provider. testdata/faults.txt holds what providers really say.
var wordings = []struct {
	kind Kind
	like *regexp.Regexp
}{
	{KindUnsupported, anyOf(`(finalized|safe)\W* (block|tag)`)},
	{KindBehind, anyOf(`beyond (the )?(current head|latest|head)`,
		`(after|past|above) (the )?(last accepted|latest|head)`, `greater than (the )?latest`,
		`not (yet )?(synced|available)`, `is syncing`, `header not found`, `unknown block`, `block not found`,
		`history (is |has been )?(pruned|unavailable|not available)`, `missing trie node`, `pruned`, `archive`)},
	{KindBatch, anyOf(`batch`)},
	{KindRange, anyOf(`range`, `more than [\d,]+ (results|logs)`, `too many (results|logs|blocks|events)`,
		`(max|maximum|allowed) (number of )?(results|logs|requested blocks)`, `requested blocks is`, `logs matched`,
		`blocks distance`, `response (size|is too|too|exceed)`, `too (large|big) (a )?(response|result)`,
		`(larger|smaller) than (size|the limit)`, `limited to [\d,.]+ block`, `at most [\d,.]+ blocks`,
		`block (limit|span)`, `too many addresses or topics`, `content length too large`,
		`exceed(s|ed)? max (results|topics|addresses)`, `query (exceeds|is too)`, `result set`)},
	{KindTimeout, anyOf(`timed? ?-?out`, `deadline`, `took too long`, `canceled`, `cancelled`)},
	{KindRate, anyOf(`\brate\b`, `rate ?limit`, `too many requests`, `request limit`, `limit exceeded`,
		`exceeded.*(quota|limit|capacity|compute units)`, `throughput`, `capacity`, `credits`, `quota`, `slow down`,
		`throttl`, `free ?tier`, `daily`)},
	{KindUnsupported, anyOf(`method .*(not|n't)`, `not (supported|found|implemented|whitelisted)`, `unsupported`,
		`does not exist`, `unknown (method|tag)`, `invalid block (tag|number)`, `hex string without 0x`,
		`cannot unmarshal`)},
	{KindRefused, anyOf(`unauthori[sz]ed`, `forbidden`, `api[- ]?key`, `project id`, `personal token`, `denied`,
		`authenticat`)},
}

// anyOf returns an expression that matches what one of several matches.
func anyOf(list ...string) *regexp.Regexp { return regexp.MustCompile(strings.Join(list, "|")) }

// kindOf returns what an error means.
func (e *rpcError) kindOf() Kind {
	words := strings.ToLower(e.message + " " + e.data)
	switch e.code { // the few whose meaning is the same everywhere
	case -32601:
		return KindUnsupported
	case 429:
		return KindRate
	}
	for _, w := range wordings {
		if w.like.MatchString(words) {
			return w.kind
		}
	}
	return KindServer
}

// kindOfStatus returns what an HTTP status means when the body does not say.
func kindOfStatus(status int) Kind {
	switch status {
	case 401, 402, 403, 404, 405:
		return KindRefused
	case 408, 504, 524:
		return KindTimeout
	case 413:
		return KindRange
	case 429:
		return KindRate
	case 400:
		return KindMalformed
	}
	return KindServer
}
