package chain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of requests to nodes.
const (
	maxAnswer    = 32 << 20 // bytes of a body, unpacked
	maxRequests  = 16       // at once, of all scans of a network
	maxBatch     = 100      // requests in a body; a node that takes fewer is asked for half
	maxWait      = 5 * time.Minute
	maxBackoff   = 30 * time.Second
	triesPerNode = 4
)

// client asks the nodes of a network. JSON-RPC is written out here, since the kept library (creachadair/jrpc2 1.3.6) has
// no place for what decides: it drops the body of every answer but 200, in which providers say that a range was too
// wide, and the header that says how long to wait; its channel ends for good with the first page of HTML; an answer
// without an id is waited for until the context ends; the request itself can't be cancelled; and results are parsed three
// times over, which here is most of the work.
type client struct {
	network string
	nodes   []*node
	http    *http.Client
	slots   chan struct{} // one for each request under way
	o       Options
}

// node is one address of a network, and how it has done lately.
type node struct {
	url  string
	host string // scheme and host: all of the address that may be told

	mu       sync.Mutex
	verified bool
	fails    int       // lately; the address with the fewest is asked first
	until    time.Time // before which it is left alone
	batch    int       // requests that it takes in a body
}

// call is one request of a question. ask fills in the result: JSON that is valid until the question's read returns.
type call struct {
	method string
	params string // a JSON array
	result []byte
}

// question is what is asked. read judges answers: what it refuses is a fault of the node, and the next one is asked; so it
// may be called more than once for the same calls.
type question struct {
	calls []call
	// whole: the calls ask one node for one range of blocks, in one body where it takes so many. A node that finds it too
	// wide, or twice fails over it, gives a faultRange, upon which the caller asks for half. Else calls are independent, are
	// sent and read some at a time, and fewer where a node fails.
	whole bool
	// together: the calls are independent of any width, and are read together: what one node says of one moment.
	together bool
	read     func(from int, calls []call) error // calls[0] is the question's call number from
	// of told what the question follows from; nil: from nothing. Where an answer does not fit, one of the two is wrong: whoever
	// answers is blamed once another node's answer fits, of once no node's does.
	of *node
	by **node // where to keep who answered; nil: it does not matter
}

// newClient prepares to ask a network's addresses; nothing is sent yet.
func newClient(n Network, o Options) (*client, error) {
	c := &client{network: n.ID, http: o.HTTP, slots: make(chan struct{}, maxRequests), o: o}
	if c.http == nil {
		c.http = &http.Client{Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   32,
			IdleConnTimeout:       time.Minute,
			ResponseHeaderTimeout: o.Timeout,
		}}
	}
	own := *c.http // a redirect may lead a key anywhere
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own
	for i, address := range n.RPC {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("index %s: RPC address number %d must begin with https:// or http:// and a host", n.ID, i+1)
		}
		c.nodes = append(c.nodes, &node{url: address, host: u.Scheme + "://" + u.Host, batch: maxBatch})
	}
	if len(c.nodes) == 0 {
		return nil, fmt.Errorf("index %s: no RPC address", n.ID)
	}
	return c, nil
}

// ask puts a question until it is answered well. Its error is a *fault when every node has failed often enough, or when less
// must be asked for.
func (c *client) ask(ctx context.Context, q question) error {
	if q.whole {
		_, err := c.askSome(ctx, q, 0, len(q.calls))
		return err
	}
	size := maxBatch
	for from := 0; from < len(q.calls); {
		read, err := c.askSome(ctx, q, from, min(size, len(q.calls)-from))
		if err != nil {
			return err
		}
		from += read
		if read < size { // as many as answers came for; some more the next time
			size = read + read/4 + 1
		}
	}
	return nil
}

// askSome puts count calls of a question, or fewer where nodes fail over them and they are independent, and says how many.
func (c *client) askSome(ctx context.Context, q question, from, count int) (read int, err error) {
	heavy := 0 // faults that a narrower range may mend
	doubtful := map[*node]*fault{}
	for tries := triesPerNode * len(c.nodes); tries > 0; tries-- {
		n, pickErr := c.pick(ctx, func(n *node) bool { return doubtful[n] == nil })
		if pickErr != nil {
			return 0, errors.Join(pickErr, err)
		}
		if err = c.put(ctx, n, q, from, count); err == nil {
			n.succeeded()
			for other, f := range doubtful {
				c.failed(other, f)
			}
			if q.by != nil {
				*q.by = n
			}
			return count, nil
		}
		var f *fault
		if ctx.Err() != nil {
			return 0, ctx.Err()
		} else if !errors.As(err, &f) {
			return 0, err
		}
		if q.of != nil && (f.kind == faultLie || f.kind == faultBehind) {
			if doubtful[n] = f; len(doubtful) == len(c.nodes) {
				c.failed(q.of, doubtful[q.of])
				if f = doubtful[q.of]; f.kind == faultLie { // it contradicts itself
					return 0, f
				}
				clear(doubtful) // it may only be behind
			}
			continue
		}
		c.failed(n, f)
		switch f.kind {
		case faultUnsupported:
			return 0, err
		case faultBatch:
			if n.batchSize() > 1 {
				tries++ // it halves each time
			}
		case faultRange:
			if q.whole || q.together || count == 1 {
				return 0, err
			}
			count /= 2
			tries++
		case faultTimeout, faultMalformed:
			if heavy++; heavy == 2 && q.whole {
				return 0, &fault{faultRange, f.host, f.text, 0}
			}
			if !q.whole && !q.together {
				count = max(count/2, 1)
			}
		}
	}
	return 0, err
}

