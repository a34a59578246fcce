package money

import (
	"regexp"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// Chip is the name of a network, with its code or id as title.
type Chip struct {
	Label, Title string
	Key          string // key of the network's page, "" without
}

// NetworkNames contains the names of networks. A network that has none is shown by its id.
type NetworkNames struct {
	ByID   map[string]NetworkName // by CAIP-2 id
	ByCode map[string]NetworkName // the same by abbreviation
}

// NetworkName contains the names of a network.
type NetworkName struct {
	Name, ID   string
	Key        string // key of the network's page, "" without
	AddressURL string // of an account's page at a block explorer, with a place for the account; "" if unknown
}

// NewNetworkNames returns the names of networks. keys contains the keys of their pages by abbreviation.
func NewNetworkNames(networks []site.Network, keys map[string]string) NetworkNames {
	names := NetworkNames{ByID: map[string]NetworkName{}, ByCode: map[string]NetworkName{}}
	for _, n := range networks {
		name := NetworkName{Name: n.Name, ID: n.ID, Key: keys[n.Abbreviation]}
		if n.AddressURL != nil {
			name.AddressURL = *n.AddressURL
		}
		names.ByID[n.ID], names.ByCode[n.Abbreviation] = name, name
	}
	return names
}

// Chip returns a network by its CAIP-2 id.
func (n NetworkNames) Chip(id string) Chip {
	if name, ok := n.ByID[id]; ok {
		return Chip{Label: name.Name, Title: name.ID, Key: name.Key}
	}
	id = display.Line(id, display.MaxLine)
	return Chip{Label: display.Short(id), Title: id}
}

// Chips returns networks by their abbreviations.
func (n NetworkNames) Chips(codes []string) []Chip {
	chips := make([]Chip, len(codes))
	for i, code := range codes {
		chips[i] = Chip{Label: display.Line(code, display.MaxCode), Title: display.Line(code, display.MaxCode)}
		if name, ok := n.ByCode[code]; ok {
			chips[i] = Chip{Label: name.Name, Title: code + ", " + name.ID, Key: name.Key}
		}
	}
	return chips
}

// accountForm is what addresses of networks with a known explorer look like. Any other text gets no link.
var accountForm = regexp.MustCompile(`^[0-9A-Za-z]{20,80}$`)

// AccountURL returns the page of an account at a block explorer, "" if there is none.
func (n NetworkNames) AccountURL(network, account string) string {
	form := n.ByID[network].AddressURL
	if form == "" || !accountForm.MatchString(account) {
		return ""
	}
	return display.Link(strings.ReplaceAll(form, site.AddressPlace, account))
}
