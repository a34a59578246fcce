package search_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
	"tollbook/site/search"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ about, in, want string }{
		{"ASCII", "Acme Quotes 24/7", "acme quotes 24/7"},
		{"Latin with marks", "Crème Brûlée Ångström", "creme brulee angstrom"},
		{"the same, decomposed", "Cre\u0300me Bru\u0302le\u0301e A\u030angstro\u0308m", "creme brulee angstrom"},
		{"letters that are no marks", "Łódź Øre Đakovo", "łodz øre đakovo"},
		{"German", "STRASSE Straße GROẞ Gebühr", "strasse straße groß gebuhr"},
		{"Turkish", "İstanbul ISPARTA ılık", "istanbul isparta ılık"},
		{"Greek", "ΟΔΟΣ οδος Άγιος", "οδοσ οδοσ αγιοσ"},
		{"Cyrillic", "ЙОД Ёлка Київ", "иод елка киів"},
		{"ligatures and widths", "ﬁne ＡＢＣ Ⅷ x² ½", "fine abc viii x2 1⁄2"},
		{"Han", "東京都", "東京都"},
		{"Kana", "ガイド ｶﾞｲﾄﾞ がいど", "カイト カイト かいと"},
		{"Hangul falls into its letters", "가", "\u1100\u1161"},
		{"Arabic and Hebrew points", "مُحَمَّد שָׁלוֹם", "محمد שלום"},
		{"Devanagari", "हिन्दी", "हनद"},
		{"emoji", "🚀Rocket™", "🚀rockettm"},
		{"not UTF-8", "a\xffB", "a\ufffdb"},
	} {
		if got := search.Fold(test.in); got != test.want {
			t.Errorf("%s: Fold(%q) = %q, want %q", test.about, test.in, got, test.want)
		}
	}
}

// TestFoldEveryCharacter checks that folding a folded character changes nothing, so that a query finds a name and the
// name's folded form alike.
func TestFoldEveryCharacter(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= utf8.MaxRune; r++ {
		once := search.Fold(string(r))
		if twice := search.Fold(once); twice != once {
			t.Errorf("%U: %q, then %q", r, once, twice)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{" -/— 🚀 ", nil},
		{"acme", []string{"acme"}},
		{"acme-quotes v2.0 (beta)", []string{"acme", "quotes", "v2", "0", "beta"}},
		{"gpt4o", []string{"gpt4o"}},
		{"١٢٣ abc٤", []string{"١٢٣", "abc٤"}},
		{"οδοσ αθηνα", []string{"οδοσ", "αθηνα"}},
		{"東京", []string{"東京", "京"}},
		{"東京都api v2", []string{"東京都api", "京都api", "都api", "api", "v2"}},
		{"api東京", []string{"api東京", "東京", "京"}},
		{"カート・かな", []string{"カート", "ート", "ト", "かな", "な"}},
		{"カーab", []string{"カーab", "ーab", "ab"}},
		{"人々〇", []string{"人々〇", "々〇", "〇"}},
		{"\u1100\u1161\u11a8", []string{"\u1100\u1161\u11a8", "\u1161\u11a8", "\u11a8"}},
		{"🚀rocket🚀", []string{"rocket"}},
	} {
		if diff := cmp.Diff(test.want, search.Words(test.in)); diff != "" {
			t.Errorf("Words(%q) (-want +got):\n%s", test.in, diff)
		}
	}
}

func TestShardsOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"":                nil,
		"Acme Accounting": {"a", "ac"},
		"X":               {"x"},
		"Éclair 9 99":     {"e", "ec", "9", "99"},
		"東京":              {"東", "東京", "京"},
		"AI東":             {"a", "ai", "東"},
	} {
		if diff := cmp.Diff(want, search.ShardsOf(name)); diff != "" {
			t.Errorf("ShardsOf(%q) (-want +got):\n%s", name, diff)
		}
	}
	for letters, want := range map[string]string{
		"a": "v1/search/a.json", "ac": "v1/search/ac.json", "99": "v1/search/99.json",
		"東京": "v1/search/~e6~9d~b1~e4~ba~ac.json",
	} {
		if got := site.ShardKey(letters); got != want {
			t.Errorf("ShardKey(%s) = %s, want %s", letters, got, want)
		}
		index := site.SearchIndex{Shards: map[string]int{letters: 1}}
		if !index.HasShardKey(want) || index.HasShardKey(site.ShardKey(letters+"z")) ||
			index.HasShardKey(site.SearchFile) {
			t.Errorf("an index of %s alone lists something else", letters)
		}
	}
}

