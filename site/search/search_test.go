package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

// TestMatchesEveryWord checks that the shortcut by runs finds the same names as a comparison of every word.
func TestMatchesEveryWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(name(), 0, 12).Draw(t, "names")
		query := rapid.OneOf(name(), rapid.SampledFrom(append(names, ""))).Draw(t, "query")
		s := search.NewQuery(query)
		for _, n := range names {
			if got, want := s.Matches(search.Words(search.Fold(n))), naiveMatch(query, n); got != want {
				t.Fatalf("%q in %q: %t, want %t", query, n, got, want)
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

// FuzzSearch checks that Fold never panics and that folding twice changes nothing. Every word must be part of the
// folded text, and a query for the word must match.
func FuzzSearch(f *testing.F) {
	for _, s := range []string{"Acme Quotes", "İstanbul ß ς", "東京都API", "각 ㄱㅏ ｶﾞ", "\xff\xc3", "🚀 ﷺ",
		`{"slug":"a","name":"b"}`, `{"slug":"\ud800","networks":["x"]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
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