func (n *node) batchSize() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.batch
}

// askEach puts a question to every address that answers, one after the other, and gives the number that did.
func (c *client) askEach(ctx context.Context, q question) (answered int, err error) {
	for _, n := range c.nodes {
		for range triesPerNode {
			if _, err := c.pick(ctx, func(one *node) bool { return one == n }); err != nil {
				break
			}
			err := c.put(ctx, n, q, 0, len(q.calls))
			if ctx.Err() != nil {
				return answered, ctx.Err()
			}
			var f *fault
			if err == nil {
				answered++
				break
			} else if !errors.As(err, &f) {
				return answered, err
			}
			c.failed(n, f)
		}
	}
	return answered, nil
}

// pick gives the address that has done best lately, of those that may be asked, waiting until it is to be asked again.
func (c *client) pick(ctx context.Context, may func(*node) bool) (*node, error) {
	for {
		now := c.o.Now()
		var best, soonest *node
		var fails int
		var until time.Time
		for _, n := range c.nodes {
			if !may(n) {
				continue
			}
			n.mu.Lock()
			if !n.until.After(now) && (best == nil || n.fails < fails) {
				best, fails = n, n.fails
			}
			if soonest == nil || n.until.Before(until) {
				soonest, until = n, n.until
			}
			n.mu.Unlock()
		}
		if best != nil {
			return best, nil
		}
		wait := until.Sub(now)
		if wait > 2*maxBackoff { // more than any fault makes it but the node's own word
			return nil, fmt.Errorf("%s is to be left alone for %v more", soonest.host, wait.Round(time.Second))
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

func (n *node) succeeded() {
	n.mu.Lock()
	n.fails /= 2
	n.mu.Unlock()
}

// failed counts a fault and leaves the node alone for a while: as long as it says, or twice as long each time.
func (c *client) failed(n *node, f *fault) {
	c.o.Metrics.failure(c.network, string(f.kind))
	c.o.Logger.Debug("a node failed", "network", c.network, "node", f.host, "kind", string(f.kind), "text", f.text)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch f.kind {
	case faultRange, faultUnsupported:
		return // an honest answer
	case faultBatch:
		if n.batch > 1 {
			n.batch /= 2
			return
		}
	}
	wait := min(c.o.Backoff<<min(n.fails, 16), maxBackoff)
	if f.kind == faultBehind || f.kind == faultForked { // it may be right, and the one before it wrong
		wait = c.o.Backoff
	}
	wait = wait/2 + rand.N(wait) // so that many who failed together don't return together
	if f.kind == faultRefused {
		wait = maxWait
	}
	if f.wait > 0 {
		wait = min(f.wait, maxWait)
	}
	n.fails++
	n.until = c.o.Now().Add(wait)
}

// put puts calls of a question to one node, in bodies of as many as it takes.
func (c *client) put(ctx context.Context, n *node, q question, from, count int) error {
	if err := c.verify(ctx, n); err != nil {
		return err
	}
	batch := n.batchSize()
	calls := append([]call(nil), q.calls[from:from+count]...)
	var bodies []*bytes.Buffer
	defer func() {
		for _, b := range bodies {
			releaseBuffer(b)
		}
	}()
	for rest := calls; len(rest) > 0; {
		part := rest[:min(len(rest), batch)]
		rest = rest[len(part):]
		results := make([]*[]byte, len(part))
		for i := range part {
			results[i] = &part[i].result
		}
		body, err := c.send(ctx, n, part, results...)
		if err != nil {
			return err
		}
		bodies = append(bodies, body)
	}
	err := q.read(from, calls)
	var f *fault
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f): // the reader knows the kind
		return &fault{f.kind, n.host, f.text, 0}
	}
	return &fault{faultLie, n.host, err.Error(), 0}
}

// verify asks an address, before anything else, which network it serves.
func (c *client) verify(ctx context.Context, n *node) error {
	n.mu.Lock()
	verified := n.verified
	n.mu.Unlock()
	if verified {
		return nil
	}
	who := call{method: "eth_chainId", params: "[]"}
	namespace, reference, _ := strings.Cut(c.network, ":")
	if namespace == "solana" {
		who.method = "getGenesisHash"
	}
	body, err := c.send(ctx, n, []call{who}, &who.result)
	if err != nil {
		return err
	}
	defer releaseBuffer(body)
	s := &scanner{data: who.result}
	var serves string
	if namespace == "solana" { // whose reference is as much of the hash as CAIP-2 has room for
		hash := string(s.text())
		serves = hash[:min(len(hash), 32)]
	} else {
		serves = strconv.FormatInt(s.quantity(), 10)
	}
	if s.err != nil {
		return &fault{faultLie, n.host, s.err.Error(), 0}
	}
	if serves != reference {
		return &fault{faultRefused, n.host, fmt.Sprintf("serves %s:%s, not %s", namespace, serves, c.network), 0}
	}
	n.mu.Lock()
	n.verified = true
	n.mu.Unlock()
	return nil
}
