package render

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"

	"tollbook/templates"
)

// matrix transforms linear red, green and blue.
type matrix [3][3]float64

// deficiencies are how readers without one kind of cone see colours, and a picture without colours. Matrices of full
// severity from Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
// Deficiency", IEEE Transactions on Visualization and Computer Graphics 15(6), 2009, for linear RGB.
var deficiencies = map[string]matrix{
	"protanopia": {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216},
		{-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413},
		{-0.011820, 0.042940, 0.968881}},
	"tritanopia": {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602},
		{0.004733, 0.691367, 0.303900}},
	"greyscale": {{.2126, .7152, .0722}, {.2126, .7152, .0722}, {.2126, .7152, .0722}},
}

// seen returns a colour as seen with a deficiency.
func (m matrix) seen(colour string) string {
	n, _ := strconv.ParseUint(colour[1:], 16, 24)
	linear := [3]float64{}
	for i := range linear {
		c := float64(n>>(16-8*i)&0xff) / 255
		if linear[i] = c / 12.92; c > .04045 {
			linear[i] = math.Pow((c+.055)/1.055, 2.4)
		}
	}
	seen := "#"
	for _, row := range m {
		c := max(0, min(1, row[0]*linear[0]+row[1]*linear[1]+row[2]*linear[2]))
		if c <= .0031308 {
			c *= 12.92
		} else {
			c = 1.055*math.Pow(c, 1/2.4) - .055
		}
		seen += fmt.Sprintf("%02x", int(math.Round(255*c)))
	}
	return seen
}

// TestColourDeficiencies checks that the marks of a strip differ from each other and from the paper for readers with
// each deficiency, and in greyscale: WCAG asks for 3 to 1 between graphical objects.
func TestColourDeficiencies(t *testing.T) {
	t.Parallel()
	light, dark := colourSchemes(stylesheet(t))
	for scheme, tokens := range map[string]colourScheme{"light": light, "dark": dark} {
		for name, m := range deficiencies {
			for _, pair := range [][2]string{{"strip-up", "strip-down"}, {"strip-up", "paper"}, {"strip-down", "paper"},
				{"strip-low", "strip-down"}, {"strip-low", "paper"},
				{"gap", "paper"}, {"link", "paper"}, {"rule-strong", "paper"}, {"ink", "paper"}} {
				a, b := m.seen(tokens[pair[0]]), m.seen(tokens[pair[1]])
				if got := contrast(a, b); got < 3 {
					t.Errorf("%s scheme, %s: %s %s and %s %s have a contrast of %.2f, want 3", scheme, name, pair[0], a,
						pair[1], b, got)
				}
			}
		}
	}
	for scheme, tokens := range map[string]colourScheme{"light": light, "dark": dark} {
		for name, m := range deficiencies {
			checkParts(t, scheme+" scheme, "+name, tokens, m)
		}
	}
	if got := deficiencies["deuteranopia"].seen("#ffffff"); got != "#ffffff" {
		t.Errorf("white is seen as %s", got)
	}
	// the colours of statuses, which charts do not use: equal for a reader with deuteranopia
	m := deficiencies["deuteranopia"]
	if got := contrast(m.seen(light["up"]), m.seen(light["down"])); got > 1.1 {
		t.Errorf("up and down have a contrast of %.2f with deuteranopia; the simulation is wrong", got)
	}
}

// dashPattern matches the rule of a part of a column in a stylesheet.
var dashPattern = regexp.MustCompile(`:is\(\.marks, \.swatch\) \.(part-[a-z0-9]+) ` +
	`\{ stroke: var\(--(part-[a-z0-9]+)\);(?: stroke-dasharray: ([0-9 ]+);)? \}`)

// checkParts checks that each part of a column differs from the paper, and from each other part by its texture or by
// its lightness.
func checkParts(t *testing.T, name string, tokens colourScheme, m matrix) {
	t.Helper()
	css, err := templates.FS.ReadFile("money.css")
	if err != nil {
		t.Fatal(err)
	}
	rules := dashPattern.FindAllStringSubmatch(string(css), -1)
	if len(rules) != 7 {
		t.Fatalf("%d rules of parts, want 7", len(rules))
	}
	for i, a := range rules {
		if a[1] != a[2] || tokens[a[2]] == "" {
			t.Errorf("%s: the part %s has the token %s %s", name, a[1], a[2], tokens[a[2]])
		}
		colour := m.seen(tokens[a[2]])
		if got := contrast(colour, m.seen(tokens["paper"])); got < 3 {
			t.Errorf("%s: %s %s has a contrast of %.2f with the paper, want 3", name, a[1], colour, got)
		}
		for n, b := range rules[:i] {
			got := contrast(colour, m.seen(tokens[b[2]]))
			if got < 2.5 && (a[3] == b[3] || n == i-1 && a[1] != "part-other") {
				t.Errorf("%s: %s and %s have a contrast of %.2f and the textures %q and %q", name, b[1], a[1], got,
					b[3], a[3])
			}
		}
	}
}
