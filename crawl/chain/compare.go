// This part of the package compares what nodes say. No node confirms its own answer.

package chain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tollbook/site/postgres/ledger"
)

// ErrOutvoted is returned if two other nodes agree with each other and not with the one that answered, which is set
// aside.
var ErrOutvoted = errors.New("two other nodes contradict the answer")

// Compare asks the other nodes, each alone, about a sample of what the node by said, until one says the same. A node
// that differs is set aside if two agree against it. If there are only two, nobody can tell which is right: then
// Compare fails, and the caller waits. An answer that contradicts itself counts for nothing, nor does a node that does
// not answer, is behind or has forgotten the sample: a node that is away stops nobody.
//
// ask asks the one node of its client. difference returns how its second argument differs from the first one, "" if it
// does not.
func Compare[T any](ctx context.Context, c *Client, by *Node, said T,
	ask func(ctx context.Context, one *Client) (T, error), difference func(one, other T) string) error {
	type account struct {
		by   *Node
		says T
		text string // how it differs
	}
	var against []account
	for _, other := range c.Others(by) {
		says, err := ask(ctx, c.Only(other))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue
		}
		text := difference(said, says)
		if text == "" {
			for _, a := range against {
				c.SetAside(a.by, fmt.Sprintf("%s and %s say otherwise: %s", by.host, other.host, a.text))
			}
			return nil
		}
		for _, a := range against {
			if difference(a.says, says) == "" {
				c.SetAside(by, fmt.Sprintf("%s and %s say otherwise: %s", a.by.host, other.host, text))
				return ErrOutvoted
			}
		}
		against = append(against, account{other, says, text})
	}
	if len(against) == 0 {
		return nil
	}
	return &NodeFault{Kind: KindLie, Host: by.host, Text: fmt.Sprintf(
		"%s says otherwise, and no third node says which is right: %s", against[0].by.host, against[0].text)}
}

// AskAgain calls ask until it returns something else than ErrOutvoted, at most once for each node.
func (c *Client) AskAgain(ask func() error) error {
	err := ErrOutvoted
	for tries := len(c.nodes); tries > 0 && errors.Is(err, ErrOutvoted); tries-- {
		err = ask()
	}
	return err
}

// Row is what a node says about one transaction of an account.
type Row struct {
	ID    string
	Block int64
	Time  time.Time // zero if the node does not know it
	Pays  string    // what it means to settlements
}

// Rows are transactions of an account from one place on, in order.
type Rows struct {
	List  []Row
	Whole bool  // whether the node says that there are no others in the sample
	Since int64 // the first block that the node has, perhaps not all of it
}

// Difference returns how what another node says of the same transactions differs, "" if it does not. Of two lists that
// do not end at the same place, the part is compared that both have.
func (r Rows) Difference(other Rows) string {
	for i, a := range r.List {
		if i >= len(other.List) {
			if other.Whole && a.Block > other.Since {
				return fmt.Sprintf("no transaction %s of block %d", a.ID, a.Block)
			}
			return ""
		}
		b := other.List[i]
		switch {
		case a.ID != b.ID:
			return fmt.Sprintf("transaction %s of block %d, not %s of block %d", b.ID, b.Block, a.ID, a.Block)
		case a.Block != b.Block:
			return fmt.Sprintf("transaction %s is of block %d, not %d", b.ID, b.Block, a.Block)
		case !a.Time.IsZero() && !b.Time.IsZero() && !a.Time.Equal(b.Time):
			return fmt.Sprintf("transaction %s is of %s, not %s", b.ID, b.Time.UTC().Format(time.RFC3339),
				a.Time.UTC().Format(time.RFC3339))
		case a.Pays != b.Pays:
			return fmt.Sprintf("transaction %s pays %s, not %s", b.ID, b.Pays, a.Pays)
		}
	}
	if len(other.List) > len(r.List) {
		if b := other.List[len(r.List)]; r.Whole && b.Block > r.Since {
			return fmt.Sprintf("another transaction %s of block %d", b.ID, b.Block)
		}
	}
	return ""
}

// Pays describes the settlements in a transaction for Row.Pays.
func Pays(list ...ledger.Settlement) (text string) {
	for i, s := range list {
		if i > 0 {
			text += " and "
		}
		text += fmt.Sprintf("%s of %s from %s to %s", s.Amount, s.Token, s.Payer, s.Payee)
	}
	if text == "" {
		return "nothing"
	}
	return text
}

// errHeads is returned if no head is left that a node can be believed about.
var errHeads = errors.New("nodes contradict each other about the newest block")

// askHead asks every node for its newest final block, and returns the newest one that two nodes have. One that is far
// behind the others counts as away. Other nodes must give the block the same time. First the nodes are asked again
// which network they serve.
func (x *WalkReader) askHead(ctx context.Context) (ledger.Head, error) {
	x.client.ForgetIdentity()
	if len(x.client.nodes) == 1 {
		return x.source.Head(ctx, x.client)
	}
	type word struct {
		by   *Node
		head ledger.Head
	}
	var words []word
	for _, n := range x.client.Others(nil) {
		h, err := x.source.Head(ctx, x.client.Only(n))
		if ctx.Err() != nil {
			return h, ctx.Err()
		}
		if err == nil {
			words = append(words, word{n, h})
		}
	}
	if len(words) == 0 { // waits for a node that is paused
		return x.source.Head(ctx, x.client)
	}
	var newest time.Time
	for _, w := range words {
		if w.head.Time.After(newest) {
			newest = w.head.Time
		}
	}
	for len(words) > 0 {
		best, second := -1, -1
		for i, w := range words {
			switch {
			case newest.Sub(w.head.Time) > maxHeadAge:
			case best < 0 || w.head.Block > words[best].head.Block:
				best, second = i, best
			case second < 0 || w.head.Block > words[second].head.Block:
				second = i
			}
		}
		if second < 0 {
			second = best
		}
		if second < 0 {
			break
		}
		w := words[second]
		err := Compare(ctx, x.client, w.by, w.head.Time,
			func(ctx context.Context, one *Client) (time.Time, error) {
				return x.source.Time(ctx, one, w.head.Block)
			},
			func(one, other time.Time) string {
				if one.Equal(other) {
					return ""
				}
				return fmt.Sprintf("block %d is of %s, not %s", w.head.Block, other.UTC().Format(time.RFC3339),
					one.UTC().Format(time.RFC3339))
			})
		if !errors.Is(err, ErrOutvoted) {
			return w.head, err
		}
		words = append(words[:second], words[second+1:]...)
	}
	return ledger.Head{}, errHeads
}
