package crowd

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/change"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/x402"
)

// state is the terms of a service from a time on.
type state struct {
	at      time.Time
	percent uint64 // of the endpoints' prices
	payee   int    // 0 for the owner's recipient, otherwise one of the service's own
	rails   int    // number of rails
}

// change chooses how often the terms changed: never for three services in four.
func (s *service) change() {
	r := s.r
	now := state{at: s.created.Add(time.Minute), percent: 100, rails: len(s.rails)}
	moves := chosen(r, []float64{75, 14, 6, 3, 2})
	if moves > 0 && len(s.rails) > 1 && r.IntN(3) == 0 {
		now.rails--
	}
	s.states = []state{now}
	until := s.c.o.Moment.Add(-time.Hour)
	if s.fate == down {
		until = s.since
	}
	for range moves {
		at := now.at.Add(2*time.Hour + time.Duration(r.Float64()*float64(until.Sub(now.at)))/2).
			Truncate(time.Millisecond)
		if !at.Before(until) {
			return
		}
		now.at = at
		switch {
		case now.rails < len(s.rails):
			now.rails++
		case r.IntN(8) == 0:
			now.payee++
		default:
			now.percent = []uint64{50, 80, 110, 120, 150, 200, 300}[r.IntN(7)]
		}
		s.states = append(s.states, now)
	}
}

// challenge is a PaymentRequired object of x402 version 1 or 2.
type challenge struct {
	X402Version int              `json:"x402Version"`
	Error       string           `json:"error"`
	Resource    *resource        `json:"resource,omitempty"`
	Accepts     []map[string]any `json:"accepts"`
}

type resource struct {
	URL         string   `json:"url"`
	Description string   `json:"description"`
	MimeType    string   `json:"mimeType"`
	ServiceName string   `json:"serviceName"`
	Tags        []string `json:"tags"`
}

// challenge returns the response of an endpoint in a state.
func (s *service) challenge(e *endpoint, st state) (http.Header, []byte) {
	url := s.is.BaseURL + e.path
	ch := challenge{X402Version: s.version, Error: "Payment required"}
	for _, r := range s.rails[:st.rails] {
		o := map[string]any{
			"scheme": s.scheme, "network": r.id, "asset": r.asset.Address, "payTo": s.payTo(r, st.payee),
			"maxTimeoutSeconds": e.timeout,
		}
		if s.scheme == "upto" && !r.evm() {
			o["scheme"] = "exact"
		}
		amount := r.atomic(max(1, e.micros*st.percent/100))
		extra := map[string]any{}
		switch {
		case o["scheme"] == "upto":
			extra["assetTransferMethod"], extra["facilitatorAddress"] = "permit2", r.address(s.c.o.Seed, -1)
		case r.solana():
			extra["feePayer"] = r.address(s.c.o.Seed, -2)
		}
		if r.evm() && r.asset.Name != "" {
			extra["name"], extra["version"] = r.asset.Name, r.asset.Version
		}
		if len(extra) > 0 {
			o["extra"] = extra
		}
		if s.version == 1 {
			o["network"], o["maxAmountRequired"], o["resource"], o["description"], o["mimeType"] = r.word, amount, url,
				e.description, "application/json"
			o["outputSchema"] = map[string]any{"input": map[string]any{"type": "http", "method": e.method}}
		} else {
			o["amount"] = amount
		}
		ch.Accepts = append(ch.Accepts, o)
	}
	header := http.Header{"Content-Type": {"application/json"}, "Server": {"cloudflare"},
		"Cf-Ray": {"8f0c1b2a3d4e5f60-FRA"}}
	if s.version == 2 {
		ch.Resource = &resource{url, e.description, "application/json", s.is.Name, []string{s.is.Category}}
	}
	text, err := json.Marshal(ch)
	if err != nil {
		panic(err) // unreachable: strings and numbers can always be encoded
	}
	if s.version == 1 {
		return header, text
	}
	header.Set("Payment-Required", base64.StdEncoding.EncodeToString(text))
	return header, []byte("{}")
}

