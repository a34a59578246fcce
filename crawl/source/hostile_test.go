package source

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"tollbook/site/invisible"
)

// checkPage reports rows that break a limit or are not fit to be stored.
func checkPage(t *testing.T, kind string, p Page) {
	t.Helper()
	if len(p.Rows) > MaxRows || len(p.Skipped) > MaxSkipped || len(p.Next) > MaxCursor ||
		p.Total != nil && *p.Total < 0 {
		t.Errorf("%s: %d rows, %d skipped, a cursor of %d bytes, total %v", kind, len(p.Rows), len(p.Skipped),
			len(p.Next), p.Total)
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		u, err := url.Parse(r.URL)
		if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" ||
			u.Scheme != "http" && u.Scheme != "https" ||
			len(r.URL) > MaxURL+100 || r.URL == "" || !utf8.ValidString(r.URL) {
			t.Errorf("%s: URL %q: %v", kind, r.URL, err)
		}
		if r.Method != methodOf(r.Method) || r.Type != HTTP && r.Type != MCP || len(r.Tags) > MaxTags ||
			r.Protocol != protocolOf(r.Protocol) || r.Entry < 0 || r.Entry >= p.Entries || r.Digest == [32]byte{} {
			t.Errorf("%s: row %+v", kind, r)
		}
		if id := r.Identity(); id.URL == "" || strings.Contains(id.URL, "?") || strings.HasPrefix(id.URL, "/") {
			t.Errorf("%s: %q has the identity %+v", kind, r.URL, id)
		}
		for _, text := range slices.Concat([]string{r.Tool, r.Service, r.Name, r.Description, r.MimeType, r.Category,
			r.Price}, r.Tags) {
			if !utf8.ValidString(text) || utf8.RuneCountInString(text) > MaxText ||
				strings.ContainsFunc(text, invisible.Is) {
				t.Errorf("%s: text %q", kind, text)
			}
		}
	}
	for _, s := range p.Skipped {
		if s.Reason == "" || s.Entry < 0 || s.Entry >= p.Entries || utf8.RuneCountInString(s.URL) > 200 {
			t.Errorf("%s: skipped %+v of %d", kind, s, p.Entries)
		}
	}
}

// FuzzRead passes arbitrary bytes to the reader of each kind.
func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no answers in testdata: %v", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(txtar.Parse(data).Files[0].Data)
	}
	f.Add([]byte(strings.Repeat("[", 20_000)))
	f.Add([]byte(`{"items":` + strings.Repeat(`[{"items":`, 500)))
	f.Add([]byte("- " + strings.Repeat("[![](", 500)))
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, k := range Kinds() {
			p, err := k.Read(doc)
			if err != nil && !errors.Is(err, ErrShape) {
				t.Errorf("%s: %v", k.Name, err)
			}
			checkPage(t, k.Name, p)
		}
	})
}

