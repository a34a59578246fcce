package chain

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Node is one node of a network with its recent failures.
type Node struct {
	url  string
	host string // scheme and host; the rest of the URL may contain a key and is never shown

	mu       sync.Mutex
	verified bool
	fails    int       // recent failures; the node with the fewest is asked first
	until    time.Time // the node is not asked before this time
	lied     bool      // whether the last failure was a contradiction
	batch    int       // calls that the node accepts in one body
}

func (n *Node) batchSize() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.batch
}

// pickNode returns the node with the lowest rank, and of these the one with the fewest recent failures, among those that
// may be asked. It waits while all of them are paused.
func (c *Client) pickNode(ctx context.Context, may func(*Node) bool, rank func(*Node) int) (*Node, error) {
	for {
		now := c.o.Now()
		var best, soonest *Node
		var fails int
		var until time.Time
		for _, n := range c.nodes {
			if !may(n) {
				continue
			}
			n.mu.Lock()
			if (c.eager || !n.until.After(now)) &&
				(best == nil || cmp.Or(cmp.Compare(rank(n), rank(best)), cmp.Compare(n.fails, fails)) < 0) {
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
		if wait > 2*maxBackoff { // only a node's own Retry-After is that long
			return nil, fmt.Errorf("%s asks to wait for %v", soonest.host, wait.Round(time.Second))
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

// Others returns the other nodes that can say what they know: those that are not paused, or that are because an answer
// of theirs was contradicted. Those with the fewest recent failures come first.
func (c *Client) Others(n *Node) []*Node {
	now := c.o.Now()
	fails := map[*Node]int{}
	var list []*Node
	for _, o := range c.nodes {
		o.mu.Lock()
		if o != n && (!o.until.After(now) || o.lied) {
			list, fails[o] = append(list, o), o.fails
		}
		o.mu.Unlock()
	}
	slices.SortStableFunc(list, func(a, b *Node) int { return cmp.Compare(fails[a], fails[b]) })
	return list
}

// Only returns a client that asks one of c's nodes at once, even if it is paused, and gives up soon.
func (c *Client) Only(n *Node) *Client {
	one := *c
	one.nodes, one.tries, one.eager = []*Node{n}, 2, true
	return &one
}

// Host returns the scheme and host of a node. The rest of its URL may contain a key and is never shown.
func (n *Node) Host() string { return n.host }

// SetAside pauses a node whose answers those of others contradict, and logs the evidence, with the command that replaces
// what was stored from the node before.
func (c *Client) SetAside(n *Node, evidence string) {
	c.recordFailure(n, &NodeFault{Kind: KindLie, Host: n.host, Text: evidence})
	c.o.Logger.Warn("a node contradicts others and is set aside", "network", c.network, "node", n.host, "evidence",
		evidence, "stored_before", "is replaced by tollbook index --again "+c.network+" --from DATE")
}

func (n *Node) recordSuccess() {
	n.mu.Lock()
	n.fails /= 2
	n.mu.Unlock()
}

// recordFailure counts a fault and pauses the node: as long as the node asks for, else twice as long each time.
func (c *Client) recordFailure(n *Node, f *NodeFault) {
	c.o.Metrics.Failure(c.network, string(f.Kind))
	c.o.Logger.Debug("request to node failed", "network", c.network, "node", f.Host, "kind", string(f.Kind), "text",
		f.Text)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch f.Kind {
	case KindRange, KindUnsupported:
		return // the node works
	case kindBatch:
		if n.batch > 1 {
			n.batch /= 2
			return
		}
	}
	wait := min(c.o.Backoff<<min(n.fails, 16), maxBackoff)
	if f.Kind == KindBehind || f.Kind == KindForked { // the node may be right and the one before it wrong
		wait = c.o.Backoff
	}
	wait = wait/2 + rand.N(wait) // spreads out nodes that failed at the same time
	if f.Kind == KindRefused {
		wait = maxWait
	}
	if f.Wait > 0 {
		wait = min(f.Wait, maxWait)
	}
	n.fails++
	n.lied = f.Kind == KindLie
	if n.lied || f.Kind == KindForked || f.Kind == KindBehind {
		n.verified = false // it may serve another network by now
	}
	n.until = c.o.Now().Add(wait)
}

// askNode sends calls of a question to one node, in as many bodies as the node's batch size needs, and reads the
// results.
func (c *Client) askNode(ctx context.Context, n *Node, q Question, from, count int) error {
	if err := c.verify(ctx, n); err != nil {
		return err
	}
	batch := n.batchSize()
	calls := append([]Call(nil), q.Calls[from:from+count]...)
	if calls[0].Path != "" || calls[0].NoID {
		batch = 1
	}
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
			results[i] = &part[i].Result
		}
		body, err := c.send(ctx, n, part, results...)
		if err != nil {
			return err
		}
		bodies = append(bodies, body)
	}
	for i := range calls {
		calls[i].By = n
	}
	err := q.Read(from, calls)
	var f *NodeFault
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f): // Read returned the kind
		return &NodeFault{f.Kind, n.host, f.Text, 0}
	}
	return &NodeFault{KindLie, n.host, err.Error(), 0}
}

// ForgetIdentity makes each node say again which network it serves. The host of a node may begin to serve another one.
func (c *Client) ForgetIdentity() {
	for _, n := range c.nodes {
		n.mu.Lock()
		n.verified = false
		n.mu.Unlock()
	}
}

// verify asks a node which network it serves, before anything else.
func (c *Client) verify(ctx context.Context, n *Node) error {
	n.mu.Lock()
	verified := n.verified
	n.mu.Unlock()
	if verified {
		return nil
	}
	who := c.identity.Call
	body, err := c.send(ctx, n, []Call{who}, &who.Result)
	if err != nil {
		return err
	}
	defer releaseBuffer(body)
	served, err := c.identity.Network(who.Result)
	if err != nil {
		return &NodeFault{KindLie, n.host, err.Error(), 0}
	}
	if served != c.network {
		return &NodeFault{KindRefused, n.host, fmt.Sprintf("serves %s, not %s", served, c.network), 0}
	}
	n.mu.Lock()
	n.verified = true
	n.mu.Unlock()
	return nil
}
