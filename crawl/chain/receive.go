package chain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tollbook/site/postgres/ledger"
)

// Recipient is an account that services ask to be paid to in an asset.
type Recipient struct {
	Asset   string // in normal form; of an issued currency of the XRP Ledger with its issuer, "524C…00.rMx…"
	Address string // in normal form
}

// Reception says whether a recipient can receive an asset.
type Reception struct {
	CanReceive *bool  // nil if that is unknown
	Reason     string // one of the codes of package site; "" if the recipient can receive
}

// CanReceive returns the answer that the recipient can receive.
func CanReceive() Reception { return Reception{CanReceive: new(true)} }

// CannotReceive returns the answer that each payment to the recipient would fail, with the reason.
func CannotReceive(reason string) Reception { return Reception{CanReceive: new(false), Reason: reason} }

// Reasons why nobody knows whether a recipient can receive.
const (
	ReasonNodesFailed   = "nodes_failed"   // too few nodes answered
	ReasonNodesDisagree = "nodes_disagree" // nodes contradict each other
	ReasonAssetUnknown  = "asset_unknown"  // the asset is none that the chain's rules cover
)

// Receivers asks the nodes of a network whether recipients can receive. An answer may take a seller's listing away, so
// it does not rest on the word of one node where several are configured: at least two must answer, and all that answer
// must agree.
type Receivers struct {
	network string
	clients []*Client // one for each node
	ask     func(ctx context.Context, c *Client, list []Recipient) ([]Reception, error)
	head    func(ctx context.Context, c *Client) (ledger.Head, error)
	o       Options
}

// maxHeadAge is the age of the newest block of a node that is believed.
const maxHeadAge = 30 * time.Minute

// ReceiverBatch is the number of recipients that Ask is best called with.
const ReceiverBatch = 100

// NewReceivers returns receivers that ask one node by ask, and for its newest block by head. They send nothing.
func NewReceivers(n Network, identity Identity, o Options,
	ask func(ctx context.Context, c *Client, list []Recipient) ([]Reception, error),
	head func(ctx context.Context, c *Client) (ledger.Head, error)) (*Receivers, error) {
	r := &Receivers{network: n.ID, ask: ask, head: head, o: o}
	for _, address := range n.RPC {
		c, err := NewClient(Network{ID: n.ID, RPC: []string{address}}, identity, o)
		if err != nil {
			return nil, err
		}
		r.clients = append(r.clients, c)
	}
	if len(r.clients) == 0 {
		return nil, fmt.Errorf("ask for recipients on %s: no RPC URL; configure one", n.ID)
	}
	return r, nil
}

// Ask returns an answer for each recipient, in order. Faults of nodes make answers unknown; the error is that of ctx.
func (r *Receivers) Ask(ctx context.Context, list []Recipient) ([]Reception, error) {
	var answers [][]Reception
	for _, c := range r.clients {
		one, err := r.askNode(ctx, c, list)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.o.Logger.Warn("a node did not say whether recipients can receive", "network", r.network,
				"node", c.nodes[0].host, "error", err)
			continue
		}
		answers = append(answers, one)
	}
	merged := make([]Reception, len(list))
	for i := range merged {
		merged[i] = r.merge(answers, i)
	}
	return merged, nil
}

// askNode asks one node, for at most twice the time of a request: a node that refuses, or that asks to wait, is not
// waited for. A node that is far behind knows nothing of accounts that were opened since.
func (r *Receivers) askNode(ctx context.Context, c *Client, list []Recipient) ([]Reception, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*r.o.Timeout)
	defer cancel()
	h, err := r.head(ctx, c)
	if err != nil {
		return nil, err
	}
	if age := r.o.Now().Sub(h.Time); age > maxHeadAge {
		return nil, fmt.Errorf("its newest block is %s old", age.Round(time.Second))
	}
	answers, err := r.ask(ctx, c, list)
	if err == nil && len(answers) != len(list) {
		err = errors.New("it answered about other recipients") // unreachable: ask counts them
	}
	return answers, err
}

// merge returns what the nodes say of recipient i.
func (r *Receivers) merge(answers [][]Reception, i int) Reception {
	if len(answers) == 0 || len(answers) == 1 && len(r.clients) > 1 {
		return Reception{Reason: ReasonNodesFailed}
	}
	first := answers[0][i]
	for _, list := range answers[1:] {
		if other := list[i]; (other.CanReceive == nil) != (first.CanReceive == nil) ||
			other.CanReceive != nil && *other.CanReceive != *first.CanReceive {
			return Reception{Reason: ReasonNodesDisagree}
		}
	}
	return first
}
