// This part of the package calls the nodes of a chain over JSON-RPC, or over GET where a chain's nodes have such an
// API. It batches calls, retries them, asks another node when one fails, and classifies the errors of nodes.
//
// The usual library (creachadair/jrpc2) does not suffice. It drops the body of every answer but 200, in which
// providers say that a range was too wide, and the header that says how long to wait. Its channel ends for good with
// the first page of HTML. It waits for an answer without an id until the context ends. A running request can't be
// cancelled. It parses results three times, which here is most of the work.
//
// Errors and logs name a node by scheme and host alone, because the rest of the URL may contain a key. It must never
// know what a block or a settlement is.

package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Limits of requests to nodes.
const (
	maxAnswer    = 32 << 20 // bytes of a body, decompressed
	maxRequests  = 16       // concurrent, over all scans of a network
	maxBatch     = 100      // requests in a body; halved for a node that accepts fewer
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
	slots    chan struct{} // one for each running request
	tries    int           // of one question
	eager    bool          // whether a paused node is asked, too
	o        Options
}

// Identity is the call that returns which network a node serves. The client sends it to each node before other calls.
type Identity struct {
	Call    Call
	Network func(result []byte) (id string, err error) // CAIP-2
}

// Call is one request of a question. Ask fills in Result, JSON that is valid until the question's Read returns, and By.
type Call struct {
	Method string
	Params string // a JSON array
	Path   string // instead of the two: the path and query of a GET at the node, whose answer is a JSON object
	NoID   bool   // the node's answers repeat no id, so each call needs a body of its own
	Result []byte
	By     *Node // that answered
}

// Question is a list of calls with the function that reads their results.
//
// Without Range or Atomic the calls are independent: they are sent and read some at a time, and fewer at a time after a
// node failed.
type Question struct {
	Calls []Call
	// Range means that the calls ask one node for one range of blocks, in one body if the node accepts so many calls.
	// If a node finds the range too wide, or fails twice, Ask returns a fault of KindRange, and the caller asks for
	// half of the range.
	Range bool
	// Atomic means that one node must answer all calls, so that the results are of one moment. The calls are never
	// split.
	Atomic bool
	// Read checks and reads results; calls[0] is call number from of the question. An error of Read counts as a fault
	// of the node, and the next node is asked, so Read may be called more than once for the same calls.
	Read func(from int, calls []Call) error
	// Source is the node on whose answer the question is based; nil for none. Another node is asked first, so that no
	// node confirms its own answer. If an answer contradicts it, one of the two nodes is wrong. The answering node is
	// blamed once the answer of a third one fits. Source is blamed if no node's answer fits, or none but its own while
	// two contradict it. If only two nodes answer, nobody is blamed.
	Source *Node
	// Prefer is asked first if it may be asked; nil for none.
	Prefer *Node
	// AnsweredBy, unless nil, receives the node that answered.
	AnsweredBy **Node
}

// rank orders the nodes that a question may be sent to.
func (q *Question) rank(n *Node) int {
	switch n {
	case q.Prefer:
		return 0
	case q.Source:
		return 2
	}
	return 1
}

// NewClient returns a client for the nodes of a network. It sends nothing. It fails for a URL that is not http or
// https; the error does not contain the URL.
func NewClient(n Network, identity Identity, o Options) (*Client, error) {
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
	own := *c.http // a redirect could send a key anywhere
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own
	for i, address := range n.RPC {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("index %s: RPC URL number %d must begin with https:// or http:// and a host",
				n.ID, i+1)
		}
		c.nodes = append(c.nodes, &Node{url: address, host: u.Scheme + "://" + u.Host, batch: maxBatch})
	}
	if len(c.nodes) == 0 {
		return nil, fmt.Errorf("index %s: no RPC URL; configure one", n.ID)
	}
	c.tries = triesPerNode * len(c.nodes)
	return c, nil
}

