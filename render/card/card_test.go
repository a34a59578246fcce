package card

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

var paper = Colours{Ground: "#f1eee4", Paper: "#fbfaf6", Rule: "#dedacd", Ink: "#1b1f27", Muted: "#565c68",
	Accent: "#1d3f8f"}

// TestCard checks that any text fits on a card, that the card has the size that readers expect and is small, and that
// it has the same bytes each time.
func TestCard(t *testing.T) {
	t.Parallel()
	same := map[string]bool{}
	for name, c := range map[string]Card{
		"a word":  {Title: "AI", Line: "Prices, uptime and changes"},
		"words":   {Title: "Services that charge per request: what they cost, and whether they answer"},
		"nothing": {},
		"one long word": {Title: strings.Repeat("W", 500), Line: strings.Repeat("M", 500),
			Host: strings.Repeat("m", 500), Site: strings.Repeat("i", 500)},
		"many words":    {Title: strings.Repeat("toll ", 200)},
		"other letters": {Title: "Данные и Δεδομένα", Note: "Sample data"},
	} {
		c.Colours = paper
		if c.Site == "" {
			c.Site, c.Host = "Tollbook", "tollbook.example"
		}
		data, err := c.draw()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b := m.Bounds(); b.Dx() != Width || b.Dy() != Height {
			t.Errorf("%s is %v", name, b)
		}
		if len(data) > 30_000 {
			t.Errorf("%s has %d bytes, want at most 30000", name, len(data))
		}
		if same[string(data)] {
			t.Errorf("%s looks as another one does", name)
		}
		same[string(data)] = true
		again, err := c.draw()
		if err != nil || !bytes.Equal(data, again) {
			t.Errorf("%s is another one when it is drawn again: %v", name, err)
		}
	}
	if _, err := (Card{Colours: Colours{Ground: "red"}}).PNG(); err == nil {
		t.Error("a colour that is none was taken")
	}
}

// TestCardCache checks that a card is drawn once, and that the cache is bounded.
func TestCardCache(t *testing.T) {
	clear(cache.cards)
	c := Card{Title: "AI", Colours: paper}
	a, err := c.PNG()
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.PNG()
	if err != nil || &a[0] != &b[0] {
		t.Errorf("a card is drawn twice: %v", err)
	}
	for i := range maxCache {
		cache.cards[Card{Title: strings.Repeat("x", i)}] = a
	}
	if _, err := (Card{Title: "Data", Colours: paper}).PNG(); err != nil || len(cache.cards) > maxCache {
		t.Errorf("%d cards are kept: %v", len(cache.cards), err)
	}
}

func TestCan(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"": true, "AI & Data, “quoted” · Ж Ω": true, "数据": false, "🎟": false} {
		if CanDraw(s) != want {
			t.Errorf("Can(%q) = %v", s, !want)
		}
	}
}

func TestIcon(t *testing.T) {
	t.Parallel()
	for _, size := range []int{32, 180} {
		data, err := Icon(size, paper)
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(data))
		if err != nil || m.Bounds().Dx() != size || m.Bounds().Dy() != size {
			t.Fatalf("an icon of %d is %v: %v", size, m, err)
		}
		if r, g, b, _ := m.At(size/8, size/4).RGBA(); r>>8 != 0x1d || g>>8 != 0x3f || b>>8 != 0x8f {
			t.Errorf("the ticket of %d is #%02x%02x%02x", size, r>>8, g>>8, b>>8)
		}
		if r, _, _, _ := m.At(size/16+1, size/2).RGBA(); r>>8 != 0xfb {
			t.Errorf("the ticket of %d has no notch", size)
		}
		ico := ICO(size, data)
		if !bytes.HasSuffix(ico, data) || len(ico) != 22+len(data) || ico[6] != byte(size) {
			t.Errorf("an ICO of %d has %d bytes, %x", size, len(ico), ico[:22])
		}
	}
}

func BenchmarkCard(b *testing.B) {
	c := Card{Site: "Tollbook", Title: "AI services", Line: "Prices, uptime and changes, measured",
		Host: "tollbook.example", Colours: paper}
	for b.Loop() {
		data, err := c.draw()
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(data)))
	}
}