func TestSearchMatches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		query, name string
		want        bool
	}{
		{"acme", "Acme Quotes", true},
		{"quo ac", "Acme Quotes", true},
		{"ACME, quotes!", "Acme Quotes", true},
		{"cme", "Acme Quotes", false},
		{"acme z", "Acme Quotes", false},
		{"acme quotess", "Acme Quotes", false},
		{"creme", "Crème Brûlée", true},
		{"brûle", "Creme Brulee", true},
		{"strasse", "Straße", false},
		{"STRAẞ", "Straße", true},
		{"istanbul", "İSTANBUL", true},
		{"οδός", "ΟΔΟΣ ΑΘΗΝΩΝ", true},
		{"京", "東京都", true},
		{"都", "東京都", true},
		{"京都", "東京都", true},
		{"京東", "東京都", false},
		{"東京api", "東京API", true},
		{"api", "東京API", true},
		{"ラ", "カメラ", true},
		{"か", "がっこう", true},
		{"각", "시각", true},
		{"가", "시각", true}, // its letters begin those of 각
		{"곡", "시각", false},
		{"", "Acme", false},
		{"🚀", "🚀", false},
		{"4", "GPT 4o", true},
		{"o", "GPT 4o", false},
	} {
		if got := search.NewQuery(test.query).Matches(search.Words(search.Fold(test.name))); got != test.want {
			t.Errorf("%q in %q: %t", test.query, test.name, got)
		}
	}
}

// name draws names whose words share beginnings.
func name() *rapid.Generator[string] {
	word := rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune("abAB12")), 0, 4, -1),
		rapid.StringOfN(rapid.SampledFrom([]rune("東京都かガー각한aé9")), 0, 5, -1),
		rapid.StringN(0, 4, -1),
	)
	return rapid.Map(rapid.SliceOfN(word, 0, 4), func(words []string) string { return strings.Join(words, " ") })
}

// TestShardContainsEveryMatch checks that the shard of a query contains every row that matches, and that no row
// matches a query without a shard.
func TestShardContainsEveryMatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(name(), 0, 12).Draw(t, "names")
		query := rapid.OneOf(name(), rapid.SampledFrom(append(names, ""))).Draw(t, "query")
		index := site.SearchIndex{Shards: map[string]int{}}
		for _, n := range names {
			for _, letters := range search.ShardsOf(n) {
				index.Shards[letters]++
			}
		}
		s := search.NewQuery(query)
		letters, ok := s.Shard(index)
		for _, n := range names {
			matches := naiveMatch(query, n)
			if got := s.Matches(search.Words(search.Fold(n))); got != matches {
				t.Fatalf("%q in %q: %t, want %t", query, n, got, matches)
			}
			if matches && (!ok || !slices.Contains(search.ShardsOf(n), letters)) {
				t.Fatalf("%q is in %q, which is not in shard %q of %v", query, n, letters, index.Shards)
			}
		}
		for other, rows := range index.Shards {
			for _, w := range search.Words(search.Fold(query)) {
				if r := []rune(w); other == string(r[:min(2, len(r))]) && ok && rows < index.Shards[letters] {
					t.Fatalf("%q reads shard %q of %d rows, though %q has %d", query, letters, index.Shards[letters],
						other, rows)
				}
			}
		}
	})
}

// naiveMatch reports whether every word of the query begins some word of the name, without the shortcut by runs.
func naiveMatch(query, name string) bool {
	words := search.Words(search.Fold(query))
	for _, w := range words {
		if !slices.ContainsFunc(search.Words(search.Fold(name)), func(n string) bool {
			return strings.HasPrefix(n, w)
		}) {
			return false
		}
	}
	return len(words) > 0
}

