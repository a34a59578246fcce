package crawl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"slices"
	"strings"

	"tollbook/crawl/facts"
	"tollbook/crawl/list"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/consent"
	"tollbook/site/postgres/inbox"
	"tollbook/site/postgres/ledger"
)

// A directory's file contains one JSON object on each line, in this order. Each object has a kind:
//
//	{"kind":"tollbook-directory","version":1,"contacts":false}
//	{"kind":"facilitator", …}   as facilitators import reads it, and whether the operator trusts it
//	{"kind":"token", …}         a token whose settlements are measured
//	{"kind":"service", …}       with its endpoints, ownership token and audit trail
//	{"kind":"submission", …}    with its audit trail; without contacts, email and notes are empty
//	{"kind":"erased", …}        a slug that is never assigned again, and addresses that nothing is listed at
//	{"kind":"opt-out", …}       a host whose owner wants it to be left out
//	{"kind":"source", …}        whether a public source is read, with its audit trail
//	{"kind":"suggestion", …}    with its state; without contacts, email is left out
//	{"kind":"end","lines":7}    the number of lines before this one
//
// The file contains no time of its own, so the same directory gives the same bytes. A later version adds kinds and
// members; a reader refuses kinds and members that it does not know.
const (
	directoryKind    = "tollbook-directory"
	directoryVersion = 1
	maxDirectory     = 1 << 30 // bytes
	maxDirectoryLine = 8 << 20
)

// WriteDirectory writes a directory's file. Without contacts it omits what owners wrote for the operator alone: e-mail
// addresses and notes.
func WriteDirectory(w io.Writer, d postgres.Directory, contacts bool) error {
	b := bufio.NewWriter(w)
	lines := 0
	var failed error
	line := func(v any) {
		if failed == nil {
			var text []byte
			if text, failed = encode.Line(v); failed == nil {
				_, failed = b.Write(text)
			}
			lines++
		}
	}
	line(directoryHead{directoryKind, directoryVersion, contacts})
	for _, f := range d.Facilitators {
		line(directoryFacilitator{"facilitator", NewFacilitatorEntry(f)})
	}
	for _, t := range d.Tokens {
		line(directoryToken{"token", t.Network, t.Address, t.Symbol, t.Decimals, t.USD})
	}
	for _, s := range d.Services {
		line(directoryService{"service", s})
	}
	for _, s := range d.Submissions {
		if !contacts {
			s.Email, s.Notes = "", ""
		}
		line(directorySubmission{"submission", s})
	}
	for _, s := range d.Erased {
		line(directoryErased{"erased", s})
	}
	for _, o := range d.OptOuts {
		line(directoryOptOut{"opt-out", o})
	}
	for _, s := range d.Sources {
		line(directorySource{"source", s})
	}
	for _, s := range d.Suggestions {
		if !contacts {
			s.Email = ""
		}
		line(directorySuggestion{"suggestion", s})
	}
	line(directoryEnd{"end", lines})
	if failed == nil {
		failed = b.Flush()
	}
	if failed != nil {
		return fmt.Errorf("write the directory's file: %w", failed)
	}
	return nil
}

// directoryReader reads a directory's file.
type directoryReader struct {
	name         string
	d            postgres.Directory
	facilitators []directoryFacilitator
	slugs, bases map[string]int // line of each
	optOuts      map[string]int
	sources      map[string]int
	suggestions  map[string]int
	end          bool
}

// directoryKinds are the kinds of lines in the order of a file.
var directoryKinds = []string{directoryKind, "facilitator", "token", "service", "submission", "erased", "opt-out",
	"source", "suggestion", "end"}