// Ask sends a question until a node answers it correctly. It returns a *Fault when every node has failed often enough,
// or when the caller must ask for less.
func (c *Client) Ask(ctx context.Context, q Question) error {
	if q.Range {
		_, err := c.askPart(ctx, q, 0, len(q.Calls))
		return err
	}
	size := maxBatch
	for from := 0; from < len(q.Calls); {
		read, err := c.askPart(ctx, q, from, min(size, len(q.Calls)-from))
		if err != nil {
			return err
		}
		from += read
		if read < size { // as many calls as were answered, and some more next time
			size = read + read/4 + 1
		}
	}
	return nil
}

// askPart sends count calls of a question, or fewer if the calls are independent and nodes fail. It returns the number
// of calls whose results were read.
func (c *Client) askPart(ctx context.Context, q Question, from, count int) (read int, err error) {
	heavy := 0 // faults that a narrower range may avoid
	doubtful := map[*Node]*NodeFault{}
	for tries := c.tries; tries > 0; tries-- {
		n, pickErr := c.pickNode(ctx, func(n *Node) bool { return doubtful[n] == nil }, q.rank)
		if pickErr != nil {
			return 0, errors.Join(pickErr, err)
		}
		if err = c.askNode(ctx, n, q, from, count); err == nil {
			if f := c.outvote(n, q.Source, doubtful); f != nil {
				return 0, f
			}
			n.recordSuccess()
			if q.AnsweredBy != nil {
				*q.AnsweredBy = n
			}
			return count, nil
		}
		var f *NodeFault
		if ctx.Err() != nil {
			return 0, ctx.Err()
		} else if !errors.As(err, &f) {
			return 0, err
		}
		if q.Source != nil && (f.Kind == KindLie || f.Kind == KindBehind) {
			if doubtful[n] = f; len(doubtful) == len(c.nodes) {
				c.recordFailure(q.Source, doubtful[q.Source])
				if f = doubtful[q.Source]; f.Kind == KindLie { // the node contradicts itself
					return 0, f
				}
				clear(doubtful) // the node may only be behind
			}
			continue
		}
		c.recordFailure(n, f)
		switch f.Kind {
		case KindUnsupported:
			return 0, err
		case kindBatch:
			if n.batchSize() > 1 {
				tries++ // the batch size was halved
			}
		case KindRange:
			if q.Range || q.Atomic || count == 1 {
				return 0, err
			}
			count /= 2
			tries++
		case kindTimeout, kindMalformed:
			if heavy++; heavy == 2 && q.Range {
				return 0, &NodeFault{KindRange, f.Host, f.Text, 0}
			}
			if !q.Range && !q.Atomic {
				count = max(count/2, 1)
			}
		}
	}
	return 0, err
}

// outvote blames the nodes whose answers contradicted the source of a question, after a node's answer fitted. If that
// was the source's own, its word is no evidence: it returns the source's fault if two contradict it.
func (c *Client) outvote(n, source *Node, doubtful map[*Node]*NodeFault) *NodeFault {
	var lies []*NodeFault
	for other, f := range doubtful {
		if n == source && f.Kind == KindLie {
			lies = append(lies, f)
		} else {
			c.recordFailure(other, f)
		}
	}
	if len(lies) < 2 {
		return nil
	}
	slices.SortFunc(lies, func(a, b *NodeFault) int { return cmp.Compare(a.Host, b.Host) })
	f := &NodeFault{Kind: KindLie, Host: source.host, Text: fmt.Sprintf("contradicted by %s and %s: %s", lies[0].Host,
		lies[1].Host, lies[0].Text)}
	c.recordFailure(source, f)
	return f
}

// Nodes returns the number of nodes.
func (c *Client) Nodes() int { return len(c.nodes) }

// AskEach sends a question to every node, one after the other, and returns how many nodes answered.
func (c *Client) AskEach(ctx context.Context, q Question) (answered int, err error) {
	for _, n := range c.nodes {
		for range triesPerNode {
			if _, err := c.pickNode(ctx, func(one *Node) bool { return one == n },
				func(*Node) int { return 0 }); err != nil {
				break
			}
			err := c.askNode(ctx, n, q, 0, len(q.Calls))
			if ctx.Err() != nil {
				return answered, ctx.Err()
			}
			var f *NodeFault
			if err == nil {
				answered++
				break
			} else if !errors.As(err, &f) {
				return answered, err
			}
			c.recordFailure(n, f)
		}
	}
	return answered, nil
}
