package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"tollbook/crawl"
	"tollbook/site/display"
)

// Again is what reading a network again did.
type Again struct {
	Network    string       `json:"network"`
	From       string       `json:"from"`        // UTC day
	FirstBlock int64        `json:"first_block"` // 0 where walks read a network
	LastBlock  int64        `json:"last_block"`
	Before     int64        `json:"settlements_before"`
	After      int64        `json:"settlements_after"`
	Added      int64        `json:"added"`
	Removed    int64        `json:"removed"`
	Changed    int64        `json:"changed"` // counted in added and in removed, too
	Days       []string     `json:"days"`    // that differ
	Tokens     []AgainToken `json:"tokens"`
	Calls      int64        `json:"calls"`
	Errors     int64        `json:"errors"`
	Seconds    float64      `json:"seconds"`
}

// AgainToken is what it did to the settlements of a token. Amounts are in atomic units.
type AgainToken struct {
	Token        string `json:"token"`
	Before       int64  `json:"settlements_before"`
	After        int64  `json:"settlements_after"`
	AmountBefore string `json:"amount_before"`
	AmountAfter  string `json:"amount_after"`
}

// ReadAgain prints what reading a network again did.
func ReadAgain(w io.Writer, r crawl.ReadAgainReport, asJSON bool) error {
	out := Again{Network: r.Network, From: r.From.Format(time.DateOnly), FirstBlock: r.First, LastBlock: r.Last,
		Before: r.Before, After: r.After, Added: r.Added, Removed: r.Removed, Changed: r.Changed, Days: []string{},
		Tokens: []AgainToken{}, Calls: r.Calls, Errors: r.Errors, Seconds: r.Took.Seconds()}
	for _, d := range r.Days {
		out.Days = append(out.Days, d.Format(time.DateOnly))
	}
	for _, t := range r.Tokens {
		out.Tokens = append(out.Tokens, AgainToken(t))
	}
	if asJSON {
		return JSON(w, out)
	}
	first := ""
	if out.FirstBlock > 0 {
		first = fmt.Sprintf(", block %d", out.FirstBlock)
	}
	if _, err := fmt.Fprintf(w, "%s: read again from %s%s, to block %d, in %.1f s with %d calls, of which %d failed\n",
		nameOf(out.Network), out.From, first, out.LastBlock, out.Seconds, out.Calls, out.Errors); err != nil {
		return err
	}
	if out.Added+out.Removed == 0 {
		_, err := fmt.Fprintf(w, "%s were stored; all are right\n", settlementsOf(out.After))
		return err
	}
	if _, err := fmt.Fprintf(w, "%s were stored, %d are now: %d added, %d removed, of both %d with other facts\n",
		settlementsOf(out.Before), out.After, out.Added, out.Removed, out.Changed); err != nil {
		return err
	}
	for _, t := range out.Tokens {
		if _, err := fmt.Fprintf(w, "%s: %s of %s before, %d of %s after\n", t.Token, settlementsOf(t.Before),
			t.AmountBefore, t.After, t.AmountAfter); err != nil {
			return err
		}
	}
	days := out.Days
	rest := ""
	if len(days) > 10 {
		days, rest = days[:10], fmt.Sprintf(" and %d more", len(out.Days)-10)
	}
	_, err := fmt.Fprintf(w, "days that differ: %s%s; the next build corrects them\n", strings.Join(days, ", "), rest)
	return err
}

func settlementsOf(n int64) string { return display.PlainPlural(n, "settlement", "settlements") }
