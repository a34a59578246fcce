package chain

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tollbook/site/x402"
)

// Facilitator settles payments for others.
type Facilitator struct {
	ID             string
	Name           string
	WebsiteURL     string // the origin of FacilitatorURL if the list has none
	DocsURL        string // "" when unknown
	FacilitatorURL string // "" when unknown
	UpstreamStatus string // state in the list's source: merged, merged_after_snapshot, pull_request, protocol, …
	Settlers       []Settler
}

// Settler is an account from which a facilitator sends settlements, or a mark of payments that payers send themselves.
type Settler struct {
	Network    string   // CAIP-2; from the network table if it has the network
	Address    string   // in normal form; for a mark the form of x402.IsMark
	Tokens     []string // tokens that it settles, in normal form, in the list's order
	Since      *time.Time
	Deprecated bool // whether the facilitator now uses other accounts; past settlements still count
	Accepted   bool // by an operator, whose export the list is
}

//go:embed facilitators.json
var shippedJSON []byte

// ShippedName is the file name of the shipped list in faults.
const ShippedName = "facilitators.json"

// Shipped returns the list of facilitators that is part of Tollbook.
func Shipped() ([]Facilitator, error) {
	return ReadFacilitators(ShippedName, bytes.NewReader(shippedJSON))
}

// Limits of a list.
const (
	maxList     = 16 << 20 // bytes
	maxName     = 100      // characters
	maxURL      = 2048
	maxSettlers = 10_000 // of one facilitator
	maxTokens   = 32     // of one settler
)

var (
	idForm     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	statusForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)
)

// reservedID is the last segment of a path of the API, so it can't be a facilitator's id.
const reservedID = "matrix"

// Fault is a fault of a list.
type Fault struct {
	File        string
	Facilitator string // its id, "number 3" without one, "" for the whole list
	Text        string
}

func (f *Fault) Error() string {
	if f.Facilitator == "" {
		return f.File + ": " + f.Text
	}
	return f.File + ": facilitator " + f.Facilitator + ": " + f.Text
}

// The list as its file has it. The structs name unused members too, so that a misspelt member is an error.
type (
	file struct {
		Facilitators []json.RawMessage `json:"facilitators"`

		Source       any `json:"source"`
		Retrieved    any `json:"retrieved_commit"`
		RetrievedOn  any `json:"retrieved_commit_date"`
		Counts       any `json:"counts"`
		NetworkNames any `json:"network_names"`
	}
	entry struct {
		ID             string    `json:"id"`
		Name           string    `json:"name"`
		WebsiteURL     string    `json:"website_url"`
		DocsURL        string    `json:"docs_url"`
		FacilitatorURL string    `json:"facilitator_url"`
		UpstreamStatus string    `json:"upstream_status"`
		Addresses      []account `json:"addresses"`

		SourcePath       any `json:"source_path"`
		SourceCommit     any `json:"source_commit"`
		WebsiteDerived   any `json:"website_url_derived"`
		DeclaredNetworks any `json:"declared_networks"`
		EcosystemPath    any `json:"ecosystem_source_path"`
		OtherAddresses   any `json:"other_addresses"` // on networks whose settlements are of other kinds
		Note             any `json:"note"`
	}
	account struct {
		Network    string   `json:"network"`
		Address    string   `json:"address"`
		Tokens     []string `json:"tokens"`
		Since      *string  `json:"since"` // 2006-01-02
		Deprecated bool     `json:"deprecated"`
		Accepted   bool     `json:"accepted"`
		SourcePath any      `json:"source_path"`
	}
)

