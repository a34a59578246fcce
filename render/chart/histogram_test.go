package chart

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

func newClass(from, below string, n int) site.PriceClass {
	c := site.PriceClass{ServiceCount: n}
	if from != "" {
		c.FromUSD = new(site.Decimal(from))
	}
	if below != "" {
		c.BelowUSD = new(site.Decimal(below))
	}
	return c
}

var tags = regexp.MustCompile(`<[^>]*>`)

// TestHistogram checks that the table has the numbers of the classes, and that one column and one triangle mark the
// class of a price.
func TestHistogram(t *testing.T) {
	t.Parallel()
	p := &site.CategoryPrices{ServiceCount: 9, MedianUSD: "0.0005", Classes: []site.PriceClass{
		newClass("", "0.0001", 2), newClass("0.0001", "0.0002", 0), newClass("0.0002", "0.0005", 3),
		newClass("0.0005", "", 4)}}
	for _, c := range []struct {
		name, price, want string
		marks             int
	}{
		{"of a category", "", "under $0.0001 2\n$0.0001 to under $0.0002 0\n$0.0002 to under $0.0005 3\n" +
			"$0.0005 and more 4\n", 0},
		{"at a bound", "0.0005", "under $0.0001 2\n$0.0001 to under $0.0002 0\n$0.0002 to under $0.0005 3\n" +
			"$0.0005 and more this service 4\n", 1},
		{"in the first class", "0.00003", "under $0.0001 this service 2\n$0.0001 to under $0.0002 0\n" +
			"$0.0002 to under $0.0005 3\n$0.0005 and more 4\n", 1},
	} {
		var price *site.Decimal
		if c.price != "" {
			price = new(site.Decimal(c.price))
		}
		h := NewHistogram(p, price)
		rows := strings.ReplaceAll(string(h.Rows), "</th><td", "</th> <td")
		if diff := cmp.Diff(c.want, tags.ReplaceAllString(rows, "")); diff != "" {
			t.Errorf("%s: table (-want +got):\n%s", c.name, diff)
		}
		plot := string(h.Plot)
		if n := strings.Count(plot, `class="here"`); n != c.marks {
			t.Errorf("%s: %d marked columns, want %d", c.name, n, c.marks)
		}
		if n := strings.Count(plot, `<path d="M-6-26`); n != c.marks {
			t.Errorf("%s: %d triangles, want %d", c.name, n, c.marks)
		}
		if n := strings.Count(plot, "<text>"); n != 3 { // columns with services
			t.Errorf("%s: %d numbers, want 3", c.name, n)
		}
	}
}

// TestHistogramLabels checks that a chart with many classes names the powers of ten alone.
func TestHistogramLabels(t *testing.T) {
	t.Parallel()
	p := &site.CategoryPrices{ServiceCount: 2, MedianUSD: "1"}
	bounds := []string{"", "0.0001", "0.0002", "0.0005", "0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1",
		"0.2"}
	for i := range len(bounds) - 1 {
		p.Classes = append(p.Classes, newClass(bounds[i], bounds[i+1], 1))
	}
	labels := regexp.MustCompile(`<text y="100%">([^<]*)`).FindAllStringSubmatch(string(NewHistogram(p, nil).Plot), -1)
	var got []string
	for _, l := range labels {
		got = append(got, l[1])
	}
	if diff := cmp.Diff([]string{"$0.0001", "$0.001", "$0.01", "$0.10"}, got); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
