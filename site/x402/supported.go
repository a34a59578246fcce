// This file reads what a facilitator answers to GET /supported: the kinds of payment that it settles, its extensions
// and the accounts that sign for it. SOURCES.md says where the shape is documented.
//
// It is pure: bytes in, values out. The bytes are a stranger's, and nothing in them is believed of anybody else. The
// package must never know a clock, a network or a facilitator's id.

package x402

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tollbook/site/jsontext"
)

// Limits of an answer. One that exceeds a limit is refused as a whole, so that a part of it never looks like all.
const (
	MaxBytes         = 1 << 20
	maxKinds         = 2000
	maxSigners       = 500
	maxExtensions    = 100
	maxAssets        = 100 // of one kind
	maxSupportedText = 256 // bytes of a name or an address
)

// Faults of an answer. The errors of Read wrap one of them.
var (
	errSupportedShape = errors.New("not an answer to /supported")
	ErrLarge          = errors.New("larger than a facilitator's answer may be")
)

// Supported is what a facilitator says of itself. Lists are sorted and have no duplicates.
type Supported struct {
	Kinds      []supportedKind
	Extensions []string
	Signers    []SupportedSigner
	Skipped    int // entries that were not read, because a value is missing or has no valid form
}

// supportedKind is a kind of payment that a facilitator settles.
type supportedKind struct {
	Version int // of x402: 1 or 2
	Scheme  string
	Network string // CAIP-2 if the table of networks has it or it is written as one; else the name as announced
	Asset   string // in normal form; "" if the facilitator names none
}

// Origins of a signer: the member of the answer that names it.
const (
	originSigners            = "signers"
	OriginFeePayer           = "feePayer"           // of a kind on Solana and other networks where another pays the fee
	OriginFacilitatorAddress = "facilitatorAddress" // of a kind of scheme upto
)

// SupportedSigner is an account that a facilitator says is its own.
type SupportedSigner struct {
	Networks string // CAIP-2 id, or a namespace with an asterisk: "eip155:*"
	Address  string // in normal form
	Origin   string
}

// Covers reports whether the signer is announced for a network.
func (s SupportedSigner) Covers(network string) bool {
	return s.Networks == network || s.Networks == AddressNamespace(network)+":*"
}

var (
	schemeForm    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	networkForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$`)
	namespaceForm = regexp.MustCompile(`^[-a-z0-9]{3,8}$`)
	extensionForm = regexp.MustCompile(`^[\x21-\x7e]{1,100}$`)
)

// ReadSupported reads an answer: {"kinds": [{"x402Version", "scheme", "network", "extra"}], "extensions": […],
// "signers": {"eip155:*": […]}}. Version 1 has only kinds. An entry without a valid form is skipped and counted. An
// answer without a list of kinds, or beyond a limit, is an error that wraps ErrShape or ErrLarge.
func ReadSupported(doc []byte) (Supported, error) {
	if len(doc) > MaxBytes {
		return Supported{}, fmt.Errorf("read /supported: more than %d bytes: %w", MaxBytes, ErrLarge)
	}
	var top struct {
		Kinds      json.RawMessage `json:"kinds"`
		Extensions json.RawMessage `json:"extensions"`
		Signers    json.RawMessage `json:"signers"`
	}
	doc, err := jsontext.Read(doc)
	if err != nil {
		return Supported{}, fmt.Errorf("read /supported: %w: %w", errSupportedShape, err)
	}
	if err := json.Unmarshal(doc, &top); err != nil {
		return Supported{}, fmt.Errorf("read /supported: %w: not a JSON object", errSupportedShape)
	}
	kinds, ok := list(top.Kinds)
	if !ok {
		return Supported{}, fmt.Errorf("read /supported: %w: it has no list of kinds", errSupportedShape)
	}
	if len(kinds) > maxKinds {
		return Supported{}, fmt.Errorf("read /supported: %d kinds, at most %d are read: %w", len(kinds), maxKinds,
			ErrLarge)
	}
	var a Supported
	for _, raw := range kinds {
		a.addKind(raw)
	}
	a.addExtensions(top.Extensions)
	a.addSigners(top.Signers)
	switch {
	case len(a.Kinds) > maxKinds:
		return Supported{}, fmt.Errorf("read /supported: %d kinds with their assets, at most %d are read: %w",
			len(a.Kinds),
			maxKinds, ErrLarge)
	case len(a.Signers) > maxSigners:
		return Supported{}, fmt.Errorf("read /supported: %d signers, at most %d are read: %w", len(a.Signers), maxSigners,
			ErrLarge)
	case len(a.Extensions) > maxExtensions:
		return Supported{}, fmt.Errorf("read /supported: %d extensions, at most %d are read: %w", len(a.Extensions),
			maxExtensions, ErrLarge)
	}
	a.sort()
	return a, nil
}

func (a *Supported) sort() {
	slices.SortFunc(a.Kinds, func(x, y supportedKind) int {
		return cmp.Or(strings.Compare(x.Network, y.Network), strings.Compare(x.Scheme, y.Scheme),
			strings.Compare(x.Asset, y.Asset), cmp.Compare(x.Version, y.Version))
	})
	slices.SortFunc(a.Signers, func(x, y SupportedSigner) int {
		return cmp.Or(strings.Compare(x.Networks, y.Networks), strings.Compare(x.Address, y.Address),
			strings.Compare(x.Origin, y.Origin))
	})
	slices.Sort(a.Extensions)
	a.Kinds, a.Signers, a.Extensions = slices.Compact(a.Kinds), slices.Compact(a.Signers), slices.Compact(a.Extensions)
}

// addKind reads a kind, once for each asset that it names, and the signers that it names.
func (a *Supported) addKind(raw json.RawMessage) {
	var k struct {
		Version json.RawMessage `json:"x402Version"`
		Scheme  string          `json:"scheme"`
		Network string          `json:"network"`
		Asset   json.RawMessage `json:"asset"`
		Extra   json.RawMessage `json:"extra"`
	}
	if !isObject(raw) || json.Unmarshal(raw, &k) != nil {
		a.Skipped++
		return
	}
	version, network := version(k.Version), networkID(k.Network)
	scheme := strings.TrimSpace(k.Scheme)
	if version == 0 || network == "" || !schemeForm.MatchString(scheme) {
		a.Skipped++
		return
	}
	extra := membersOf(k.Extra)
	assets, bad := readAssets(network, k.Asset, extra)
	a.Skipped += bad
	if len(assets) == 0 {
		assets = []string{""}
	}
	for _, asset := range assets {
		a.Kinds = append(a.Kinds, supportedKind{version, scheme, network, asset})
	}
	for _, origin := range []string{OriginFeePayer, OriginFacilitatorAddress} {
		if raw, ok := extra[origin]; ok && string(raw) != "null" {
			a.addSigner(network, text(raw), origin)
		}
	}
}

// version returns the version of x402 that a kind names as a number or as text, 0 for any that does not exist.
func version(raw json.RawMessage) int {
	n, err := strconv.Atoi(strings.Trim(string(raw), `"`))
	if err != nil || n < 1 || n > 2 {
		return 0
	}
	return n
}

