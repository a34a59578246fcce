package render

import (
	"bytes"
	"strings"
	"testing"

	"tollbook/templates"
)

func sheet(t *testing.T) []byte {
	t.Helper()
	css, err := templates.FS.ReadFile("site.css")
	if err != nil {
		t.Fatal(err)
	}
	return css
}

// TestContrast holds the tokens of both schemes to WCAG AA.
func TestContrast(t *testing.T) {
	t.Parallel()
	light, dark := schemes(sheet(t))
	for name, s := range map[string]scheme{"light": light, "dark": dark} {
		for _, c := range contrasts {
			for _, token := range append(c.text, c.ground...) {
				if s[token] == "" {
					t.Errorf("the %s scheme has no %s", name, token)
				}
			}
		}
		if err := s.legible(name); err != nil {
			t.Error(err)
		}
	}
	if light["paper"] == dark["paper"] {
		t.Error("light is as dark")
	}
}

// TestRecolour: an operator's colours take the place of ours, in the scheme that he names, and what could not be read
// is refused.
func TestRecolour(t *testing.T) {
	t.Parallel()
	css := sheet(t)
	was, wasDark := schemes(css)
	for _, c := range []struct {
		name        string
		colours     []string
		token       string
		light, dark string
	}{
		{"light alone", []string{"link=#7A1F5C"}, "link", "#7a1f5c", wasDark["link"]},
		{"dark alone", []string{"dark.link = #ff9ad5"}, "link", was["link"], "#ff9ad5"},
		{"both", []string{"dark.paper=#000000", "paper=#ffffff"}, "paper", "#ffffff", "#000000"},
		{"none", nil, "link", was["link"], wasDark["link"]},
	} {
		got, err := recolour(css, c.colours)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		light, dark := schemes(got)
		if light[c.token] != c.light || dark[c.token] != c.dark {
			t.Errorf("%s: %s is %s and %s, want %s and %s", c.name, c.token, light[c.token], dark[c.token], c.light,
				c.dark)
		}
		if len(got) != len(css) || bytes.Equal(got, css) != (c.colours == nil) {
			t.Errorf("%s: more than colours has changed", c.name)
		}
	}
	if now, _ := schemes(sheet(t)); now["link"] != was["link"] {
		t.Error("the embedded stylesheet was changed")
	}
	for _, c := range []struct{ colour, want string }{
		{"link=red", "it is a token and a colour"},
		{"link=#fff", "it is a token and a colour"},
		{"link=#000000;}*{display:none", "it is a token and a colour"},
		{"link", "it is a token and a colour"},
		{"lnk=#000000", "there is no such token, but degraded, down, gap, ink, ink-2, link,"},
		{"dark.lnk=#000000", "there is no such token"},
		{"link=#ffee00", "in the light scheme link #ffee00 on paper #fbfaf6 has a contrast of 1.1"},
		{"dark.ink=#222222", "in the dark scheme ink #222222 on paper"},
	} {
		if _, err := recolour(css, []string{c.colour}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.colour, err, c.want)
		}
	}
	if _, err := recolour([]byte(":root { --link: #000000; }"), []string{"dark.link=#ffffff"}); err == nil {
		t.Error("a dark colour was taken without a dark scheme")
	}
}
