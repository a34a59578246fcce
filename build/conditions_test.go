package build

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tollbook/site/postgres"
)

// conditionalTerms ask for a price that no other figure equals, out of a deposit in a payment channel.
const (
	conditionalTerms = `{"x402Version":2,"resource":{"url":"https://api.acme.test/quote"},"accepts":[` +
		`{"scheme":"batch-settlement","network":"eip155:8453","amount":"47300",` +
		`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",` +
		`"maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2","withdrawDelay":86400,` +
		`"receiverAuthorizer":"0x742d35Cc6634C0532925a3b844Bc454e4438f44e"}}]}`
	conditionalPrice = "0.0473"
	condition        = "Needs a deposit in a payment channel first"
)

// withoutCondition has the places that show this price without its condition, each with the reason. A key is the name of
// a file, a # and the member with the price. For a page it has the words before the price instead.
var withoutCondition = map[string]string{
	"index.html#Median price": aggregate, "index.md#Price per request": aggregate,
	"v1/stats.json#avg_price_usd": aggregate, "v1/stats.json#max_price_usd": aggregate,
	"v1/stats.json#median_price_usd": aggregate, "v1/stats.json#min_price_usd": aggregate,
	"v1/tags.json#median_usd": aggregate, "v1/tags.csv#Finance,": aggregate,
	"v1/columns/prices_usd.json#BSE":  "orders and filters rows, each of which has its condition",
	"v1/columns/dearest_usd.json#BSE": "compares rows, each of which has its condition",
	"reference.html#median_usd":       example, "reference.html#pricing": example,
	"reference.html#min_price_usd": example, "reference.html#&#34;price_usd&#34;: &#34;": example,
	"reference.html#&#34;why&#34;": example, "reference.html#median_price_usd": example,
	"reference/files.html#nFinance,1": example,
	"v1/openapi.json#avg_price_usd":   example, "v1/openapi.json#max_price_usd": example,
	"v1/openapi.json#median_price_usd": example, "v1/openapi.json#min_price_usd": example,
	"v1/openapi.json#median_usd": example,
}

const (
	aggregate = "a figure of all endpoints, which nobody pays"
	example   = "an example of another response"
)

// TestConditionsAreShown builds a directory with one service, whose only price has a condition. Every file that shows
// this price must show the condition, too: JSON in the same object, a page within 300 bytes.
func TestConditionsAreShown(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/one-service.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var facts postgres.Facts
	var now time.Time
	for _, f := range archive.Files {
		switch f.Name {
		case "facts.json":
			err = json.Unmarshal(f.Data, &facts)
		case "now":
			now, err = time.Parse(time.RFC3339, strings.TrimSpace(string(f.Data)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range facts.Services[0].Endpoints {
		e := &facts.Services[0].Endpoints[i]
		e.Envelope.Header.Set("Payment-Required", base64.StdEncoding.EncodeToString([]byte(conditionalTerms)))
		for k := range e.Prices {
			e.Prices[k].Scheme, e.Prices[k].Amount = "batch-settlement", "47300"
		}
	}
	places, used := 0, map[string]bool{}
	isExcepted := func(name string, fits func(words string) bool) (is bool) {
		for place := range withoutCondition {
			if file, words, _ := strings.Cut(place, "#"); file == name && fits(words) {
				used[place], is = true, true
			}
		}
		return is
	}
	tree := buildTree(t, &facts, now)
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		data := tree[name]
		if !bytes.Contains(data, []byte(conditionalPrice)) {
			continue
		}
		var document any
		if json.Unmarshal(data, &document) == nil {
			n, missing := pricesWithoutCondition(document)
			places += n
			for _, member := range missing {
				if !isExcepted(name, func(words string) bool { return words == member }) {
					t.Errorf("%s: the price in %s has no condition in its object", name, member)
				}
			}
			continue
		}
		for at, rest := 0, data; ; {
			i := bytes.Index(rest, []byte(conditionalPrice))
			if i < 0 {
				break
			}
			places++
			at, rest = at+i, rest[i+len(conditionalPrice):]
			from, to := max(0, at-300), min(len(data), at+300)
			isBefore := func(words string) bool { return bytes.Contains(data[max(0, at-120):at], []byte(words)) }
			if !bytes.Contains(data[from:to], []byte(condition)) && !isExcepted(name, isBefore) {
				t.Errorf("%s: no condition near %q", name, data[max(0, at-120):min(len(data), at+60)])
			}
			at += len(conditionalPrice)
		}
	}
	if places < 20 {
		t.Errorf("the price is in %d places, want 20 at least", places)
	}
	for place, why := range withoutCondition {
		if !used[place] {
			t.Errorf("%s (%s) is no exception; delete it", place, why)
		}
	}
}

// pricesWithoutCondition returns how many members of a document are the price, and which of them have no condition in
// their object.
func pricesWithoutCondition(document any) (n int, missing []string) {
	switch v := document.(type) {
	case []any:
		for _, e := range v {
			of, more := pricesWithoutCondition(e)
			n, missing = n+of, append(missing, more...)
		}
	case map[string]any:
		text, err := json.Marshal(v)
		if err != nil {
			return 0, nil
		}
		for _, member := range slices.Sorted(maps.Keys(v)) {
			value, err := json.Marshal(v[member])
			if err != nil {
				continue
			}
			if strings.Trim(string(value), `"`) == conditionalPrice ||
				member == "prices_usd" && bytes.Contains(value, []byte(conditionalPrice)) {
				n++
				if !bytes.Contains(text, []byte(condition)) {
					missing = append(missing, member)
				}
				continue
			}
			of, more := pricesWithoutCondition(v[member])
			n, missing = n+of, append(missing, more...)
		}
	}
	return n, missing
}