// networkID returns the CAIP-2 id of a network. It returns an unknown name as written, and "" for one without a valid
// form.
func networkID(name string) string {
	name = strings.TrimSpace(name)
	if len(name) > maxSupportedText {
		return ""
	}
	if id, _ := ResolveNetwork(name); id != "" {
		return id
	}
	if !networkForm.MatchString(name) {
		return ""
	}
	return name
}

// readAssets returns the assets that a kind names in normal form, sorted, and the number of those without a valid form.
func readAssets(network string, asset json.RawMessage, extra map[string]json.RawMessage) (assets []string, bad int) {
	named := []json.RawMessage{asset, extra["asset"], extra["defaultAsset"]}
	for _, name := range []string{"assets", "supportedAssets", "tokens"} {
		if more, ok := list(extra[name]); ok {
			named = append(named, more[:min(len(more), maxAssets)]...)
			bad += max(0, len(more)-maxAssets)
		}
	}
	for _, raw := range named {
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		name := text(raw)
		if o := membersOf(raw); o != nil {
			name = cmp.Or(text(o["address"]), text(o["asset"]), text(o["mint"]))
		}
		name = NormalizeAddress(network, name)
		if len(name) > maxSupportedText || CheckAsset(network, name) != nil {
			bad++
			continue
		}
		assets = append(assets, name)
	}
	slices.Sort(assets)
	return slices.Compact(assets), bad
}

func (a *Supported) addExtensions(raw json.RawMessage) {
	names, _ := list(raw)
	for _, raw := range names[:min(len(names), maxExtensions+1)] {
		name := text(raw)
		if o := membersOf(raw); o != nil {
			name = text(o["key"])
		}
		if !extensionForm.MatchString(name) {
			a.Skipped++
			continue
		}
		a.Extensions = append(a.Extensions, name)
	}
}

// addSigners reads the accounts by network. It stops behind the limit, where Read refuses the answer.
func (a *Supported) addSigners(raw json.RawMessage) {
	by := membersOf(raw)
	names := make([]string, 0, len(by))
	for name := range by {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		networks := strings.TrimSpace(name)
		if namespace, isPattern := strings.CutSuffix(networks, ":*"); isPattern {
			if !namespaceForm.MatchString(namespace) {
				networks = ""
			}
		} else {
			networks = networkID(networks)
		}
		accounts, _ := list(by[name])
		if networks == "" {
			a.Skipped += max(1, len(accounts))
			continue
		}
		for _, raw := range accounts {
			if len(a.Signers) > maxSigners {
				return
			}
			a.addSigner(networks, text(raw), originSigners)
		}
	}
}

// addSigner adds an account, unless nobody can sign with it: an address of another form, a burn address, a token.
func (a *Supported) addSigner(networks, account, origin string) {
	network := networks
	if namespace, isPattern := strings.CutSuffix(networks, ":*"); isPattern {
		network = namespace + ":0" // addresses have one form in a namespace
	}
	account = NormalizeAddress(network, account)
	if len(account) > maxSupportedText || CheckAddress(network, account) != nil || isToken(networks, account) {
		a.Skipped++
		return
	}
	a.Signers = append(a.Signers, SupportedSigner{networks, account, origin})
}

// isToken reports whether an account is a token of the asset table on any network that a signer is announced for.
func isToken(networks, account string) bool {
	for _, t := range Assets() {
		if (SupportedSigner{Networks: networks}).Covers(t.Network) && NormalizeAddress(t.Network, t.Address) == account {
			return true
		}
	}
	return false
}

// list returns the elements of a JSON list.
func list(raw json.RawMessage) (elements []json.RawMessage, ok bool) {
	return elements, bytes.HasPrefix(raw, []byte("[")) && json.Unmarshal(raw, &elements) == nil
}

// membersOf returns the members of a JSON object, nil for any other value.
func membersOf(raw json.RawMessage) map[string]json.RawMessage {
	var o map[string]json.RawMessage
	if !isObject(raw) || json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// text returns a JSON text, "" for any other value.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return strings.TrimSpace(s)
}
