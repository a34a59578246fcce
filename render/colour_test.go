package render

import (
	"bytes"
	"strings"
	"testing"

	"tollbook/templates"
)

// stylesheet returns the embedded stylesheet.
func stylesheet(t *testing.T) []byte {
	t.Helper()
	css, err := templates.FS.ReadFile("site.css")
	if err != nil {
		t.Fatal(err)
	}
	return css
}

// TestContrast checks the contrast of the tokens of both schemes against WCAG AA.
func TestContrast(t *testing.T) {
	t.Parallel()
	light, dark := colourSchemes(stylesheet(t))
	for name, s := range map[string]colourScheme{"light": light, "dark": dark} {
		for _, c := range contrasts {
			for _, token := range append(c.text, c.ground...) {
				if s[token] == "" {
					t.Errorf("%s scheme: no token %s", name, token)
				}
			}
		}
		if err := s.checkContrast(name); err != nil {
			t.Error(err)
		}
	}
	if light["paper"] == dark["paper"] {
		t.Error("paper is the same in the light and the dark scheme")
	}
}

// TestSet checks that an operator's colours replace ours, each in its own scheme, and that unreadable ones are refused.
func TestSet(t *testing.T) {
	t.Parallel()
	css := stylesheet(t)
	was, wasDark := colourSchemes(css)
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
		got, err := colourSet(css, c.colours)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		light, dark := colourSchemes(got)
		if light[c.token] != c.light || dark[c.token] != c.dark {
			t.Errorf("%s: %s is %s and %s, want %s and %s", c.name, c.token, light[c.token], dark[c.token], c.light,
				c.dark)
		}
		if len(got) != len(css) || bytes.Equal(got, css) != (c.colours == nil) {
			t.Errorf("%s: Set changed more than colours", c.name)
		}
	}
	if now, _ := colourSchemes(stylesheet(t)); now["link"] != was["link"] {
		t.Error("Set changed the embedded stylesheet")
	}
	for _, c := range []struct{ colour, want string }{
		{"link=red", "want a token and a colour"},
		{"link=#fff", "want a token and a colour"},
		{"link=#000000;}*{display:none", "want a token and a colour"},
		{"link", "want a token and a colour"},
		{"lnk=#000000", "unknown token; tokens are degraded, down, gap, ink, ink-2, link,"},
		{"dark.lnk=#000000", "unknown token"},
		{"link=#ffee00", "in the light scheme link #ffee00 on paper #fbfaf6 has a contrast of 1.1"},
		{"dark.ink=#222222", "in the dark scheme ink #222222 on paper"},
	} {
		if _, err := colourSet(css, []string{c.colour}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.colour, err, c.want)
		}
	}
	if _, err := colourSet([]byte(":root { --link: #000000; }"), []string{"dark.link=#ffffff"}); err == nil {
		t.Error("Set accepted a dark colour for a stylesheet without a dark scheme")
	}
}
