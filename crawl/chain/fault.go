package chain

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// nodeKind classifies a failed request, and thereby says what to do. Metrics use it as a label.
type nodeKind string

const (
	KindRange       nodeKind = "range"       // asked for too much at once: ask for half
	kindBatch       nodeKind = "batch"       // too many calls in one body: send fewer
	KindRate        nodeKind = "rate"        // too many requests: wait, as long as the node says
	kindTimeout     nodeKind = "timeout"     // too slow: ask another node; the second time, for half
	KindBehind      nodeKind = "behind"      // the node does not have the block yet, or no longer: ask another node
	KindUnsupported nodeKind = "unsupported" // the node does not know the method or tag
	KindRefused     nodeKind = "refused"     // the node wants a key, or serves another chain: do not use it
	KindServer      nodeKind = "server"      // the node or its proxy is broken: ask another node
	kindMalformed   nodeKind = "malformed"   // not JSON-RPC: a page, a part of a body, missing answers
	KindLie         nodeKind = "lie"         // valid JSON-RPC with an impossible answer
	KindForked      nodeKind = "forked"      // the node follows another fork than the one that reading began with
)

// NodeFault is a failed request. It names the node by scheme and host alone, because the rest of the URL may contain a
// key.
type NodeFault struct {
	Kind nodeKind
	Host string
	Text string
	Wait time.Duration // how long the node asks to wait
}

func (f *NodeFault) Error() string { return fmt.Sprintf("%s: %s (%s)", f.Host, f.Text, f.Kind) }

// rpcError is the error member of an answer.
type rpcError struct {
	code    int64
	message string
	data    string
}

// wordings map the text of an error, in lower case, to its kind; the first match counts. Codes say little: -32005,
// -32000 and -32602 differ in meaning between providers. testdata/faults.txt has real texts of providers.
var wordings = []struct {
	kind nodeKind
	like *regexp.Regexp
}{
	{KindUnsupported, anyOf(`(finalized|safe)\W* (block|tag)`)},
	{KindBehind, anyOf(`beyond (the )?(current head|latest|head)`,
		`(after|past|above) (the )?(last accepted|latest|head)`, `greater than (the )?latest`,
		`not (yet )?(synced|available)`, `is syncing`, `header not found`, `unknown block`, `block not found`,
		`history (is |has been )?(pruned|unavailable|not available)`, `missing trie node`, `pruned`, `archive`)},
	{kindBatch, anyOf(`batch`)},
	{KindRange, anyOf(`range`, `more than [\d,]+ (results|logs)`, `too many (results|logs|blocks|events)`,
		`(max|maximum|allowed) (number of )?(results|logs|requested blocks)`, `requested blocks is`, `logs matched`,
		`blocks distance`, `response (size|is too|too|exceed)`, `too (large|big) (a )?(response|result)`,
		`(larger|smaller) than (size|the limit)`, `limited to [\d,.]+ block`, `at most [\d,.]+ blocks`,
		`block (limit|span)`, `too many addresses or topics`, `content length too large`,
		`exceed(s|ed)? max (results|topics|addresses)`, `query (exceeds|is too)`, `result set`)},
	{kindTimeout, anyOf(`timed? ?-?out`, `deadline`, `took too long`, `canceled`, `cancelled`)},
	{KindRate, anyOf(`\brate\b`, `rate ?limit`, `too many requests`, `request limit`, `limit exceeded`,
		`exceeded.*(quota|limit|capacity|compute units)`, `throughput`, `capacity`, `credits`, `quota`, `slow down`,
		`throttl`, `free ?tier`, `daily`)},
	{KindUnsupported, anyOf(`method .*(not|n't)`, `not (supported|found|implemented|whitelisted)`, `unsupported`,
		`does not exist`, `unknown (method|tag)`, `invalid block (tag|number)`, `hex string without 0x`,
		`cannot unmarshal`)},
	{KindRefused, anyOf(`unauthori[sz]ed`, `forbidden`, `api[- ]?key`, `project id`, `personal token`, `denied`,
		`authenticat`)},
}

// anyOf returns an expression that matches if one of the list matches.
func anyOf(list ...string) *regexp.Regexp { return regexp.MustCompile(strings.Join(list, "|")) }

// kindOf returns the kind of an error.
func (e *rpcError) kindOf() nodeKind {
	words := strings.ToLower(e.message + " " + e.data)
	switch e.code { // the few codes with the same meaning everywhere
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

// kindOfStatus returns the kind of an HTTP status, for a body without an error.
func kindOfStatus(status int) nodeKind {
	switch status {
	case 401, 402, 403, 404, 405:
		return KindRefused
	case 408, 504, 524:
		return kindTimeout
	case 413:
		return KindRange
	case 429:
		return KindRate
	case 400:
		return kindMalformed
	}
	return KindServer
}
