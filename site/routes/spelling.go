package routes

import (
	"maps"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/x402"
)

// Names of the tables of spellings.
const (
	spelledNetworks   = "networks"
	spelledCategories = "categories"
	spelledOrders     = "orders"
	spelledSearches   = "search_orders"
)

// spellings has, by the name of a table, the value that each spelling of it means. Spellings are in lower case, and a
// value has its own. A network is spelled by its abbreviation, its CAIP-2 ids, its name and the names that versions of
// x402 gave it; its value is the abbreviation.
var spellings = map[string]map[string]string{
	spelledNetworks: spellNetworks(), spelledCategories: spellCategories(),
	spelledOrders:   spellOrders(site.ColumnOrders, site.ServicesOrderNames),
	spelledSearches: spellOrders(site.SearchOrders, site.SearchOrderNames),
}

// spellOrders returns the names of orders and their other names.
func spellOrders(orders []site.Order, names map[string]string) map[string]string {
	values := maps.Clone(names)
	for _, o := range orders {
		values[o.Name] = o.Name
	}
	return values
}

func spellNetworks() map[string]string {
	values := map[string]string{}
	add := func(value string, names ...string) {
		for _, name := range names {
			if _, taken := values[strings.ToLower(name)]; !taken {
				values[strings.ToLower(name)] = value
			}
		}
	}
	list := x402.Networks()
	for i := range list { // what names one network for certain comes first
		add(list[i].Abbreviation, list[i].Abbreviation, list[i].ID)
	}
	for i := range list {
		add(list[i].Abbreviation, list[i].AlsoCAIP2...)
		add(list[i].Abbreviation, list[i].Aliases...)
		add(list[i].Abbreviation, list[i].Name)
	}
	return values
}

func spellCategories() map[string]string {
	values := map[string]string{}
	for _, category := range site.Categories {
		values[strings.ToLower(category)] = category
	}
	return values
}

// Spell returns the value that a text means; the text itself if no spelling is known.
func (p *Param) Spell(text string) string {
	if value, ok := spellings[p.Spellings][strings.ToLower(text)]; ok {
		return value
	}
	return text
}

// Accepted returns the values of a choice, and then its other spellings.
func (p *Param) Accepted() []string {
	words := slices.Clone(p.Values)
	for _, spelling := range slices.Sorted(maps.Keys(spellings[p.Spellings])) {
		if !slices.Contains(words, spelling) {
			words = append(words, spelling)
		}
	}
	return words
}

// Spelled returns the values of a parameter that have spellings, sorted.
func (p *Param) Spelled() []string {
	return slices.Compact(slices.Sorted(maps.Values(spellings[p.Spellings])))
}

// SpellingsOf returns the spellings that mean one of these values of a parameter, in lower case, with their values.
func (p *Param) SpellingsOf(values []string) map[string]string {
	of := map[string]string{}
	for spelling, value := range spellings[p.Spellings] {
		if slices.Contains(values, value) {
			of[spelling] = value
		}
	}
	return of
}
