package hint

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"tollbook/site/x402"
)

// rule is a hint: when it is given, and what it says. SOURCES.md names where each is known from.
type rule struct {
	code    string // published: never rename one
	label   string
	meaning string
	fix     string
	test    func(*Facts) (detail string, found bool)
}

// Codes of hints.
const (
	browserBlocked     = "browser_blocked"
	cacheable402       = "cacheable_402"
	headersLarge       = "headers_large"
	exampleMisses402   = "example_misses_402"
	inputBeforePayment = "input_before_payment"
	schemaMissing      = "output_schema_missing"
	namedElsewhere     = "named_elsewhere"
	expiryMissing      = "expiry_missing"
	fieldDropped       = "bazaar_field_dropped"
)

// rules is the table of hints, the most costly for a seller first.
var rules = []rule{
	{browserBlocked, "A page in a browser can't pay",
		"Browsers refuse the payment, or hide the terms from the page, because the answers lack headers of CORS. Wallets " +
			"and shops that run in a browser can't buy.",
		"Answer OPTIONS without payment, with Access-Control-Allow-Origin, and name the headers of the protocol in " +
			"Access-Control-Allow-Headers and, on every 402, in Access-Control-Expose-Headers.",
		testBrowser},
	{inputBeforePayment, "Input is checked before payment is asked for",
		"Catalogues send a request without input, or with {}. They list only what answers it with 402.",
		"Ask for payment first, and check the input of paid requests only.",
		testBare},
	{exampleMisses402, "The declared example does not reach the 402",
		"Agents and catalogues send the example that the endpoint declares. It is refused before payment is asked for.",
		"Declare an example that the endpoint accepts, or ask for payment before the input is checked.",
		testExample},
	{schemaMissing, "Catalogues can't read how to call it",
		"Catalogues read how to call a resource of x402 version 1 from outputSchema in accepts alone, and no row has it.",
		"Add outputSchema to each row of accepts, or move to version 2 and declare extensions.bazaar.",
		testOutputSchema},
	{cacheable402, "The 402 may be cached",
		"A cache may show an old price, or one buyer's nonce to another, and answer 402 to a request that is paid.",
		"Send Cache-Control: no-store with every 402.",
		testCache},
	{headersLarge, "The headers of the 402 are large",
		"Many proxies refuse headers above 8 KiB, and Node.js clients above 16 KiB. Their users see an error and no price.",
		"Leave long examples and schemas out of extensions, and send the terms once.",
		testHeaderSize},
	{namedElsewhere, "The terms name another host or scheme",
		"Buyers and catalogues take the resource from the terms. They store or pay for an address that is not this one.",
		"Build resource.url, or the realm, from the address that buyers use; behind a proxy, from its forwarded headers.",
		testElsewhere},
	{expiryMissing, "The challenge has no expiry",
		"A client cannot know how long the challenge of MPP is valid, and may pay one that the service no longer accepts.",
		"Send expires, an RFC 3339 time a few minutes ahead, with each challenge.",
		testExpiry},
	{fieldDropped, "Catalogues drop a field",
		"Catalogues leave out what breaks a rule of the bazaar extension: a name, tags, an icon or a route template.",
		"Use short texts of printable ASCII, a public icon URL, and a route template such as /users/:id.",
		testBazaarSoft},
}

func testBrowser(f *Facts) (string, bool) {
	ok, reason := CanBrowserPay(f)
	return reason, ok != nil && !*ok
}

// isInputError reports whether a status means that the input was refused.
func isInputError(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

func testBare(f *Facts) (string, bool) {
	if f.isTool() || f.Bare == nil || !isInputError(f.Bare.Status) {
		return "", false
	}
	detail := fmt.Sprintf("%s answers %d", f.Bare.Text, f.Bare.Status)
	if t := f.Example; t != nil && t.Status == http.StatusPaymentRequired {
		detail += fmt.Sprintf("; %s answers 402", t.Text)
	}
	return detail, true
}

func testExample(f *Facts) (string, bool) {
	if f.isTool() || f.Example == nil || !isInputError(f.Example.Status) {
		return "", false
	}
	return fmt.Sprintf("%s answers %d", f.Example.Text, f.Example.Status), true
}

func testOutputSchema(f *Facts) (string, bool) {
	e := f.Captured.Envelope
	if e == nil || e.Version != 1 || len(e.Accepts) == 0 || f.isTool() || e.HasOutputSchema() {
		return "", false
	}
	if e.Discovery != nil {
		return "the terms have it in extensions.bazaar, which belongs to version 2", true
	}
	return "", true
}

// cacheHeaders are the headers by which a response controls caches: that of HTTP, and those for caches of content
// delivery networks alone.
var cacheHeaders = []string{"Cache-Control", "Cdn-Cache-Control", "Cloudflare-Cdn-Cache-Control", "Surrogate-Control"}

func testCache(f *Facts) (string, bool) {
	if !f.hasTerms() || f.isTool() {
		return "", false
	}
	for _, name := range cacheHeaders {
		value := strings.Join(f.Header.Values(name), ", ")
		if allowsCache(value) {
			return name + ": " + value, true
		}
	}
	return "", false
}

// allowsCache reports whether a Cache-Control header lets a cache answer a later request with this response.
func allowsCache(value string) bool {
	allows := false
	for directive := range strings.SplitSeq(strings.ToLower(value), ",") {
		name, argument, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.TrimSpace(name) {
		case "no-store", "no-cache":
			return false
		case "public", "immutable":
			allows = true
		case "max-age", "s-maxage", "stale-while-revalidate":
			n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(argument), `"`), 10, 64)
			allows = allows || err != nil && argument != "" || n > 0
		}
	}
	return allows
}

