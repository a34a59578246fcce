package chain

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// kind says what went wrong with a request, and so what is to be done.
type kind string

const (
	faultRange       kind = "range"       // too much was asked for at once: ask for half
	faultBatch       kind = "batch"       // too many requests in one body: send fewer
	faultRate        kind = "rate"        // too often: wait, as long as the node says
	faultTimeout     kind = "timeout"     // too slow: another address; the second time, half
	faultBehind      kind = "behind"      // the node has not come that far, or has forgotten: another address
	faultUnsupported kind = "unsupported" // the node knows no such method or tag
	faultRefused     kind = "refused"     // the node wants a key, or serves another chain: not this address
	faultServer      kind = "server"      // the node, or what stands before it, is broken: another address
	faultMalformed   kind = "malformed"   // no JSON-RPC: a page, half a body, answers that are missing
	faultLie         kind = "lie"         // well formed, and can't be so
	faultForked      kind = "forked"      // the node's chain is not the one that was begun with
)

// fault is a failed request. It names the address by scheme and host alone: the rest may hold a key.
type fault struct {
	kind kind
	host string
	text string
	wait time.Duration // that the node asks for
}

func (f *fault) Error() string { return fmt.Sprintf("%s: %s (%s)", f.host, f.text, f.kind) }

// rpcError is the error member of an answer.
type rpcError struct {
	code    int64
	message string
	data    string
}

// wordings tell kinds by an error's words, in lower case, the first that fits. Codes say little: -32005, -32000 and -32602
// mean something else at each provider. testdata/faults.txt holds what providers really say.
var wordings = []struct {
	kind kind
	like *regexp.Regexp
}{
	{faultUnsupported, regexp.MustCompile(`(finalized|safe)\W* (block|tag)`)},
	{faultBehind, regexp.MustCompile(`beyond (the )?(current head|latest|head)|(after|past|above) (the )?(last accepted|latest|head)|greater than (the )?latest|not (yet )?(synced|available)|is syncing|header not found|unknown block|block not found|history (is |has been )?(pruned|unavailable|not available)|missing trie node|pruned|archive`)},
	{faultBatch, regexp.MustCompile(`batch`)},
	{faultRange, regexp.MustCompile(`range|more than [\d,]+ (results|logs)|too many (results|logs|blocks|events)|(max|maximum|allowed) (number of )?(results|logs|requested blocks)|requested blocks is|logs matched|blocks distance|response (size|is too|too|exceed)|too (large|big) (a )?(response|result)|(larger|smaller) than (size|the limit)|limited to [\d,.]+ block|at most [\d,.]+ blocks|block (limit|span)|too many addresses or topics|content length too large|exceed(s|ed)? max (results|topics|addresses)|query (exceeds|is too)|result set`)},
	{faultTimeout, regexp.MustCompile(`timed? ?-?out|deadline|took too long|canceled|cancelled`)},
	{faultRate, regexp.MustCompile(`\brate\b|rate ?limit|too many requests|request limit|limit exceeded|exceeded.*(quota|limit|capacity|compute units)|throughput|capacity|credits|quota|slow down|throttl|free ?tier|daily`)},
	{faultUnsupported, regexp.MustCompile(`method .*(not|n't)|not (supported|found|implemented|whitelisted)|unsupported|does not exist|unknown (method|tag)|invalid block (tag|number)|hex string without 0x|cannot unmarshal`)},
	{faultRefused, regexp.MustCompile(`unauthori[sz]ed|forbidden|api[- ]?key|project id|personal token|denied|authenticat`)},
}

// kindOf tells what an error means.
func (e *rpcError) kindOf() kind {
	words := strings.ToLower(e.message + " " + e.data)
	switch e.code { // the few whose meaning is the same everywhere
	case -32601:
		return faultUnsupported
	case 429:
		return faultRate
	}
	for _, w := range wordings {
		if w.like.MatchString(words) {
			return w.kind
		}
	}
	return faultServer
}

// kindOfStatus tells what an HTTP status means where the body does not.
func kindOfStatus(status int) kind {
	switch status {
	case 401, 402, 403, 404, 405:
		return faultRefused
	case 408, 504, 524:
		return faultTimeout
	case 413:
		return faultRange
	case 429:
		return faultRate
	case 400:
		return faultMalformed
	}
	return faultServer
}
