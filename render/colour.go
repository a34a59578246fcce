// This file reads and sets the colour tokens of a stylesheet, and checks that text in them can be read.
//
// It must never know a page or a template.

package render

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// colourScheme contains the colour tokens of a stylesheet for one preference of readers, light or dark: "#rrggbb" by
// name.
type colourScheme map[string]string

const darkQuery = "@media (prefers-color-scheme: dark)"

// tokenPattern matches a token with a colour in a stylesheet.
var tokenPattern = regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6});`)

// colourSchemes returns the colour tokens of a stylesheet: the first value of each, and for dark the first one after
// the media query. The stylesheet of an operator may have none.
func colourSchemes(css []byte) (light, dark colourScheme) {
	before, after, _ := bytes.Cut(css, []byte(darkQuery))
	read := func(css []byte, s colourScheme) colourScheme {
		tokens := colourScheme{}
		for _, m := range tokenPattern.FindAllSubmatch(css, -1) {
			if name := string(m[1]); tokens[name] == "" {
				tokens[name] = string(m[2])
			}
		}
		maps.Copy(s, tokens)
		return s
	}
	light = read(before, colourScheme{})
	return light, read(after, maps.Clone(light))
}

var valuePattern = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// colourSet returns a stylesheet with some tokens changed: "link=#7a1f5c", "dark.link=#ff9ad5". It fails if a token
// does not exist, or if two colours that meet on pages would have too little contrast.
func colourSet(css []byte, colours []string) ([]byte, error) {
	for _, setting := range colours {
		name, value, _ := strings.Cut(setting, "=")
		name, value = strings.TrimSpace(name), strings.ToLower(strings.TrimSpace(value))
		if !valuePattern.MatchString(value) {
			return nil,
				fmt.Errorf("set colour %.60q: want a token and a colour, such as link=#7a1f5c or dark.link=#ff9ad5",
					setting)
		}
		token, isDark := strings.CutPrefix(name, "dark.")
		from := 0
		if at := bytes.Index(css, []byte(darkQuery)); isDark && at >= 0 {
			from = at
		} else if isDark {
			return nil, fmt.Errorf("set colour %s: the stylesheet has no dark scheme", name)
		}
		set := false
		for _, m := range tokenPattern.FindAllSubmatchIndex(css[from:], -1) {
			if string(css[from+m[2]:from+m[3]]) == token {
				css = slices.Concat(css[:from+m[4]], []byte(value), css[from+m[5]:])
				set = true
				break
			}
		}
		if light, _ := colourSchemes(css); !set {
			return nil, fmt.Errorf("set colour %.60q: unknown token; tokens are %s, each also as dark.%s", name,
				strings.Join(slices.Sorted(maps.Keys(light)), ", "), "ink")
		}
	}
	if len(colours) == 0 {
		return css, nil
	}
	light, dark := colourSchemes(css)
	if err := light.checkContrast("light"); err != nil {
		return nil, err
	}
	return css, dark.checkContrast("dark")
}

// contrasts lists the tokens that meet on pages, and the least contrast that WCAG AA allows: 4.5 for text, 3 for the
// bars of charts.
var contrasts = []struct {
	text, ground []string
	least        float64
}{
	{[]string{"ink", "ink-2", "link", "up", "degraded", "down", "unknown"}, []string{"paper", "sheet"}, 4.5},
	{[]string{"ink", "ink-2"}, []string{"tint"}, 4.5},
	{[]string{"sample-ink"}, []string{"sample"}, 4.5},
	{[]string{"paper"}, []string{"link"}, 4.5},
	{[]string{"rule-strong", "link", "strip-up", "strip-low", "strip-down", "gap"}, []string{"paper"}, 3},
	{[]string{"strip-down"}, []string{"strip-up", "strip-low"}, 3},
}

// checkContrast returns an error for the first pair of tokens with too little contrast. It skips tokens that the
// scheme lacks.
func (s colourScheme) checkContrast(name string) error {
	for _, c := range contrasts {
		for _, text := range c.text {
			for _, ground := range c.ground {
				if s[text] == "" || s[ground] == "" {
					continue
				}
				if got := contrast(s[text], s[ground]); got < c.least {
					return fmt.Errorf("check colours: in the %s scheme %s %s on %s %s has a contrast of %.2f to 1; "+
						"choose colours with %.1f or more", name, text, s[text], ground, s[ground], got, c.least)
				}
			}
		}
	}
	return nil
}

// contrast returns the contrast of two colours, 1 to 21, as WCAG defines it.
func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

// luminance returns the relative luminance of a colour, 0 to 1, as WCAG defines it.
func luminance(colour string) float64 {
	n, _ := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 24) // tokenPattern matched these digits
	linear := func(shift uint) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= .04045 {
			return c / 12.92
		}
		return math.Pow((c+.055)/1.055, 2.4)
	}
	return .2126*linear(16) + .7152*linear(8) + .0722*linear(0)
}
