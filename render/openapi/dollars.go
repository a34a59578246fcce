package openapi

import (
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// markDollars adds to each field of US dollars whose name is a number in one type and text in another which of both it
// is. A name has one type from now on; a test lists the fields that had two.
func (a *Document) markDollars() {
	kinds := map[string][]string{} // of the fields with a name
	for _, c := range a.doc.Components.Schemas {
		for name, p := range c.Value.Properties {
			if kind := dollarKind(name, p); kind != "" && !slices.Contains(kinds[name], kind) {
				kinds[name] = append(kinds[name], kind)
			}
		}
	}
	for _, c := range a.doc.Components.Schemas {
		for name, p := range c.Value.Properties {
			switch kind := dollarKind(name, p); {
			case len(kinds[name]) < 2:
			case kind == "string":
				p.Description += " Text here, a number in some types."
			case kind == "number":
				p.Description += " A number here, text in some types."
			}
		}
	}
}

// dollarKind returns the type of a field of US dollars, "" for any other.
func dollarKind(name string, p *jsonschema.Schema) string {
	if name != "usd" && !strings.HasSuffix(name, "_usd") {
		return ""
	}
	for _, kind := range append([]string{p.Type}, p.Types...) {
		if kind == "string" || kind == "number" {
			return kind
		}
	}
	return ""
}
