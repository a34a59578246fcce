package card

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

func newService() Service {
	return Service{Site: "Tollbook", Host: "harborlight-search.sample.test", Name: "Harborlight Search", Level: "good",
		Verdict: "Safe to pay", Price: "$0.0005 a request", Note: "Sample data", Colours: Colours{Ground: "#f1eee4",
			Paper: "#fbfaf6", Rule: "#dedacd", Ink: "#1b1f27", Muted: "#565c68", Accent: "#1d3f8f", Up: "#1b7a48",
			Degraded: "#8f5700", Danger: "#b3261e", Unknown: "#5a616e"}}
}

// TestServiceCard checks that any text fits on a service's card, that the card is small, that its name, price and
// verdict are in it, and that it has the same bytes each time.
func TestServiceCard(t *testing.T) {
	t.Parallel()
	same := map[string]bool{}
	for name, edit := range map[string]func(*Service){
		"a service":        func(*Service) {},
		"another name":     func(s *Service) { s.Name = "Harborlight" },
		"another price":    func(s *Service) { s.Price = "$0.0006 a request" },
		"another verdict":  func(s *Service) { s.Verdict, s.Level = "Do not pay", "do_not_pay" },
		"without a price":  func(s *Service) { s.Price = "" },
		"a name of markup": func(s *Service) { s.Name = `</svg><script>alert(1)</script>` },
		"no name":          func(s *Service) { s.Name = "" },
		"long words": func(s *Service) {
			s.Name, s.Price, s.Host = strings.Repeat("W", 500), strings.Repeat("9", 500), strings.Repeat("m", 500)
		},
		"many words": func(s *Service) { s.Name = strings.Repeat("toll ", 200) },
		"a verdict of lots": func(s *Service) {
			s.Verdict, s.Site, s.Note = strings.Repeat("Caution ", 90), strings.Repeat("i", 500), ""
		},
	} {
		c := newService()
		edit(&c)
		data, err := c.PNG()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b := m.Bounds(); b.Dx() != ServiceWidth || b.Dy() != ServiceHeight {
			t.Errorf("%s is %v", name, b)
		}
		if len(data) > 9_000 {
			t.Errorf("%s has %d bytes, want at most 9000", name, len(data))
		}
		if same[string(data)] {
			t.Errorf("%s looks as another one does", name)
		}
		same[string(data)] = true
		if other := newService(); !c.IsDrawn(data) || name != "a service" && other.IsDrawn(data) || c.IsDrawn(data[:9]) {
			t.Errorf("%s does not say which text it was drawn from", name)
		}
		if again, err := c.PNG(); err != nil || !bytes.Equal(data, again) {
			t.Errorf("%s is another one when it is drawn again: %v", name, err)
		}
	}
	if _, err := (Service{Colours: Colours{Ground: "red"}}).PNG(); err == nil {
		t.Error("a colour that is none was taken")
	}
}

func BenchmarkServiceCard(b *testing.B) {
	c := newService()
	for b.Loop() {
		data, err := c.PNG()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(data)), "bytes")
	}
}
