package chain

import (
	"context"
	"fmt"
	"strings"
)

// Inspect asks one address of a network for its newest block, once the address has told which chain it serves: another one
// is an error. Of Solana it is the newest finalised slot. Errors tell of the address scheme and host alone.
func Inspect(ctx context.Context, network, address string, o Options) (Head, error) {
	o = o.withDefaults()
	head := Head{Network: network}
	c, err := newClient(Network{ID: network, RPC: []string{address}}, o)
	if err != nil {
		return head, err
	}
	switch namespace, _, _ := strings.Cut(network, ":"); namespace {
	case "eip155":
		x := &EVM{network: Network{ID: network}, client: c, options: o}
		newest, err := x.blockAt(ctx, `"latest"`)
		if err != nil {
			return head, fmt.Errorf("ask a node of %s for its newest block: %w", network, err)
		}
		head.Block, head.Time, head.PolledAt = newest.number, newest.time, o.Now()
		return head, nil
	case "solana":
		x := &Solana{network: Network{ID: network}, client: c, options: o}
		if head, err = x.askHead(ctx); err != nil {
			return head, fmt.Errorf("ask a node of %s for its newest slot: %w", network, err)
		}
		return head, nil
	}
	return head, fmt.Errorf("ask a node of %s: its chain is none that can be read", network)
}
