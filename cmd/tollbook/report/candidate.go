package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tollbook/build/judge/directory"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

type candidate struct {
	NetworkCAIP2 string         `json:"network_caip2"`
	Address      string         `json:"address"`
	Evidence     string         `json:"evidence"`
	AnnouncedBy  []announcement `json:"announced_by"`
	Payments     []payments     `json:"payments"`
}

type announcement struct {
	FacilitatorID string    `json:"facilitator_id"`
	URL           string    `json:"url"`
	OverTLS       bool      `json:"over_tls"`
	Since         site.Time `json:"since"`
	LastSeenAt    site.Time `json:"last_seen_at"`
}

type payments struct {
	TokenAddress   string `json:"token_address"`
	PaymentCount   int64  `json:"payment_count"`
	RecipientCount int64  `json:"recipient_count"`
	FirstDay       string `json:"first_day"`
	LastDay        string `json:"last_day"`
}

// Candidates prints the accounts that facilitators announce and no list names. polled is the number of facilitators
// that were asked.
func Candidates(w io.Writer, list []directory.Candidate, polled int, asJSON bool) error {
	if asJSON {
		rows := make([]candidate, len(list))
		for i := range list {
			rows[i] = newCandidate(&list[i])
		}
		return JSONList(w, rows)
	}
	if len(list) == 0 {
		text := "No candidates: the lists name every account that facilitators announce on main networks."
		if polled == 0 {
			text = "No candidates: no facilitator was asked yet. up, work and crawl ask those with a facilitator_url."
		}
		_, err := fmt.Fprintln(w, text)
		return err
	}
	t := NewTable(w, "ANNOUNCED BY", "SINCE", "EVIDENCE", "PAYMENTS", "NETWORK", "ADDRESS")
	for i := range list {
		c := &list[i]
		var by []string
		since := c.Announcements[0].First
		for _, a := range c.Announcements {
			by = append(by, a.FacilitatorID)
			if a.First.Before(since) {
				since = a.First
			}
		}
		t.Row(strings.Join(by, ","), since.UTC().Format(time.DateOnly), c.Evidence(), c.PaymentCount(), c.Network,
			x402.SpellAddress(c.Network, c.Address))
	}
	return t.Flush()
}

func newCandidate(c *directory.Candidate) candidate {
	row := candidate{NetworkCAIP2: c.Network, Address: x402.SpellAddress(c.Network, c.Address), Evidence: c.Evidence(),
		AnnouncedBy: []announcement{}, Payments: []payments{}}
	for _, a := range c.Announcements {
		row.AnnouncedBy = append(row.AnnouncedBy, announcement{a.FacilitatorID, a.URL, a.IsOverTLS(),
			site.NewTime(a.First), site.NewTime(a.Last)})
	}
	for _, p := range c.Payments {
		row.Payments = append(row.Payments, payments{x402.SpellAddress(c.Network, p.Token), p.Payments, p.Recipients,
			p.FirstDay.UTC().Format(time.DateOnly), p.LastDay.UTC().Format(time.DateOnly)})
	}
	return row
}

// Acceptance is what an operator accepted or withdrew.
type Acceptance struct {
	Facilitator string
	Settlers    []ledger.Settler
	IsWithdrawn bool
	Counts      bool // whether the volume of the facilitator counts
}

// Accepted prints what an operator accepted or withdrew.
func Accepted(w io.Writer, a Acceptance, asJSON bool) error {
	if asJSON {
		type account struct {
			NetworkCAIP2 string   `json:"network_caip2"`
			Address      string   `json:"address"`
			Tokens       []string `json:"tokens"`
		}
		accounts := []account{}
		for _, s := range a.Settlers {
			accounts = append(accounts, account{s.Network, x402.SpellAddress(s.Network, s.Address), s.Tokens})
		}
		return JSON(w, map[string]any{"facilitator_id": a.Facilitator, "withdrawn": a.IsWithdrawn,
			"accounts": accounts, "volume_counts": a.Counts})
	}
	var networks []string
	for _, s := range a.Settlers {
		networks = append(networks, s.Network)
	}
	slices.Sort(networks)
	accounts := display.Plural(int64(len(a.Settlers)), "account", "accounts")
	on := strings.Join(slices.Compact(networks), ", ")
	if a.IsWithdrawn {
		_, err := fmt.Fprintf(w, "%s: %s withdrawn on %s; its new settlements no longer count\n", a.Facilitator,
			accounts,
			on)
		return err
	}
	fmt.Fprintf(w, "%s: %s accepted on %s; the next index reads the past settlements too\n", a.Facilitator, accounts,
		on)
	if a.Counts {
		return nil
	}
	_, err := fmt.Fprintf(w, "its volume does not count yet: tollbook facilitators trust %s\n", a.Facilitator)
	return err
}