// payTo returns the recipient on a rail; number selects one of the service's own.
func (s *service) payTo(r rail, number int) string {
	if number == 0 {
		return r.address(s.c.o.Seed, s.owner)
	}
	return r.address(s.c.o.Seed, -1000-s.k*16-number)
}

// ask stores the requested terms over time, the newest responses, and the change records.
func (s *service) ask() {
	for i := range s.endpoints {
		e := &s.endpoints[i]
		stored := s.endpoint(e)
		var fingerprint string
		for n, st := range s.states {
			header, body := s.challenge(e, st)
			captured := x402.Capture(x402.Answer{Status: 402, Header: header, Body: body, URL: s.is.BaseURL + e.path})
			if f := captured.Envelope.Fingerprint(); f != fingerprint {
				fingerprint = f
				s.reprice(stored.ID, st.at, captured.Envelope)
			}
			if n == len(s.states)-1 {
				stored.Fingerprint = &fingerprint
				s.is.Envelopes = append(s.is.Envelopes, checks.Envelope{
					EndpointID: stored.ID, ReceivedAt: *s.is.LastCheckedAt, Method: e.method,
					URL:        s.is.BaseURL + e.path,
					StatusCode: 402, Header: header, Body: body,
					TLSVerified: true, SHA256: sum(header, body),
					Exchange: s.exchange(e.method, probe.ClassPaidOK, "asks for payment", stored.ResponseTimeMS),
				})
			}
		}
		s.is.Endpoints = append(s.is.Endpoints, stored)
	}
	s.record()
}

func (s *service) endpoint(e *endpoint) postgres.Endpoint {
	declared := e.method
	if !e.declared {
		declared = ""
	}
	stored := postgres.Endpoint{
		ID: postgres.EndpointID(s.is.Slug, declared, e.path), ServiceID: s.is.ID, Method: e.method,
		MethodDeclared: e.declared, Path: e.path, Origin: "import",
		FirstSeenAt: s.created, LastPaidAt: s.is.LastSuccessAt, LastProbedAt: s.is.LastCheckedAt,
		Verdict:   new(string(probe.Paid)),
		VerdictAt: s.is.LastCheckedAt, Class: new(probe.ClassPaidOK), Reason: new("asks for payment"),
		ResponseTimeMS: new(s.latency),
		MimeType:       new("application/json"),
	}
	if e.description != "" {
		stored.Description = &e.description
	}
	return stored
}

func (s *service) exchange(method, class, reason string, ms *int) checks.Exchange {
	x := checks.Exchange{Class: class, Reason: reason, Method: method,
		RequestHeader: http.Header{"Accept": {"application/json"}}, ResponseTimeMS: ms,
		Phases: &checks.Phases{DNS: 4.5, Connect: 11.25, TLS: 14.75, FirstByte: float64(s.latency) - 30.5}}
	if method != http.MethodGet {
		x.RequestBody = []byte("{}")
	}
	return x
}

// sum returns the digest of a response, which is equal for responses with equal content.
func sum(header http.Header, body []byte) []byte {
	h := sha256.New()
	fmt.Fprint(h, 402, header.Get("Payment-Required"))
	h.Write(body)
	return h.Sum(nil)
}

// reprice replaces the prices of an endpoint.
func (s *service) reprice(id uuid.UUID, since time.Time, envelope *x402.Envelope) {
	for i := range s.is.Prices {
		if p := &s.is.Prices[i]; p.EndpointID == id && p.Until == nil {
			p.Until = &since
		}
	}
	for i, r := range envelope.Accepts {
		if !r.Usable() {
			continue
		}
		p := checks.Price{
			EndpointID: id, Since: since, Position: i, Scheme: r.Scheme, Network: r.Network,
			NetworkCAIP2: &r.NetworkCAIP2, Asset: r.Asset, PayTo: r.PayTo,
			Amount: r.Amount, MaxTimeoutSeconds: r.MaxTimeoutSeconds, X402Version: envelope.Version,
		}
		if r.Extra != nil {
			p.Extra = new(string(r.StableExtra()))
		}
		s.is.Prices = append(s.is.Prices, p)
	}
}

