package sample

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"slices"
	"strings"
	"time"

	"tollbook/site/postgres/polls"
	"tollbook/site/x402"
)

// polledDays is the number of days before the start on which each facilitator was asked once.
const polledDays = 30

// announcement is the answer of a facilitator to GET /supported.
type announcement struct {
	Kinds      []announcedKind     `json:"kinds"`
	Extensions []string            `json:"extensions"`
	Signers    map[string][]string `json:"signers"`
}

type announcedKind struct {
	X402Version int               `json:"x402Version"`
	Scheme      string            `json:"scheme"`
	Network     string            `json:"network"`
	Extra       map[string]string `json:"extra,omitempty"`
}

// facilitatorByHost returns the facilitator whose API is at a name below Domain, nil for none.
func facilitatorByHost(name string) *facilitator {
	for _, f := range facilitators() {
		if len(f.announced) > 0 && f.host() == name {
			return f
		}
	}
	return nil
}

// host returns the first label of the facilitator's name below Domain.
func (f *facilitator) host() string { return strings.TrimPrefix(f.ID, "sample-") }

func (f *facilitator) url() string { return "https://" + f.host() + "." + Domain }

// answer returns the answer of the facilitator's API.
func (f *facilitator) answer(r request) reply {
	var a reply
	switch {
	case r.method != http.MethodGet:
		a = text(http.StatusMethodNotAllowed, "method not allowed\n")
	case f.Down > 0:
		a = text(http.StatusServiceUnavailable, "closed for repairs\n")
	case r.path == "/supported":
		a = json200(string(f.supported()))
	case r.path == "/health" && f.Health:
		a = json200(`{"status":"ok"}`)
	default:
		a = text(http.StatusNotFound, "not found\n")
	}
	a.delay = f.latency(0)
	return a
}

// latency returns how long an answer takes, some days before the start.
func (f *facilitator) latency(days int) time.Duration {
	usual := crc32.ChecksumIEEE([]byte(f.ID)) % 80
	extra := crc32.ChecksumIEEE(fmt.Appendf(nil, "%s/%d", f.ID, days)) % 20
	return time.Duration(20+usual+extra) * time.Millisecond
}

// supported returns what the facilitator announces. It names a token only where facilitators.toml does.
func (f *facilitator) supported() []byte {
	a := announcement{Extensions: []string{"bazaar"}, Signers: map[string][]string{}}
	for i, r := range f.announced {
		k := announcedKind{X402Version: 2, Scheme: r.scheme, Network: r.network.ID, Extra: map[string]string{}}
		if len(strings.Fields(f.Announces[i])) == 3 {
			k.Extra["asset"] = r.asset.Address
		}
		account := r.address(f.account(0, true))
		switch {
		case r.scheme == "upto":
			k.Extra[x402.OriginFacilitatorAddress] = account
		case !r.evm():
			k.Extra[x402.OriginFeePayer] = account
		}
		a.Kinds = append(a.Kinds, k)
		if r.scheme == "exact" {
			a.Kinds = append(a.Kinds, announcedKind{1, r.scheme, r.word, k.Extra})
		}
		a.addSigners(r, f)
	}
	for _, other := range facilitators() {
		if other.ID == f.Also {
			for _, r := range other.rails {
				a.addSigners(r, other)
			}
		}
	}
	doc, _ := json.Marshal(a) // of texts and maps: never fails
	return doc
}

// addSigners adds the accounts of a facilitator on a network, each once.
func (a *announcement) addSigners(r rail, f *facilitator) {
	namespace, _, _ := strings.Cut(r.network.ID, ":")
	for n := range f.Accounts {
		account := r.address(f.account(n, true))
		if on := namespace + ":*"; !slices.Contains(a.Signers[on], account) {
			a.Signers[on] = append(a.Signers[on], account)
		}
	}
}

// Polls returns what facilitators answered when they were asked once a day before start, oldest first.
func Polls(start time.Time) []polls.Poll {
	var list []polls.Poll
	for days := polledDays - 1; days >= 0; days-- {
		for _, f := range facilitators() {
			if len(f.announced) > 0 {
				list = append(list, f.poll(days, start))
			}
		}
	}
	return list
}

// poll returns the answer of the facilitator some days before start.
func (f *facilitator) poll(days int, start time.Time) polls.Poll {
	at := daysBefore(start, float64(days))
	p := polls.Poll{FacilitatorID: f.ID, URL: f.url(), At: at, NextAt: at.Add(day),
		Supported: polls.Response{Outcome: polls.Answered, Code: new(http.StatusOK), Latency: new(f.latency(days))},
		Health: &polls.Response{Outcome: polls.Absent, Code: new(http.StatusNotFound),
			Latency: new(f.latency(days))},
	}
	if days == 0 {
		p.NextAt = at // the first question of a crawler
	}
	if f.Health {
		*p.Health = polls.Response{Outcome: polls.Answered, Code: new(http.StatusOK), Latency: new(f.latency(days))}
	}
	if days < f.Down {
		p.Supported.Outcome, p.Supported.Code = polls.Status, new(http.StatusServiceUnavailable)
		*p.Health, p.Detail = p.Supported, fmt.Sprintf("the status is %d", http.StatusServiceUnavailable)
		return p
	}
	answer, err := x402.ReadSupported(f.supported())
	if err != nil {
		panic(fmt.Errorf("read what %s announces: %w", f.ID, err)) // a broken build, not a broken input
	}
	p.Announce(answer)
	return p
}
