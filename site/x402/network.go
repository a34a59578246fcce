package x402

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Network is one row of networks.json: a chain, or another network, on which services request payment.
type Network struct {
	ID           string   `json:"id"` // CAIP-2; references are case-sensitive
	Name         string   `json:"name"`
	Abbreviation string   `json:"abbreviation"` // three capitals, unique in the table
	ChainType    string   `json:"chain_type"`   // evm, solana, stellar, ...
	Mainnet      bool     `json:"mainnet"`
	ExplorerURL  string   `json:"explorer_url"` // a block explorer's home page, "" when none is commonly known
	Aliases      []string `json:"aliases"`      // names of version 1 and others seen, in lower case
	AlsoCAIP2    []string `json:"also_caip2"`   // other proper CAIP-2 ids of the same chain
	Unregistered []string `json:"unregistered"` // plain names that sellers write and no version of the protocol defines
	Source       string   `json:"source"`       // a code of SOURCES.md
}

// AddressURL returns the URL of an account's page at the block explorer, with {address} in it; "" if its form is not
// known. On EVM chains the form is that of EIP-3091.
func (n *Network) AddressURL() string {
	home, query, hasQuery := strings.Cut(strings.TrimSuffix(n.ExplorerURL, "/"), "?")
	form := map[string]string{"evm": "/address/", "solana": "/account/", "stellar": "/account/"}[n.ChainType]
	if home == "" || form == "" || strings.HasSuffix(home, ".subscan.io") { // which follows a form of its own
		return ""
	}
	if hasQuery {
		query = "?" + query
	}
	return strings.TrimSuffix(home, "/") + form + "{address}" + query
}

//go:embed networks.json
var networksJSON []byte

// networkTable is networks.json with its indexes, read once.
type networkTable struct {
	list           []Network
	byID, byName   map[string]int // byName has ids, aliases and names in lower case
	byAbbreviation map[string]int
	byUnregistered map[string]int // in lower case
}

var networks = sync.OnceValue(func() networkTable {
	t := networkTable{byID: map[string]int{}, byName: map[string]int{}, byAbbreviation: map[string]int{},
		byUnregistered: map[string]int{}}
	if err := json.Unmarshal(networksJSON, &t.list); err != nil {
		panic(fmt.Errorf("read embedded networks.json: %w", err)) // a broken build, not a broken input
	}
	for i, n := range t.list {
		t.byID[n.ID] = i
		t.byAbbreviation[n.Abbreviation] = i
		for _, name := range n.AlsoCAIP2 {
			t.byID[name] = i
		}
		for _, alias := range n.Aliases {
			t.byName[strings.ToLower(alias)] = i
		}
		for _, name := range n.Unregistered {
			t.byUnregistered[strings.ToLower(name)] = i
		}
	}
	return t
})

// caip2 is the grammar of CAIP-2: a namespace and a reference.
var caip2 = regexp.MustCompile(`^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$`)

// Networks returns the table in the order of its ids.
func Networks() []Network {
	list := networks().list
	return append([]Network(nil), list...)
}

// NetworkByID returns the row of a CAIP-2 id, either the official one or another proper id of the same chain.
func NetworkByID(id string) (Network, bool) {
	t := networks()
	i, ok := t.byID[id]
	if !ok {
		return Network{}, false
	}
	return t.list[i], true
}

// NetworkByAbbreviation returns the row of a three-letter code such as "BSE", whatever its case.
func NetworkByAbbreviation(abbreviation string) (Network, bool) {
	t := networks()
	i, ok := t.byAbbreviation[strings.ToUpper(abbreviation)]
	if !ok {
		return Network{}, false
	}
	return t.list[i], true
}

// Abbreviation returns the three-letter code of a CAIP-2 id, "" for networks outside the table.
func Abbreviation(id string) string {
	n, _ := NetworkByID(id)
	return n.Abbreviation
}

// ResolveNetwork returns the CAIP-2 id of a network as written, or "". ok is false for an id that is not listed.
func ResolveNetwork(text string) (id string, ok bool) {
	text = strings.TrimSpace(text)
	if namespace, reference, ok := strings.Cut(text, ":"); ok && len(text) <= 128 {
		text = strings.ToLower(namespace) + ":" + reference
	}
	t := networks()
	if i, ok := t.byID[text]; ok {
		return t.list[i].ID, true
	}
	if len(text) <= 128 {
		if i, ok := t.byName[strings.ToLower(text)]; ok {
			return t.list[i].ID, true
		}
	}
	if caip2.MatchString(text) {
		return text, false
	}
	return "", false
}

// networkFault returns why a name is no network, with the CAIP-2 id of a network that nobody registered under it.
func networkFault(name string) string {
	text := fmt.Sprintf("the network %q is not recognised", clip(name, 80))
	t := networks()
	if len(name) > 128 || caip2.MatchString(name) {
		return text
	}
	if i, ok := t.byUnregistered[strings.ToLower(strings.TrimSpace(name))]; ok {
		return text + ": nobody registered this name, and the CAIP-2 id is " + t.list[i].ID
	}
	return text
}

// properNetwork reports whether text is a CAIP-2 id or an official id that breaks its grammar, not a nickname.
func properNetwork(text string) bool {
	id, ok := ResolveNetwork(text)
	if ok {
		n, ok := NetworkByID(text)
		return ok && n.ID == id
	}
	return id != "" && id == text
}
