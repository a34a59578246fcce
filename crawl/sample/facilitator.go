package sample

import (
	"bytes"
	_ "embed"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"

	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

//go:embed facilitators.toml
var facilitatorsTOML []byte

// facilitator settles payments of the world: the keys of facilitators.toml.
type facilitator struct {
	ID, Name     string
	Networks     []string
	Weight       float64
	Accounts     int
	Since, Moved int // days before the start, 0 for the default
	Unlisted     bool

	Announces []string // kinds of payment that its API announces; none without an API
	Also      string   // id of a facilitator whose accounts it announces, too
	Health    bool
	Down      int

	rails     []rail // of Networks
	announced []rail // of Announces
}

// facilitators is the list of all facilitators, in the order of the file.
var facilitators = sync.OnceValue(func() []*facilitator {
	list, err := readFacilitators(facilitatorsTOML)
	if err != nil {
		panic(fmt.Errorf("read embedded facilitators.toml: %w", err)) // a broken build, not a broken input
	}
	return list
})

func readFacilitators(text []byte) ([]*facilitator, error) {
	var file struct{ Facilitator []*facilitator }
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&file); err != nil {
		return nil, err
	}
	for _, f := range file.Facilitator {
		for _, name := range f.Networks {
			r, err := parseRail("exact " + name)
			if err != nil {
				return nil, fmt.Errorf("facilitator %s: %w", f.ID, err)
			}
			f.rails = append(f.rails, r)
		}
		var err error
		if f.announced, err = parseRails(f.Announces); err != nil {
			return nil, fmt.Errorf("facilitator %s: %w", f.ID, err)
		}
		f.Accounts = max(f.Accounts, 1)
	}
	return file.Facilitator, nil
}

// Facilitators returns the listed facilitators in the form of an import. Their accounts are hashes without keys.
func Facilitators(start time.Time) []ledger.Facilitator {
	var list []ledger.Facilitator
	for _, f := range facilitators() {
		if !f.Unlisted {
			list = append(list, f.listing(start))
		}
	}
	return list
}

func (f *facilitator) listing(start time.Time) ledger.Facilitator {
	l := ledger.Facilitator{ID: f.ID, Name: f.Name, WebsiteURL: f.url() + "/", UpstreamStatus: "merged"}
	if len(f.announced) > 0 {
		l.FacilitatorURL = new(f.url())
	}
	for _, r := range f.rails {
		for n := range f.Accounts {
			add := func(of string, since *time.Time, deprecated bool) {
				l.Settlers = append(l.Settlers, ledger.Settler{
					Network: r.network.ID, Address: r.normal(of),
					Tokens: []string{x402.NormalizeAddress(r.network.ID, r.asset.Address)},
					Since:  since, Deprecated: deprecated,
				})
			}
			if f.Moved > 0 {
				add(f.account(n, false), nil, true)
			}
			add(f.account(n, true), f.opened(start), false)
		}
	}
	return l
}

// account returns the name of the nth account, before or after the facilitator changed its accounts.
func (f *facilitator) account(n int, current bool) string {
	of := f.ID + "/settler/" + strconv.Itoa(n)
	if !current {
		of += "/former"
	}
	return of
}

// opened returns the UTC day from which the current accounts settle, nil if they always did.
func (f *facilitator) opened(start time.Time) *time.Time {
	days := max(f.Since, f.Moved)
	if days == 0 {
		return nil
	}
	at := start.UTC().Truncate(day).Add(-time.Duration(days) * day)
	return &at
}

// settles reports whether it settles on r at a time.
func (f *facilitator) settles(r rail, t, start time.Time) bool {
	return f.serves(r.network.ID) && (f.Since == 0 || !t.Before(*f.opened(start)))
}

// settler returns the account that settles on r at a time, chosen by a number.
func (f *facilitator) settler(r rail, t, start time.Time, number int) string {
	opened := f.opened(start)
	return r.normal(f.account(number%f.Accounts, opened == nil || !t.Before(*opened)))
}

func (f *facilitator) serves(network string) bool {
	for _, r := range f.rails {
		if r.network.ID == network {
			return true
		}
	}
	return false
}

// normal returns an address in normal form.
func (r rail) normal(of string) string {
	return x402.NormalizeAddress(r.network.ID, r.address(of))
}
