package rail

import (
	"regexp"
	"strings"
)

// crawlerPriceForm is a currency code, a space and a decimal number.
var crawlerPriceForm = regexp.MustCompile(`^([A-Z]{3}) ([0-9]{1,16}(?:\.[0-9]{1,16})?)$`)

// readCrawlerPrice reads the values of the crawler-price header. The first one counts.
func readCrawlerPrice(values []string) Offer {
	o := newOffer(CrawlerPrice)
	o.Scheme, o.Network = "crawl", "cloudflare"
	if len(values) > 1 {
		o.fail("price_single", "the response has %d crawler-price headers", len(values))
	}
	m := crawlerPriceForm.FindStringSubmatch(strings.TrimSpace(values[0]))
	if m == nil {
		o.fail("price_form", "crawler-price %q is not a currency code and a number", clip(values[0]))
		return o
	}
	o.Asset, o.Amount = m[1], plainDecimal(m[2])
	if o.Amount == "0" {
		o.fail("price_positive", "the price is zero")
	}
	return o
}

// plainDecimal returns a decimal number without needless zeros.
func plainDecimal(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		return whole
	}
	return whole + "." + fraction
}