// TestHostileAnswers checks that each reader stays within its limits.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	list := func(of string) string { return `{"items":[` + of + `],"pagination":{"total":-1}}` }
	long := strings.Repeat("x", 10<<20)
	deep := strings.Repeat(`{"a":[`, 300) + strings.Repeat(`]}`, 300)
	for _, c := range []struct {
		name, kind, doc string
		rows            int
		skipped         string // the reason of what was skipped first
		isBad           bool   // whether the answer is refused
	}{
		{"a string of 10 MB", "x402-discovery",
			list(`{"resource":"https://a.example.com/1","description":"` + long +
				`"},{"resource":"https://a.example.com/2"}`),
			1, TooLarge, false},
		{"a URL of 900 KB", "x402-discovery", list(`{"resource":"https://a.example.com/` + long[:900<<10] + `"}`), 0,
			BadURL,
			false},
		{"a text of 900 KB", "json-list", list(`{"url":"https://a.example.com/1","name":"` + long[:900<<10] + `"}`), 1,
			"",
			false},
		{"a million empty entries", "x402-discovery", list(strings.Repeat("{},", 1_000_000) + "{}"), 0, NoURL, false},
		{"a million URLs", "json-list", list(strings.Repeat(`"http://a.b/",`, 1_000_000) + "{}"), MaxRows, TooLarge,
			false},
		{"deep entries", "x402-discovery", list(`{"resource":"https://a.example.com/1","metadata":` + deep + `},` +
			`{"resource":"https://a.example.com/2"}`), 1, TooLarge, false},
		{"a deep answer", "x402-discovery", strings.Repeat("[", 1<<20), 0, "", true},
		{"a longer answer than read", "x402-discovery", list(`{}`) + strings.Repeat(" ", MaxBytes), 0, "", true},
		{"members of the wrong type", "x402-discovery",
			list(`{"resource":["https://a.example.com/1"],"accepts":"x","tags":{"a":1},"type":7}`), 0, NotPaid, false},
		{"a list of the wrong type", "x402-discovery", `{"items":"x","resources":{"a":1},"data":7}`, 0, "", true},
		{"many endpoints of one service", "mpp-services", `{"services":[{"url":"https://a.example.com","endpoints":[` +
			strings.Repeat(`{"path":"/x","payment":{"intent":""}},`, 20_000) + `7]}]}`, 20_000, NotPaid, false},
		{"a bomb of aliases", "yaml-list", "a: &a [x,x,x,x,x,x,x,x,x]\n" + func() (s string) {
			for i := 'b'; i < 'k'; i++ {
				s += fmt.Sprintf("%c: &%c [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", i-1), 9),
					","))
			}
			return s
		}(), 0, "", true},
		{"merges of merges", "yaml-list", "a: &a {}\n" + func() (s string) {
			for i := 'b'; i < 'z'; i++ {
				s += fmt.Sprintf("%c: &%c {%s}\n", i, i, strings.Repeat(fmt.Sprintf("<<: *%c,", i-1), 9))
			}
			return s
		}(), 0, "", true},
		{"many keys in YAML", "yaml-list", strings.Repeat("a: b\n", 400_000), 0, "", true},
		{"an empty key in YAML", "yaml-list", "~: x\n? [a]\n: y\nurl: https://a.example.com/1", 1, "", false},
		{"deep YAML", "yaml-list", strings.Repeat("[", 100_000), 0, "", true},
		{"brackets in a line", "markdown-list", strings.Repeat("- "+strings.Repeat("[](", 5_000)+"\n", 130) +
			"- [a](https://a.example.com)\n", 1, "", false},
		{"many items", "markdown-list", manyItems(), 30_000, "", false},
		{"one host in many items", "markdown-list", strings.Repeat("- <http://a.b>\n", 60_000), 1, SameHost, false},
		{"a million items", "markdown-list", strings.Repeat("- <http://a.b>\n", 1_000_000), 0, "", true},
		{"brackets in a paragraph", "markdown-list", strings.Repeat(strings.Repeat("[](", 1_000)+"\n", 650) +
			"\n- [a](https://a.example.com)\n", 1, "", false},
		{"brackets in an item of many lines", "markdown-list", "- [a](https://a.example.com)\n" +
			strings.Repeat(strings.Repeat("[a](<", 1_000)+"\n", 400), 1, "", false},
		{"parentheses", "markdown-list", strings.Repeat("- "+strings.Repeat("[par](((((", 1_000)+"\n", 180) +
			"- [a](https://a.example.com)\n", 1, "", false},
		{"many quotations", "markdown-list", strings.Repeat(strings.Repeat("> ", 5_000)+"\n", 200) +
			"- [a](https://a.example.com)\n", 1, TooLarge, false},
		{"many lists in a line", "markdown-list", strings.Repeat(strings.Repeat("- 1. ", 2_000)+"\n", 200) +
			"\n- [a](https://a.example.com)\n", 1, TooLarge, false},
		{"many levels of lists", "markdown-list", levels(1_400) + "\n- [a](https://a.example.com)\n", 1, TooLarge, false},
		{"many definitions of links", "markdown-list", strings.Repeat("[a]: https://b.example.com\n", 70_000) +
			"\n- [a]\n", 1, "", false},
		{"many definitions", "markdown-list", strings.Repeat("a\n: b\n\n", 60_000) + "\n- [a](https://a.example.com)\n", 1,
			"", false},
		{"many cells", "markdown-list", strings.Repeat("|a", 8_000) + "\n" + strings.Repeat("|-", 8_000) + "\n" +
			strings.Repeat("|b\n", 100) + "\n- [a](https://a.example.com)\n", 1, "", false},
		{"stars", "markdown-list", strings.Repeat("- "+strings.Repeat("**a* _b", 2_000)+"\n", 130) +
			"- [a](https://a.example.com)\n", 1, "", false},
		{"HTML without ends", "markdown-list", "<ul>" + strings.Repeat("<li><a href=https://a.example.com>", 50_000), 1,
			SameHost, false},
		{"a page without an end", "l402apps", "window.__APIS__=[" + strings.Repeat("[", 1<<20), 0, "", true},
	} {
		p, err := kindNamed(t, c.kind).Read([]byte(c.doc))
		if (err != nil) != c.isBad || err != nil && !errors.Is(err, ErrShape) {
			t.Errorf("%s: error %v", c.name, err)
		}
		checkPage(t, c.kind, p)
		reason := ""
		if len(p.Skipped) > 0 {
			reason = p.Skipped[0].Reason
		}
		if len(p.Rows) != c.rows || reason != c.skipped {
			t.Errorf("%s: %d rows, skipped %q; want %d, %q", c.name, len(p.Rows), reason, c.rows, c.skipped)
		}
	}
}