// ReadDirectory reads a file of WriteDirectory. It refuses the whole file if a line is invalid or of an unknown kind,
// or if the file was cut. The error is a *list.Fault with the line.
func ReadDirectory(name string, r io.Reader) (postgres.Directory, error) {
	in := &directoryReader{name: name, slugs: map[string]int{}, bases: map[string]int{}, optOuts: map[string]int{},
		sources: map[string]int{}, suggestions: map[string]int{}}
	limited := &io.LimitedReader{R: r, N: maxDirectory}
	scanner := bufio.NewScanner(limited)
	scanner.Buffer(make([]byte, 64<<10), maxDirectoryLine)
	last, n := 0, 0
	for scanner.Scan() {
		n++
		var head struct {
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal(scanner.Bytes(), &head); err != nil {
			return in.d, in.fault(n, "want a JSON object")
		}
		at := slices.Index(directoryKinds, head.Kind)
		if at < 0 || n == 1 && at != 0 || n > 1 && at == 0 {
			return in.d, in.fault(n, fmt.Sprintf("kind %.40q is not allowed here; a file begins with %s", head.Kind,
				directoryKind))
		}
		if at < last || in.end {
			return in.d, in.fault(n, fmt.Sprintf("kind %s comes after kind %s", head.Kind, directoryKinds[last]))
		}
		last = at
		if err := in.line(head.Kind, n, scanner.Bytes()); err != nil {
			return in.d, in.fault(n, strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return in.d, in.fault(n+1, fmt.Sprintf("is longer than %d MiB", maxDirectoryLine>>20))
	case err != nil:
		return in.d, fmt.Errorf("read %s: %w", name, err)
	case limited.N <= 0:
		return in.d, in.fault(0, fmt.Sprintf("is larger than %d MiB", maxDirectory>>20))
	case !in.end:
		return in.d, in.fault(n, "the file was cut: its last line must be of kind end")
	}
	return in.d, in.readFacilitators()
}

func (in *directoryReader) fault(line int, text string) error {
	return &list.Fault{File: in.name, Line: line, Text: text}
}

// line reads one line.
func (in *directoryReader) line(kind string, n int, data []byte) error {
	switch kind {
	case directoryKind:
		head, err := readLine[directoryHead](data)
		if err != nil {
			return err
		}
		if head.Version != directoryVersion {
			return fmt.Errorf("version %d: this program reads version %d", head.Version, directoryVersion)
		}
	case "facilitator":
		f, err := readLine[directoryFacilitator](data)
		if err != nil {
			return err
		}
		in.facilitators = append(in.facilitators, f)
	case "token":
		t, err := readLine[directoryToken](data)
		if err != nil {
			return err
		}
		if t.Network == "" || t.Address == "" || t.Symbol == "" || t.Decimals < 0 || t.Decimals > 36 {
			return errors.New("a token must have network, address, symbol, and decimals from 0 to 36")
		}
		in.d.Tokens = append(in.d.Tokens,
			ledger.Token{Network: t.Network, Address: t.Address, Symbol: t.Symbol, Decimals: t.Decimals, USD: t.USD})
	case "service":
		s, err := readLine[directoryService](data)
		if err != nil {
			return err
		}
		if err := in.service(&s.DirectoryService, n); err != nil {
			return err
		}
		in.d.Services = append(in.d.Services, s.DirectoryService)
	case "submission":
		s, err := readLine[directorySubmission](data)
		if err != nil {
			return err
		}
		if err := in.submission(&s.Submission); err != nil {
			return err
		}
		in.d.Submissions = append(in.d.Submissions, s.Submission)
	case "erased":
		e, err := readLine[directoryErased](data)
		if err != nil {
			return err
		}
		if !site.ValidSlug(e.Slug) {
			return errSlug(e.Slug)
		}
		if strings.ContainsRune(strings.Join(e.Addresses, "")+e.Actor+e.Reason+e.CleanSnapshot, 0) {
			return errors.New("a text contains a NUL byte")
		}
		in.d.Erased = append(in.d.Erased, e.RemovedService)
		return checkUnique(in.slugs, "slug", e.Slug, n)
	case "opt-out":
		o, err := readLine[directoryOptOut](data)
		if err != nil {
			return err
		}
		if o.BlockedBy != "" && o.Document == "" {
			if host, err := consent.BlockedHost(o.Host); err != nil || host != o.Host {
				return fmt.Errorf("host %.80q: want a host, or *. and a domain", o.Host)
			}
		} else if _, err := listing.ParseURL(o.Document); err != nil || consent.HostOf(o.Document) != o.Host {
			return fmt.Errorf("document %.80q must be a URL on the host %.80q", o.Document, o.Host)
		}
		if strings.ContainsRune(o.BlockedBy+o.Reason, 0) {
			return errors.New("a text contains a NUL byte")
		}
		in.d.OptOuts = append(in.d.OptOuts, o.OptOut)
		return checkUnique(in.optOuts, "host", o.Host, n)
	case "source":
		s, err := readLine[directorySource](data)
		if err != nil {
			return err
		}
		in.d.Sources = append(in.d.Sources, s.Decision)
		return errors.Join(s.Decision.Check(), checkUnique(in.sources, "source", s.Name, n))
	case "suggestion":
		s, err := readLine[directorySuggestion](data)
		if err != nil {
			return err
		}
		in.d.Suggestions = append(in.d.Suggestions, s.Suggestion)
		return errors.Join(s.Check(), checkUnique(in.suggestions, "id", s.ID.String(), n))
	case "end":
		end, err := readLine[directoryEnd](data)
		if err != nil {
			return err
		}
		if end.Lines != n-1 {
			return fmt.Errorf("%d lines precede this one, but it says %d", n-1, end.Lines)
		}
		in.end = true
	}
	return nil
}

// readLine reads a line whose members are all known.
func readLine[T any](data []byte) (v T, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return v, nil
}

// service checks a service by the rules of a listing.
func (in *directoryReader) service(s *postgres.DirectoryService, n int) error {
	l := postgres.Listing{Name: s.Name, Description: s.Description, BaseURL: s.BaseURL, WebsiteURL: s.WebsiteURL,
		Category: s.Category}
	var faults []error
	for _, f := range list.CheckFields(&l) {
		faults = append(faults, f)
	}
	if !site.ValidSlug(s.Slug) {
		faults = append(faults, errSlug(s.Slug))
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	if s.Source != "submitted" && !strings.HasPrefix(s.Source, "imported:") || len(s.Source) > listing.MaxName ||
		listing.CheckText(s.Source, listing.MaxName) != nil {
		return fmt.Errorf("source %.40q must be submitted or imported:ORIGIN", s.Source)
	}
	switch s.State {
	case "", postgres.StatePaused, postgres.StateHidden, postgres.StateRetired:
	default:
		return fmt.Errorf("listing_state %.40q must be paused, hidden or retired, or left out", s.State)
	}
	if s.CheckSeconds < 1 || s.CheckSeconds > 366*24*3600 {
		return fmt.Errorf("check_interval_seconds %d must be from 1 to 31622400", s.CheckSeconds)
	}
	if s.OwnershipToken != nil && listing.CheckText(*s.OwnershipToken, listing.MaxName) != nil {
		return errors.New("ownership_token is not a valid token")
	}
	if len(s.Endpoints) > 10*facts.MaxEndpoints { // more than are tracked, because the file includes inactive ones
		return fmt.Errorf("endpoints: %d given, at most %d allowed", len(s.Endpoints), 10*facts.MaxEndpoints)
	}
	for _, d := range s.Endpoints {
		if _, err := listing.ParsePaths([]string{strings.TrimSpace(d.Method + " " + d.Path)}); err != nil {
			return fmt.Errorf("endpoints %w", err)
		}
	}
	return errors.Join(checkUnique(in.slugs, "slug", s.Slug, n), checkUnique(in.bases, "base_url", s.BaseURL, n),
		checkAudit(s.Audit))
}

// submission checks a submission by what the database accepts. Its texts were checked when it was received.
func (in *directoryReader) submission(s *inbox.Submission) error {
	if _, err := listing.BaseURL(s.URL); err != nil {
		return fmt.Errorf("url %w", err)
	}
	if _, err := listing.ParsePaths(s.Endpoints); err != nil {
		return fmt.Errorf("endpoints %w", err)
	}
	if _, err := mail.ParseAddress(s.Email); s.Email != "" && err != nil {
		return errors.New("email must be an e-mail address")
	}
	decided := s.DecidedAt != nil
	switch s.State {
	case site.SubmissionPending:
		if decided || s.Reason != nil || s.Slug != nil {
			return errors.New("a pending submission must not have decided_at, reason or slug")
		}
	case site.SubmissionApproved:
		if !decided || s.Reason != nil || s.Slug == nil {
			return errors.New("an approved submission must have decided_at and slug, and no reason")
		}
	case site.SubmissionRejected:
		if !decided || s.Reason == nil || s.Slug != nil {
			return errors.New("a rejected submission must have decided_at and reason, and no slug")
		}
	default:
		return fmt.Errorf("state %.40q must be pending, approved or rejected", s.State)
	}
	if strings.ContainsRune(s.ServiceName+s.Description+s.Notes+s.WebsiteURL+s.Category+s.Domain, 0) {
		return errors.New("a text contains a NUL byte")
	}
	return checkAudit(s.Audit)
}

func checkAudit(lines []inbox.AuditLine) error {
	for _, a := range lines {
		if strings.ContainsRune(a.Actor+a.Action+a.Detail, 0) || a.Actor == "" || a.Action == "" {
			return errors.New("audit: each line must have an actor and an action, without NUL bytes")
		}
	}
	return nil
}

// readFacilitators checks the facilitators by the rules of a list of facilitators.
func (in *directoryReader) readFacilitators() error {
	if len(in.facilitators) == 0 {
		return nil
	}
	type plain struct {
		ID             string               `json:"id"`
		Name           string               `json:"name"`
		WebsiteURL     string               `json:"website_url"`
		DocsURL        *string              `json:"docs_url"`
		FacilitatorURL *string              `json:"facilitator_url"`
		UpstreamStatus string               `json:"upstream_status"`
		Addresses      []FacilitatorAccount `json:"addresses"`
	}
	var list struct {
		Facilitators []plain `json:"facilitators"`
	}
	for _, f := range in.facilitators {
		list.Facilitators = append(list.Facilitators,
			plain{f.ID, f.Name, f.WebsiteURL, f.DocsURL, f.FacilitatorURL, f.UpstreamStatus, f.Addresses})
	}
	data, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("read the facilitators of %s: %w", in.name, err)
	}
	in.d.Facilitators, err = ReadFacilitators(in.name, bytes.NewReader(data))
	for i := range in.d.Facilitators {
		in.d.Facilitators[i].Trusted = in.facilitators[i].Trusted
	}
	return err
}

func errSlug(slug string) error {
	return fmt.Errorf("slug %.80q must be 1 to 80 of a-z, 0-9 and inner hyphens", slug)
}

// checkUnique returns an error for a value that an earlier line has.
func checkUnique(seen map[string]int, what, value string, line int) error {
	if first, twice := seen[value]; twice {
		return fmt.Errorf("%s %s is already at line %d", what, value, first)
	}
	seen[value] = line
	return nil
}