// ReadFacilitators reads a list: {"facilitators": [{id, name, website_url, facilitator_url, upstream_status, addresses:
// [{network, address, tokens, since}]}]}. One invalid entry refuses the whole list. The error joins all faults, each a
// *Fault.
func ReadFacilitators(name string, r io.Reader) ([]Facilitator, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxList+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxList {
		return nil, &Fault{name, "", fmt.Sprintf("is larger than %d MiB", maxList>>20)}
	}
	var f file
	if err := decodeStrict(data, &f); err != nil {
		return nil, &Fault{name, "", describeError(data, err)}
	}
	if len(f.Facilitators) == 0 {
		return nil, &Fault{name, "", `has no facilitators: want {"facilitators": [ {…}, … ]}`}
	}
	list := make([]Facilitator, len(f.Facilitators))
	var faults []error
	for i, raw := range f.Facilitators {
		who := fmt.Sprintf("number %d", i+1)
		var e entry
		var wrong []string
		if err := decodeStrict(raw, &e); err != nil {
			wrong = []string{describeError(raw, err)}
		} else {
			list[i], wrong = e.facilitator()
		}
		if idForm.MatchString(e.ID) {
			who = e.ID
		}
		for _, text := range wrong {
			faults = append(faults, &Fault{name, who, text})
		}
	}
	if len(faults) == 0 {
		faults = findCollisions(name, list)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return list, nil
}

// decodeStrict decodes exactly one value without unknown members.
func decodeStrict(data []byte, v any) error {
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return err // also for data after the value
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// describeError describes a decoder's error, with its line for a syntax error.
func describeError(data []byte, err error) string {
	var bad *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &bad):
		at := min(max(bad.Offset-1, 0), int64(len(data)))
		return fmt.Sprintf("line %d: %s", 1+bytes.Count(data[:at], []byte("\n")), bad.Error())
	case errors.As(err, &wrong):
		return fmt.Sprintf("%s: want %s, got %s", fieldName(wrong.Field), wrong.Type.Kind(), wrong.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func fieldName(field string) string {
	if field == "" {
		return "the entry"
	}
	return field
}

// facilitator checks an entry and returns all its faults.
func (e entry) facilitator() (Facilitator, []string) {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	f := Facilitator{
		ID: e.ID, Name: e.Name, WebsiteURL: e.WebsiteURL, DocsURL: e.DocsURL, FacilitatorURL: e.FacilitatorURL,
		UpstreamStatus: e.UpstreamStatus,
		Settlers:       make([]Settler, 0, len(e.Addresses)),
	}
	if e.ID == reservedID {
		fault("id %s is reserved for the path /v1/facilitators/%[1]s", e.ID)
	}
	if !idForm.MatchString(e.ID) {
		fault("id %.80q must be 1 to 64 letters, digits, dots, hyphens and underscores", e.ID)
	}
	switch n := utf8.RuneCountInString(e.Name); {
	case strings.TrimSpace(e.Name) == "":
		fault("name is missing")
	case strings.ContainsFunc(e.Name, unicode.IsControl) || !utf8.ValidString(e.Name):
		fault("name contains control characters")
	case n > maxName:
		fault("name has %d characters, at most %d are allowed", n, maxName)
	}
	if !statusForm.MatchString(e.UpstreamStatus) {
		fault("upstream_status %.60q must be a word such as merged or pull_request", e.UpstreamStatus)
	}
	for _, a := range []struct{ field, value string }{
		{"website_url", e.WebsiteURL}, {"docs_url", e.DocsURL}, {"facilitator_url", e.FacilitatorURL},
	} {
		if _, err := parseURL(a.value); a.value != "" && err != nil {
			fault("%s %v", a.field, err)
		}
	}
	if e.WebsiteURL == "" {
		u, err := parseURL(e.FacilitatorURL)
		if err != nil {
			fault("has neither website_url nor facilitator_url")
		} else {
			f.WebsiteURL = u.Scheme + "://" + u.Host
		}
	}
	if len(e.Addresses) > maxSettlers {
		fault("has %d addresses, at most %d are allowed", len(e.Addresses), maxSettlers)
		return f, faults
	}
	for _, a := range e.Addresses {
		s, wrong := a.settler()
		for _, text := range wrong {
			fault("address %.80q: %s", a.Address, text)
		}
		f.Settlers = append(f.Settlers, s)
	}
	return f, faults
}

// parseURL parses an absolute http or https URL without userinfo.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || len(s) > maxURL:
		return nil, fmt.Errorf("%.60q is not a URL", s)
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("%.60q must begin with https:// or http:// and a host", s)
	case u.User != nil:
		return nil, errors.New("must not contain a user name or password")
	}
	return u, nil
}

// caip2 is the grammar of CAIP-2.
var caip2 = regexp.MustCompile(`^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$`)

func (a account) settler() (Settler, []string) {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	s := Settler{Network: a.Network, Address: x402.NormalizeAddress(a.Network, a.Address), Deprecated: a.Deprecated,
		Accepted: a.Accepted}
	if n, ok := x402.NetworkByID(a.Network); ok {
		s.Network = n.ID
	} else if !caip2.MatchString(a.Network) {
		fault("network %.60q is not a CAIP-2 id", a.Network)
		return s, faults
	}
	if err := x402.CheckSettler(s.Network, s.Address); err != nil {
		fault("%v", err)
	} else if _, token := x402.LookupAsset(s.Network, s.Address); token {
		fault("is a token, which can't settle")
	}
	if len(a.Tokens) == 0 || len(a.Tokens) > maxTokens {
		fault("has %d tokens, 1 to %d are allowed", len(a.Tokens), maxTokens)
		return s, faults
	}
	for _, t := range a.Tokens {
		token := x402.NormalizeAddress(s.Network, t)
		switch err := x402.CheckToken(s.Network, token); {
		case err != nil:
			fault("token %.80q: %v", t, err)
		case token == s.Address:
			fault("is one of its own tokens")
		case slices.Contains(s.Tokens, token):
			fault("token %.80q is listed twice", t)
		}
		s.Tokens = append(s.Tokens, token)
	}
	if a.Since != nil {
		day, err := time.Parse(time.DateOnly, *a.Since)
		if err != nil || day.Year() < 2009 { // no chain is older
			fault("since %.40q must be a day such as 2025-10-29", *a.Since)
		}
		s.Since = &day
	}
	return s, faults
}

// findCollisions returns a fault for each id and account that is listed twice. If two facilitators claim an account,
// the list is refused, because one would get the credit for the other's settlements.
func findCollisions(name string, list []Facilitator) (faults []error) {
	ids := map[string]bool{}
	owner := map[[2]string]string{}
	tokens := map[[2]string]bool{}
	for _, f := range list {
		for _, s := range f.Settlers {
			for _, t := range s.Tokens {
				tokens[[2]string{s.Network, t}] = true
			}
		}
	}
	for _, f := range list {
		if ids[f.ID] {
			faults = append(faults, &Fault{name, f.ID, "is listed twice"})
			continue
		}
		ids[f.ID] = true
		for _, s := range f.Settlers {
			key := [2]string{s.Network, s.Address}
			other, claimed := owner[key]
			switch {
			case tokens[key]:
				faults = append(faults, &Fault{name, f.ID,
					fmt.Sprintf("address %q on %s is a token in this list, which can't settle", s.Address,
						s.Network)})
			case claimed && other == f.ID:
				faults = append(faults, &Fault{name, f.ID,
					fmt.Sprintf("address %q is listed twice on %s", s.Address, s.Network)})
			case claimed:
				faults = append(faults, &Fault{name, f.ID,
					fmt.Sprintf("address %q on %s is claimed by facilitator %s too", s.Address, s.Network, other)})
			}
			owner[key] = f.ID
		}
	}
	return faults
}