// The sizes of headers above which programs that many people use refuse a response.
const (
	proxyHeaders = 8 << 10  // nginx, and others that copied its buffers
	nodeHeaders  = 16 << 10 // --max-http-header-size of Node.js
)

func testHeaderSize(f *Facts) (string, bool) {
	if !f.hasTerms() || f.isTool() {
		return "", false
	}
	size, largest, most := 0, "", 0
	for name, values := range f.Header {
		n := 0
		for _, v := range values {
			n += len(name) + len(": \r\n") + len(v)
		}
		if size += n; n > most || n == most && name < largest {
			largest, most = name, n
		}
	}
	limit := "8 KiB"
	switch {
	case size > nodeHeaders:
		limit = "16 KiB"
	case size <= proxyHeaders:
		return "", false
	}
	return fmt.Sprintf("the headers have %d bytes, more than %s; %d of them are %s", size, limit, most,
		strings.ToUpper(largest)), true
}

func testElsewhere(f *Facts) (string, bool) {
	if !f.hasTerms() || f.isTool() {
		return "", false
	}
	at, err := url.Parse(f.AnsweredURL)
	if err != nil {
		return "", false
	}
	if e := f.Captured.Envelope; e != nil {
		u, err := url.Parse(e.Resource.URL)
		if err == nil && u.Host != "" && (hostOf(e.Resource.URL) != hostOf(f.AnsweredURL) ||
			!strings.EqualFold(u.Scheme, at.Scheme)) {
			return "resource.url is " + e.Resource.URL, true
		}
	}
	for _, c := range challenges(f.Header) {
		if host := realmHost(c.Params["realm"]); host != "" && !sameHost(host, at.Host) {
			return "realm is " + c.Params["realm"], true
		}
	}
	return "", false
}

// challenges returns the challenges of MPP in a response.
func challenges(h http.Header) (list []x402.Challenge) {
	for _, value := range h.Values("Www-Authenticate") {
		if len(value) > x402.MaxHeader {
			continue
		}
		for _, c := range x402.ReadChallenges(value) {
			if strings.EqualFold(c.Scheme, "Payment") {
				list = append(list, c)
			}
		}
	}
	return list
}

// realmHost returns the host that a realm names, "" if it is a text of another kind. A realm is any text, but that of
// MPP is the host of the service by convention.
func realmHost(realm string) string {
	if strings.Contains(realm, "://") {
		return hostOf(realm)
	}
	u, err := url.Parse("//" + realm)
	if err != nil || u.User != nil || u.Path != "" || u.RawQuery != "" || strings.ContainsAny(realm, " \t") {
		return ""
	}
	name := u.Hostname()
	if name != "localhost" && !strings.Contains(strings.Trim(name, "."), ".") {
		return ""
	}
	return strings.ToLower(u.Host)
}

// sameHost reports whether two hosts are one or one is below the other. A port counts only if both name one.
func sameHost(a, b string) bool {
	x, y := &url.URL{Host: strings.ToLower(a)}, &url.URL{Host: strings.ToLower(b)}
	if x.Port() != "" && y.Port() != "" && x.Port() != y.Port() {
		return false
	}
	n, m := x.Hostname(), y.Hostname()
	return n == m || strings.HasSuffix(n, "."+m) || strings.HasSuffix(m, "."+n)
}

func testExpiry(f *Facts) (string, bool) {
	for _, c := range challenges(f.Header) {
		if c.Params["expires"] == "" {
			return strings.TrimSpace(fmt.Sprintf("method %s, intent %s", c.Params["method"], c.Params["intent"])), true
		}
	}
	return "", false
}