// TestHostileWalks checks that a walk ends, and that it isn't complete, when a source never does.
func TestHostileWalks(t *testing.T) {
	t.Parallel()
	page := func(rows, cursor string) []byte {
		return fmt.Appendf(nil, `{"items":[%s],"pagination":{"cursor":%q}}`, rows, cursor)
	}
	big := strings.Repeat(" ", 1<<20)
	requests := 0
	number := func() int { requests++; return requests }
	for _, c := range []struct {
		name   string
		answer func(*url.URL) []byte
		end    End
		most   int // requests
	}{
		{"the same cursor", func(*url.URL) []byte {
			return page(fmt.Sprintf(`"https://a.b/%d"`, number()), "a")
		}, Repeats, 2},
		{"new cursors for the same rows", func(*url.URL) []byte {
			return page(`"https://a.b/1"`, fmt.Sprint(number()))
		}, Repeats, 4},
		{"new cursors without rows", func(*url.URL) []byte { return page("", fmt.Sprint(number())) }, Repeats, 3},
		{"new cursors for bad rows", func(*url.URL) []byte {
			return page("7", fmt.Sprint(number()))
		}, TooManyPages, 300},
		{"a row a page", func(*url.URL) []byte {
			return page(fmt.Sprintf(`"https://a.b/%d"`, number()), fmt.Sprint(requests))
		}, TooManyPages, 300},
		{"large answers", func(*url.URL) []byte {
			return append(page(fmt.Sprintf(`"https://a.b/%d"`, number()), fmt.Sprint(requests)), big...)
		}, TooManyBytes, 10},
		{"large rows", func(*url.URL) []byte {
			var b strings.Builder
			for range 400 {
				fmt.Fprintf(&b, `{"resource":"https://a.b/%s/%d"},`, strings.Repeat("x", 1900), number())
			}
			return page(b.String()+"7", fmt.Sprint(requests))
		}, TooManyBytes, 10},
		{"many rows", func(*url.URL) []byte {
			var b strings.Builder
			for range 1000 {
				fmt.Fprintf(&b, `"https://a.b/%d",`, number())
			}
			return page(b.String()+"7", fmt.Sprint(requests))
		}, TooManyRows, 5},
		{"a long cursor", func(*url.URL) []byte {
			return page(`"https://a.b/1"`, strings.Repeat("x", 1<<20))
		}, Finished, 4},
	} {
		requests = 0
		count := 0
		got, err := walk(t, "x402-discovery", nil, func(u *url.URL) []byte { count++; return c.answer(u) })
		if err != nil || got.End != c.end || count > c.most || count == 0 || len(got.Rows) > MaxRows ||
			c.end != Finished && got.Complete() {
			t.Errorf("%s: %s after %d requests with %d rows: %v", c.name, got.End, count, len(got.Rows), err)
		}
	}
}

// manyItems returns a list of many hosts.
func manyItems() string {
	var b strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&b, "- http://%05x.c\n", i)
	}
	return b.String()
}

// levels returns lists in lists.
func levels(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()
}