// TestParseRow checks that ParseRow reads the same values as encoding/json, whatever texts a row contains.
func TestParseRow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a\"\\{}[],:\n\u2028<é"))))
		want := site.ServiceListItem{
			Slug: rapid.StringMatching(`[a-z]{1,9}`).Draw(t, "slug"), Name: text.Draw(t, "name"),
			Category:      text.Draw(t, "category"),
			Status:        rapid.SampledFrom([]string{site.StatusOnline, site.StatusUnknown}).Draw(t, "status"),
			EndpointCount: rapid.IntRange(0, 999).Draw(t, "endpoints"),
			MinPriceUSD:   rapid.Ptr(rapid.SampledFrom([]site.Decimal{"0", "0.000001", "12.5"}), true).Draw(t, "price"),
			Networks:      rapid.SliceOf(text).Draw(t, "networks"),
			Uptime24h:     rapid.Ptr(rapid.SampledFrom([]float64{0, 0.01, 99.99, 1e-7, 100}), true).Draw(t, "uptime"),
			CreatedAt:     site.NewTime(time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "created"))),
		}
		full := want
		full.Description, full.BaseURL = text.Draw(t, "description"), text.Draw(t, "base_url")
		row, err := json.Marshal(full)
		if err != nil {
			t.Fatal(err)
		}
		got, err := search.ParseRow(row)
		if err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		var plain site.ServiceListItem // encoding/json changes texts that are not UTF-8
		if err := json.Unmarshal(row, &plain); err != nil {
			t.Fatal(err)
		}
		want = plain
		want.Description, want.BaseURL = "", ""
		if len(want.Networks) == 0 {
			want.Networks = nil
		}
		if diff := cmp.Diff(want, got.Item); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", row, diff)
		}
		if diff := cmp.Diff(search.Words(search.Fold(want.Name)), got.Words); diff != "" {
			t.Fatalf("words of %q (-want +got):\n%s", want.Name, diff)
		}
	})
}

func TestParseRowRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []string{
		``, `{`, `{}`, `[]`, `null`, `{"slug"}`, `{"slug":}`, `{"slug":"a"`, `{"slug":"a}`, `{"slug":"a\`,
		`{"slug":"a\"}`, `{"slug":"a",}`, `{"slug":"a"}}`,
		`{"slug":"a"} `, `{"slug":"a"]`, `{"slug":1}`, `{"slug":"a","name":null}`, `{"slug":"a","networks":[}`,
		`{"slug":"a","networks":["x"}`, `{"slug":"a","networks":["x",]}`, `{"slug":"a","networks":["x"["y"]}`,
		`{"slug":"a","networks":[1]}`, `{"slug":"a","networks":{}}`, `{"slug":"a","created_at":"now"}`,
		`{"slug":"a","endpoint_count":1.5}`, `{"slug":"a","uptime_24h":"x"}`, `{"slug":"a","min_price_usd":-1}`,
		`{"name":"a"}`, `{slug:"a"}`, `{"slug":"a""name":"b"}`,
		`{"slug":"a","x":[[[}`, `{"slug":"\x"}`,
	} {
		if got, err := search.ParseRow([]byte(row)); err == nil {
			t.Errorf("%s: %+v", row, got)
		}
	}
}

// FuzzSearch checks that Fold and ParseRow never panic and that folding twice changes nothing. Every word must be part
// of the folded text, and a query for the word must match.
func FuzzSearch(f *testing.F) {
	for _, s := range []string{"Acme Quotes", "İstanbul ß ς", "東京都API", "각 ㄱㅏ ｶﾞ", "\xff\xc3", "🚀 ﷺ",
		`{"slug":"a","name":"b"}`, `{"slug":"\ud800","networks":["x"]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = search.ParseRow([]byte(s))
		if len(s) > 400 {
			return // the checks below take quadratic time
		}
		folded := search.Fold(s)
		if again := search.Fold(folded); again != folded {
			t.Fatalf("Fold(%q) = %q, and Fold of that is %q", s, folded, again)
		}
		words := search.Words(folded)
		for _, w := range words {
			if w == "" || !strings.Contains(folded, w) || !slices.Contains(search.Words(w), w) ||
				!search.NewQuery(w).Matches(words) {
				t.Fatalf("%q has the word %q", s, w)
			}
		}
		for _, letters := range search.ShardsOf(s) {
			if n := utf8.RuneCountInString(letters); n < 1 || n > 2 {
				t.Fatalf("%q is in a shard of %d letters, %q", s, n, letters)
			}
		}
	})
}

// A query finds names whose words begin with its words, whatever their case and marks.
func ExampleQuery() {
	for _, name := range []string{"Crème Prices", "Price of Cream", "東京 Cremona"} {
		fmt.Println(name, search.NewQuery("crème p").Matches(search.Words(search.Fold(name))),
			search.NewQuery("京").Matches(search.Words(search.Fold(name))))
	}
	// Output:
	// Crème Prices true false
	// Price of Cream false false
	// 東京 Cremona false true
}
