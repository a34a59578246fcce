// Package jsonrpc asks the nodes of a chain over JSON-RPC: batches, retries, other nodes when one fails, and the
// meaning of what nodes say when they refuse.
//
// The kept library (creachadair/jrpc2) does not suffice. It drops the body of every answer but 200, in which providers
// say that a range was too wide, and the header that says how long to wait. Its channel ends for good with the first
// page of HTML. An answer without an id is waited for until the context ends. A request under way can't be cancelled.
// Results are parsed three times, which here is most of the work.
//
// Errors and logs name an address by scheme and host alone: the rest may hold a key. The package must never know what a
// block or a settlement is.
package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"tollbook/crawl/chain"
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

// Client asks the nodes of one network, and any other node when one fails. It is safe for concurrent use.
type Client struct {
	network  string // CAIP-2
	identity Identity
	nodes    []*Node
	http     *http.Client
	slots    chan struct{} // one for each request under way
	o        chain.Options
}

// Identity is how a node says which network it serves. Every node is asked once, before anything else.
type Identity struct {
	Call    Call
	Network func(result []byte) (id string, err error) // CAIP-2
}

// Call is one request of a question. Ask fills in Result: JSON that is valid until the question's Read returns.
type Call struct {
	Method string
	Params string // a JSON array
	Result []byte
}

// Question is a list of calls with the function that reads their results.
//
// Without Range or Atomic the calls are independent: they are sent and read some at a time, and fewer at a time after a
// node failed.
type Question struct {
	Calls []Call
	// Range says that the calls ask one node for one range of blocks, in one body if the node accepts so many calls. If
	// a node finds the range too wide, or fails twice, Ask returns a fault of KindRange, and the caller asks for half
	// of the range.
	Range bool
	// Atomic says that one node must answer all calls, so that the results are of one moment. They are never cut in
	// parts.
	Atomic bool
	// Read checks and reads results; calls[0] is call number from of the question. An error of Read counts as a fault
	// of the node, and the next node is asked, so Read may be called more than once for the same calls.
	Read func(from int, calls []Call) error
	// Source is the node whose earlier answer the question follows from; nil if there is none. When an answer
	// contradicts it, one of the two nodes is wrong: the answering node is blamed once another node's answer fits, and
	// Source is blamed when no node's answer fits.
	Source *Node
	// AnsweredBy, unless nil, receives the node that answered.
	AnsweredBy **Node
}

// New returns a client for the addresses of a network. It sends nothing yet. An address that is no http or https URL is
// an error, which does not contain the address.
func New(n chain.Network, identity Identity, o chain.Options) (*Client, error) {
	c := &Client{network: n.ID, identity: identity, http: o.HTTP, slots: make(chan struct{}, maxRequests), o: o}
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
			return nil, fmt.Errorf("index %s: RPC address number %d must begin with https:// or http:// and a host",
				n.ID, i+1)
		}
		c.nodes = append(c.nodes, &Node{url: address, host: u.Scheme + "://" + u.Host, batch: maxBatch})
	}
	if len(c.nodes) == 0 {
		return nil, fmt.Errorf("index %s: no RPC address", n.ID)
	}
	return c, nil
}

// Ask sends a question until it is answered well. Its error is a *Fault when every node has failed often enough, or
// when the caller must ask for less.
func (c *Client) Ask(ctx context.Context, q Question) error {
	if q.Range {
		_, err := c.askSome(ctx, q, 0, len(q.Calls))
		return err
	}
	size := maxBatch
	for from := 0; from < len(q.Calls); {
		read, err := c.askSome(ctx, q, from, min(size, len(q.Calls)-from))
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

// askSome sends count calls of a question, or fewer if the calls are independent and nodes fail. It returns how many
// were read.
func (c *Client) askSome(ctx context.Context, q Question, from, count int) (read int, err error) {
	heavy := 0 // faults that a narrower range may avoid
	doubtful := map[*Node]*Fault{}
	for tries := triesPerNode * len(c.nodes); tries > 0; tries-- {
		n, pickErr := c.pick(ctx, func(n *Node) bool { return doubtful[n] == nil })
		if pickErr != nil {
			return 0, errors.Join(pickErr, err)
		}
		if err = c.put(ctx, n, q, from, count); err == nil {
			n.succeeded()
			for other, f := range doubtful {
				c.failed(other, f)
			}
			if q.AnsweredBy != nil {
				*q.AnsweredBy = n
			}
			return count, nil
		}
		var f *Fault
		if ctx.Err() != nil {
			return 0, ctx.Err()
		} else if !errors.As(err, &f) {
			return 0, err
		}
		if q.Source != nil && (f.Kind == KindLie || f.Kind == KindBehind) {
			if doubtful[n] = f; len(doubtful) == len(c.nodes) {
				c.failed(q.Source, doubtful[q.Source])
				if f = doubtful[q.Source]; f.Kind == KindLie { // it contradicts itself
					return 0, f
				}
				clear(doubtful) // it may only be behind
			}
			continue
		}
		c.failed(n, f)
		switch f.Kind {
		case KindUnsupported:
			return 0, err
		case KindBatch:
			if n.batchSize() > 1 {
				tries++ // it halves each time
			}
		case KindRange:
			if q.Range || q.Atomic || count == 1 {
				return 0, err
			}
			count /= 2
			tries++
		case KindTimeout, KindMalformed:
			if heavy++; heavy == 2 && q.Range {
				return 0, &Fault{KindRange, f.Host, f.Text, 0}
			}
			if !q.Range && !q.Atomic {
				count = max(count/2, 1)
			}
		}
	}
	return 0, err
}

// Nodes returns the number of nodes.
func (c *Client) Nodes() int { return len(c.nodes) }

// AskEach sends a question to every node, one after the other, and returns how many nodes answered.
func (c *Client) AskEach(ctx context.Context, q Question) (answered int, err error) {
	for _, n := range c.nodes {
		for range triesPerNode {
			if _, err := c.pick(ctx, func(one *Node) bool { return one == n }); err != nil {
				break
			}
			err := c.put(ctx, n, q, 0, len(q.Calls))
			if ctx.Err() != nil {
				return answered, ctx.Err()
			}
			var f *Fault
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
