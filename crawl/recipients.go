package crawl

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/solana"
	"tollbook/crawl/chain/stellar"
	"tollbook/crawl/chain/xrpl"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// How often nodes are asked about a recipient, and how many recipients of a network one round asks about. A recipient
// about whom nobody knows is asked about sooner.
const (
	receptionEvery = 24 * time.Hour
	receptionRetry = time.Hour
	maxReceptions  = 2000
	maxNamed       = 20_000 // recipients that are read of a network
)

// newReceivers are the chains whose nodes can say whether a recipient can receive, by the namespace of a CAIP-2 id.
var newReceivers = map[string]func(chain.Network, chain.Options) (*chain.Receivers, error){
	"solana": solana.NewReceivers, "stellar": stellar.NewReceivers, "xrpl": xrpl.NewReceivers,
}

// Recipients asks the nodes of networks whether the recipients of listed services can receive. It is not safe for
// concurrent use.
type Recipients struct {
	db        *postgres.DB
	networks  []string
	receivers map[string]*chain.Receivers // by network
	o         chain.Options
}

// NewRecipients returns what asks the nodes of networks. Networks of other chains are left out; IsEmpty says if none
// remains.
func NewRecipients(db *postgres.DB, networks []chain.Network, o chain.Options) (*Recipients, error) {
	r := &Recipients{db: db, receivers: map[string]*chain.Receivers{}, o: o.WithDefaults()}
	for _, n := range networks {
		namespace, _, _ := strings.Cut(n.ID, ":")
		open, ok := newReceivers[namespace]
		if !ok {
			continue
		}
		receivers, err := open(n, o)
		if err != nil {
			return nil, err
		}
		r.networks, r.receivers[n.ID] = append(r.networks, n.ID), receivers
	}
	return r, nil
}

// IsEmpty reports whether no network can be asked.
func (r *Recipients) IsEmpty() bool { return len(r.networks) == 0 }

// RecipientsReport counts the answers of a round about one network.
type RecipientsReport struct {
	Network string `json:"network"`
	Can     int    `json:"can_receive"`
	Cannot  int    `json:"cannot_receive"`
	Unknown int    `json:"unknown"`
	Left    int    `json:"left"` // due recipients that the next round asks about
}

// Round asks about the recipients that are due, at most maxReceptions of each network, and stores the answers of each
// batch. A crash loses one batch, which is due again. One network that fails does not keep the others from being asked.
func (r *Recipients) Round(ctx context.Context, progress func(done, total int)) ([]RecipientsReport, error) {
	due, total := map[string][]chain.Recipient{}, 0
	reports := make([]RecipientsReport, len(r.networks))
	for i, network := range r.networks {
		list, err := r.findDue(ctx, network)
		if err != nil {
			return nil, err
		}
		reports[i] = RecipientsReport{Network: network, Left: max(0, len(list)-maxReceptions)}
		due[network] = list[:min(len(list), maxReceptions)]
		total += len(due[network])
	}
	done := 0
	for i, network := range r.networks {
		for list := due[network]; len(list) > 0; {
			part := list[:min(len(list), chain.ReceiverBatch)]
			list = list[len(part):]
			if err := r.ask(ctx, network, part, &reports[i]); err != nil {
				return reports, err
			}
			if done += len(part); progress != nil {
				progress(done, total)
			}
		}
	}
	return reports, nil
}

// recipientsEvery is the time from one round of Run to the next.
const recipientsEvery = time.Hour

// Run runs a round each hour until ctx ends. It logs errors, and tries again with the next round.
func (r *Recipients) Run(ctx context.Context) {
	for ctx.Err() == nil && !r.IsEmpty() {
		if _, err := r.Round(ctx, nil); err != nil && ctx.Err() == nil {
			r.o.Logger.Error("asking about recipients failed; the next round tries again", "after", recipientsEvery,
				"error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(recipientsEvery):
		}
	}
}

// ask asks about a batch of recipients and stores the answers.
func (r *Recipients) ask(ctx context.Context, network string, list []chain.Recipient, report *RecipientsReport) error {
	answers, err := r.receivers[network].Ask(ctx, list)
	if err != nil {
		return fmt.Errorf("ask whether recipients on %s can receive: %w", network, err)
	}
	now := r.o.Now()
	stored := make([]ledger.Reception, len(list))
	for i, a := range answers {
		stored[i] = ledger.Reception{ReceptionKey: ledger.ReceptionKey{Network: network, Asset: list[i].Asset,
			PayTo: list[i].Address}, CanReceive: a.CanReceive, Reason: a.Reason, CheckedAt: now}
		switch {
		case a.CanReceive == nil:
			report.Unknown++
		case *a.CanReceive:
			report.Can++
		default:
			report.Cannot++
		}
	}
	return r.db.StoreReceptions(ctx, stored)
}

// findDue returns the recipients on a network that nodes are to be asked about now. Services may state anything, so
// what is no address is left out.
func (r *Recipients) findDue(ctx context.Context, network string) ([]chain.Recipient, error) {
	named, err := r.db.NamedRecipients(ctx, network, maxNamed)
	if err != nil {
		return nil, err
	}
	known, err := r.db.Receptions(ctx, network)
	if err != nil {
		return nil, err
	}
	var due []chain.Recipient
	seen := map[chain.Recipient]bool{}
	now := r.o.Now()
	for _, n := range named {
		q := x402.Requirement{NetworkCAIP2: network, Asset: n.Asset, AssetNorm: x402.NormalizeAddress(network, n.Asset)}
		if n.Extra != "" {
			q.Extra = json.RawMessage(n.Extra)
		}
		one := chain.Recipient{Asset: q.TokenAddress(), Address: x402.NormalizeAddress(network, n.PayTo)}
		if seen[one] || one.Asset == "" || x402.CheckAddress(network, one.Address) != nil {
			continue
		}
		seen[one] = true
		last, ok := known[ledger.ReceptionKey{Network: network, Asset: one.Asset, PayTo: one.Address}]
		every := receptionEvery
		if last.CanReceive == nil {
			every = receptionRetry
		}
		if !ok || now.Sub(last.CheckedAt) >= every || last.CheckedAt.After(now) {
			due = append(due, one)
		}
	}
	return due, nil
}
