package display

import (
	"strings"
	"testing"
	"unicode/utf8"

	"tollbook/site/invisible"
	"tollbook/site/listing"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"plain", "Acme Quotes", 20, "Acme Quotes"},
		{"markup is left to escaping", "<b>&amp;", 20, "<b>&amp;"},
		{"one line", "  a\n\tb\r\n  c ", 20, "a b c"},
		{"controls", "a\x00b\x07c\x1b[31md\u0085e", 20, "abc[31md e"}, // U+0085 ends a line
		{"bidi", "a\u202eb\u2066c\u200fd\u061ce", 20, "abcde"},
		{"zero width", "a\u200bb\ufeffc\u2060d\u00ade", 20, "abcde"},
		{"tags", "a\U000e0041\U000e007fb", 20, "ab"},
		{"blank letters", "a\u3164b\u115fc", 20, "abc"},
		{"line separators", "a\u2028b\u2029c", 20, "a b c"},
		{"right to left stays", "שלום", 20, "שלום"},
		{"joined emoji stays", "👩🏽‍💻", 20, "👩🏽‍💻"},
		{"piled marks", "e" + strings.Repeat("\u0301", 9) + "f", 20, "e\u0301\u0301\u0301f"},
		{"not UTF-8", "a\xffb", 20, "a\ufffdb"},
		{"as long as may be", "abcde", 5, "abcde"},
		{"too long", "abcdef", 5, "abcde…"},
		{"cut before a blank", "abcd efgh", 5, "abcd…"},
		{"blanks at the end do not count", "abcde   ", 5, "abcde"},
		{"nothing", " \u202e ", 5, ""},
	} {
		if got := Line(c.in, c.limit); got != c.want {
			t.Errorf("%s: Line(%q, %d) = %q, want %q", c.name, c.in, c.limit, got, c.want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\u202e b")
	f.Add(strings.Repeat("W", 500))
	f.Add("plain words")
	f.Add("two  blanks ")
	f.Fuzz(func(t *testing.T, s string) {
		got := Line(s, 40)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > 41 || strings.ContainsFunc(got, invisible.Is) {
			t.Errorf("Line(%q) = %q", s, got)
		}
		want, whole := listing.Line(s, 40, invisible.Is)
		if !whole {
			want += "…"
		}
		if got != want {
			t.Errorf("Line(%q) = %q, want %q", s, got, want)
		}
	})
}

func TestName(t *testing.T) {
	t.Parallel()
	if got := Name("\u202e \x00"); got != "(no name)" {
		t.Errorf("Name of invisible characters = %q", got)
	}
}

func TestLink(t *testing.T) {
	t.Parallel()
	for in, ok := range map[string]bool{
		"https://acme.test":              true,
		"http://acme.test:8080/a?b=c#d":  true,
		"https://[2001:db8::1]/":         true,
		"javascript:alert(1)":            false,
		"JavaScript:alert(1)":            false,
		" javascript:alert(1)":           false,
		"java\nscript:alert(1)":          false,
		"data:text/html,<script>":        false,
		"vbscript:x":                     false,
		"//acme.test":                    false,
		"/services":                      false,
		"https:acme.test":                false,
		"https://":                       false,
		"https://user:secret@acme.test/": false,
		"https://acme.test/\u202etxt":    false,
		"https://acme.test/a b":          false,
		"ftp://acme.test":                false,
		"":                               false,
	} {
		want := ""
		if ok {
			want = in
		}
		if got := Link(in); got != want {
			t.Errorf("link(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0x209693Bc6afc0C5328bA36FaF03C514EF312287C": "0x2096…287C",
		"merchant":       "merchant",
		"12345678901234": "12345678901234",
		"":               "",
	} {
		if got := Short(in); got != want {
			t.Errorf("short(%q) = %q, want %q", in, got, want)
		}
	}
}
