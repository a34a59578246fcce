package xrpl

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tollbook/crawl/chain"
	"tollbook/site"
	"tollbook/site/postgres/ledger"
)

// depositAuth is the flag of an account that refuses payments of senders that it has not authorised (lsfDepositAuth).
const depositAuth = 0x01000000

// native is the asset XRP, for which no account needs a trust line.
const native = "XRP"

// NewReceivers returns receivers for a network of the XRP Ledger: an account can receive an issued currency if it
// exists, accepts payments, and has a trust line to the issuer that is not full.
func NewReceivers(n chain.Network, o chain.Options) (*chain.Receivers, error) {
	o = o.WithDefaults()
	return chain.NewReceivers(n, identity(), o, askReceptions,
		func(ctx context.Context, c *chain.Client) (ledger.Head, error) {
			return (&Reader{network: n, options: o}).Head(ctx, c)
		})
}

// askReceptions asks one node about recipients.
func askReceptions(ctx context.Context, c *chain.Client, list []chain.Recipient) ([]chain.Reception, error) {
	answers := make([]chain.Reception, len(list))
	for i, r := range list {
		var err error
		if answers[i], err = askReception(ctx, c, r); err != nil {
			return nil, fmt.Errorf("account %s: %w", r.Address, err)
		}
	}
	return answers, nil
}

// askReception asks one node about one recipient.
func askReception(ctx context.Context, c *chain.Client, r chain.Recipient) (a chain.Reception, err error) {
	currency, issuer, _ := strings.Cut(r.Asset, ".")
	calls := []chain.Call{newCall("account_info", map[string]any{"account": r.Address, "ledger_index": "validated"})}
	if currency != native {
		calls = append(calls, newCall("account_lines", map[string]any{"account": r.Address, "peer": issuer,
			"ledger_index": "validated", "limit": maxLines}))
	}
	err = c.Ask(ctx, chain.Question{Calls: calls, Atomic: true, Read: func(_ int, calls []chain.Call) error {
		var info struct {
			Validated bool `json:"validated"`
			Data      struct {
				Account string `json:"Account"`
				Flags   int64  `json:"Flags"`
			} `json:"account_data"`
		}
		err := readResult(calls[0].Result, &info)
		switch {
		case errors.Is(err, errNotFound) && currency == native: // a payment of the reserve would open the account
			a = chain.Reception{Reason: site.ReceptionNoAccount}
			return nil
		case errors.Is(err, errNotFound):
			a = chain.CannotReceive(site.ReceptionNoAccount)
			return nil
		case err != nil:
			return err
		case !info.Validated || info.Data.Account != r.Address:
			return fmt.Errorf("the answer is about account %.60q, validated %t", info.Data.Account, info.Validated)
		case info.Data.Flags&depositAuth != 0:
			a = chain.CannotReceive(site.ReceptionDepositsRefused)
			return nil
		case currency == native || issuer == r.Address:
			a = chain.CanReceive()
			return nil
		}
		var lines accountLines
		if err := readResult(calls[1].Result, &lines); err != nil {
			return err
		}
		a, err = lines.reception(r.Address, currency, issuer)
		return err
	}})
	return a, err
}

// maxLines is the most trust lines that are asked for. Only those to one issuer are.
const maxLines = 400

// accountLines is an answer of account_lines.
type accountLines struct {
	Account   string      `json:"account"`
	Validated bool        `json:"validated"`
	Lines     []trustLine `json:"lines"`
}

// trustLine is a trust line, as its account sees it.
type trustLine struct {
	Issuer     string `json:"account"`
	Currency   string `json:"currency"`
	Balance    string `json:"balance"`
	Limit      string `json:"limit"`
	DeepFreeze bool   `json:"deep_freeze_peer"` // by the issuer; an ordinary freeze lets payments in
}

// reception returns what trust lines say about a currency of an issuer.
func (l *accountLines) reception(account, currency, issuer string) (chain.Reception, error) {
	if l.Account != account || !l.Validated || l.Lines == nil {
		return chain.Reception{}, fmt.Errorf("the trust lines are of account %.60q, validated %t", l.Account, l.Validated)
	}
	for _, line := range l.Lines {
		if line.Issuer != issuer || line.Currency != currency {
			continue
		}
		limit, err := strconv.ParseFloat(line.Limit, 64)
		balance, wrong := strconv.ParseFloat(line.Balance, 64)
		switch {
		case err != nil || wrong != nil:
			return chain.Reception{}, fmt.Errorf("a trust line has limit %.40q and balance %.40q", line.Limit, line.Balance)
		case line.DeepFreeze:
			return chain.CannotReceive(site.ReceptionFrozen), nil
		case limit == 0 && balance == 0: // the other side's line
			return chain.CannotReceive(site.ReceptionNoTrustLine), nil
		case limit <= balance:
			return chain.CannotReceive(site.ReceptionLimitReached), nil
		}
		return chain.CanReceive(), nil
	}
	return chain.CannotReceive(site.ReceptionNoTrustLine), nil
}
