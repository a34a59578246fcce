package site

import "strings"

// The rows of the catalogue are stored in files of MaxPageSize rows. A column of the catalogue is {"data":[…]} with one
// value per row of these files.

const catalogueColumns = "discovery/columns/"

// CatalogueColumnKey returns the key of a column of the catalogue.
func CatalogueColumnKey(name string) string { return catalogueColumns + name + ".json" }

// hasCatalogueKey reports whether key is the key of a column of the catalogue.
func hasCatalogueKey(key string) bool {
	for _, c := range CatalogueColumns {
		if CatalogueColumnKey(c.Name) == key {
			return true
		}
	}
	return false
}

// CatalogueColumn is a column of the catalogue. Its values are lists of texts.
type CatalogueColumn struct {
	Name  string
	Value func(*CatalogueItem) []string
}

// CatalogueColumns lists the columns of the catalogue. Those about payment options have one text for each option.
var CatalogueColumns = []CatalogueColumn{
	{"pay_to", func(i *CatalogueItem) []string {
		return i.ofAccepts(func(a *CatalogueAccept) string { return NormalAddress(a.PayTo) })
	}},
	{"scheme", func(i *CatalogueItem) []string {
		return i.ofAccepts(func(a *CatalogueAccept) string { return a.Scheme })
	}},
	{"network", func(i *CatalogueItem) []string {
		return i.ofAccepts(func(a *CatalogueAccept) string { return a.Network })
	}},
	{"extensions", func(*CatalogueItem) []string { return []string{"bazaar"} }},
}

func (i *CatalogueItem) ofAccepts(value func(*CatalogueAccept) string) []string {
	list := make([]string, len(i.Accepts))
	for k := range i.Accepts {
		list[k] = value(&i.Accepts[k])
	}
	return list
}

// NormalAddress returns the form in which addresses of recipients are compared without their network: hexadecimal
// digits after 0x in lower case, anything else as it is.
func NormalAddress(address string) string {
	if digits, ok := strings.CutPrefix(address, "0x"); ok && strings.Trim(digits, "0123456789abcdefABCDEF") == "" {
		return lower(address)
	}
	return address
}

// catalogueFilters returns the filters that clients of the bazaar extension send.
func catalogueFilters() []Param {
	filter := func(name string, kind Kind, column, entry, about string) Param {
		return Param{Name: name, Kind: kind, Filter: true, Rule: RuleCatalogue, Column: column, Compare: CompareHas,
			Entry: entry, About: about}
	}
	const accepts = "accepts" // one payment option must pass all of these filters
	payTo := filter("payTo", KindAddress, "pay_to", accepts,
		"Only resources with a payment option for this recipient; case matters unless the address starts with 0x")
	payTo.Max = maxRecipient
	return []Param{
		{Name: "type", Kind: KindChoice, Filter: true, Values: []string{"http", "mcp"}, Default: "http",
			About: "Only resources of this kind; all listed resources are http"},
		payTo,
		filter("scheme", KindText, "scheme", accepts,
			"Only resources with a payment option of this scheme; one option must match payTo, scheme and network"),
		filter("network", KindText, "network", accepts,
			"Only resources with a payment option on the network with this CAIP-2 id"),
		filter("extensions", KindText, "extensions", "", "Only resources that have the extension with this key"),
	}
}

// Unfiltered returns q without the filters that name a column.
func (q Query) Unfiltered() Query {
	for i := range q.Route.Params {
		if p := &q.Route.Params[i]; p.Column != "" && q.Text(p.Name) != "" {
			q = q.With(p.Name, "")
		}
	}
	return q
}
