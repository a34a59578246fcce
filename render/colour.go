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

// scheme is the colour tokens of the stylesheet for a reader's preference, light or dark: "#rrggbb" by name.
type scheme map[string]string

const darkScheme = "@media (prefers-color-scheme: dark)"

// colourToken is a token with a colour in a stylesheet.
var colourToken = regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6});`)

// schemes are the colour tokens of a stylesheet: the first value of each, and in dark the first one after darkScheme. A
// stylesheet of an operator's own may have none.
func schemes(css []byte) (light, dark scheme) {
	before, after, _ := bytes.Cut(css, []byte(darkScheme))
	read := func(css []byte, s scheme) scheme {
		found := scheme{}
		for _, m := range colourToken.FindAllSubmatch(css, -1) {
			if name := string(m[1]); found[name] == "" {
				found[name] = string(m[2])
			}
		}
		maps.Copy(s, found)
		return s
	}
	light = read(before, scheme{})
	return light, read(after, maps.Clone(light))
}

var colourValue = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// recolour sets tokens of a stylesheet: "link=#7a1f5c", "dark.link=#ff9ad5". What could then not be read is refused.
func recolour(css []byte, colours []string) ([]byte, error) {
	for _, given := range colours {
		name, value, _ := strings.Cut(given, "=")
		name, value = strings.TrimSpace(name), strings.ToLower(strings.TrimSpace(value))
		if !colourValue.MatchString(value) {
			return nil,
				fmt.Errorf("colour %.60q: it is a token and a colour, such as link=#7a1f5c or dark.link=#ff9ad5", given)
		}
		token, isDark := strings.CutPrefix(name, "dark.")
		from := 0
		if at := bytes.Index(css, []byte(darkScheme)); isDark && at >= 0 {
			from = at
		} else if isDark {
			return nil, fmt.Errorf("colour %s: the stylesheet has no dark scheme", name)
		}
		set := false
		for _, m := range colourToken.FindAllSubmatchIndex(css[from:], -1) {
			if string(css[from+m[2]:from+m[3]]) == token {
				css = slices.Concat(css[:from+m[4]], []byte(value), css[from+m[5]:])
				set = true
				break
			}
		}
		if light, _ := schemes(css); !set {
			return nil, fmt.Errorf("colour %.60q: there is no such token, but %s, each also as dark.%s", name,
				strings.Join(slices.Sorted(maps.Keys(light)), ", "), "ink")
		}
	}
	if len(colours) == 0 {
		return css, nil
	}
	light, dark := schemes(css)
	if err := light.legible("light"); err != nil {
		return nil, err
	}
	return css, dark.legible("dark")
}

// contrasts are the pairs of tokens that meet on pages, and the least contrast of each by WCAG AA: 4.5 for text, 3 for
// the bars of charts.
var contrasts = []struct {
	text, ground []string
	least        float64
}{
	{[]string{"ink", "ink-2", "link", "up", "degraded", "down", "unknown"}, []string{"paper", "sheet"}, 4.5},
	{[]string{"ink", "ink-2"}, []string{"tint"}, 4.5},
	{[]string{"sample-ink"}, []string{"sample"}, 4.5},
	{[]string{"paper"}, []string{"link"}, 4.5},
	{[]string{"up", "down", "rule-strong", "link"}, []string{"paper"}, 3},
}

// legible holds a scheme to contrasts; tokens that it lacks are not looked at.
func (s scheme) legible(name string) error {
	for _, c := range contrasts {
		for _, text := range c.text {
			for _, ground := range c.ground {
				if s[text] == "" || s[ground] == "" {
					continue
				}
				if got := contrast(s[text], s[ground]); got < c.least {
					return fmt.Errorf(
						"colours: in the %s scheme %s %s on %s %s has a contrast of %.2f to 1; %.1f is the least that can be read",
						name, text, s[text], ground, s[ground], got, c.least)
				}
			}
		}
	}
	return nil
}

// contrast of two colours, 1 to 21, as WCAG defines it.
func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

func luminance(colour string) float64 {
	n, _ := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 24) // colourToken has proved it
	linear := func(shift uint) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= .04045 {
			return c / 12.92
		}
		return math.Pow((c+.055)/1.055, 2.4)
	}
	return .2126*linear(16) + .7152*linear(8) + .0722*linear(0)
}