// record adds the change records between states.
func (s *service) record() {
	for n := 1; n < len(s.states); n++ {
		before, paidBefore := s.termsAt(s.states[n-1].at)
		after, paidAfter := s.termsAt(s.states[n].at)
		for _, set := range change.Compare(before, after, paidBefore, paidAfter) {
			summary, err := set.Text()
			if err != nil {
				panic(err) // unreachable: strings can always be encoded
			}
			s.is.Changes = append(s.is.Changes, checks.Change{
				ServiceID: s.is.ID, Type: set.Type, ObservedAt: s.states[n].at, Summary: summary,
				OldSnapshot: text(before), NewSnapshot: text(after),
			})
		}
	}
}

func text(entries []site.SnapshotEntry) json.RawMessage {
	b, err := json.Marshal(entries)
	if err != nil {
		panic(err) // unreachable: strings can always be encoded
	}
	return b
}

// termsAt returns every way to pay the service at a time.
func (s *service) termsAt(at time.Time) (entries []site.SnapshotEntry, paid []change.Recipient) {
	for _, p := range s.is.Prices {
		if p.Since.After(at) || p.Until != nil && !p.Until.After(at) {
			continue
		}
		e := &s.is.Endpoints[slices.IndexFunc(s.is.Endpoints, func(e postgres.Endpoint) bool {
			return e.ID == p.EndpointID
		})]
		name, payTo := e.Method+" "+e.Path, x402.SpellAddress(*p.NetworkCAIP2, p.PayTo)
		entries = append(entries, site.SnapshotEntry{
			Asset: x402.SpellAddress(*p.NetworkCAIP2, p.Asset), Extra: p.Extra, PayTo: site.Abbreviate(payTo),
			Price:   p.Amount,
			Scheme:  p.Scheme,
			Network: *p.NetworkCAIP2, Endpoint: name,
			MimeType: e.MimeType, Resource: new(s.is.BaseURL + e.Path), AssetName: "USDC", X402Version: p.X402Version,
			MaxTimeoutSeconds: p.MaxTimeoutSeconds,
		})
		paid = append(paid, change.Recipient{Endpoint: name, Network: *p.NetworkCAIP2, PayTo: payTo})
	}
	return entries, paid
}

// fail changes the last responses to those of a service with problems.
func (s *service) fail() {
	for i := range s.is.Endpoints {
		if s.fate == well || s.fate == partly && i > 0 {
			return
		}
		e := &s.is.Endpoints[i]
		verdict, class, reason := probe.Failed, probe.ClassUnreachable, "connection refused"
		a := checks.Response{EndpointID: e.ID, Conclusive: true, ReceivedAt: *s.is.LastCheckedAt, Method: e.Method,
			URL:    s.is.BaseURL + e.Path,
			Header: http.Header{}, Body: []byte{}}
		if s.fate == partly {
			verdict, class, reason = probe.Open, probe.ClassOpen, "answers 200 OK without asking for payment"
			a.StatusCode, a.TLSVerified, a.Header = new(200), true, http.Header{"Content-Type": {"application/json"}}
			a.Body = []byte(`{"ok":true,"request":` + strconv.Itoa(s.k) + `}`)
		} else {
			e.ResponseTimeMS = nil
		}
		e.Verdict, e.Class, e.Reason = new(string(verdict)), &class, &reason
		e.LastPaidAt = &s.since
		a.SHA256 = sum(a.Header, a.Body)
		a.Exchange = s.exchange(e.Method, class, reason, e.ResponseTimeMS)
		s.is.Answers = append(s.is.Answers, a)
		s.is.Envelopes[i].ReceivedAt = s.since // the last response that contained an envelope
	}
}
