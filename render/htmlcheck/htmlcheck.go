// Package htmlcheck says what must be in a page, by selector: tests of pages read as a list of what a reader finds, and
// do not break when the markup around it moves.
//
//	err := htmlcheck.Run(page,
//		htmlcheck.In("h1", htmlcheck.HasText("Acme")),
//		htmlcheck.NotIn("script"))
//
// It knows HTML alone, nothing of this directory's pages.
package htmlcheck

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// Checker is one demand on a part of a page; it answers what is wrong.
type Checker func(*goquery.Selection) error

// Run parses a page and answers every demand that it does not meet, nil when it meets all.
func Run(page []byte, checks ...Checker) error {
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil {
		return fmt.Errorf("parse page: %w", err)
	}
	return all(doc.Selection, checks)
}

func all(s *goquery.Selection, checks []Checker) error {
	var errs []error
	for _, check := range checks {
		errs = append(errs, check(s))
	}
	return errors.Join(errs...)
}

// In demands that selector finds something, and that the first it finds meets the checks.
func In(selector string, checks ...Checker) Checker {
	return within(selector, func(found *goquery.Selection) error { return all(found.First(), checks) })
}

// Nth is In for the nth that selector finds, from 0.
func Nth(selector string, n int, checks ...Checker) Checker {
	return within(selector, func(found *goquery.Selection) error {
		if n >= found.Length() {
			return fmt.Errorf("only %d found", found.Length())
		}
		return all(found.Eq(n), checks)
	})
}

// Each demands that selector finds something, and that everything it finds meets the checks.
func Each(selector string, checks ...Checker) Checker {
	return within(selector, func(found *goquery.Selection) error {
		var errs []error
		found.Each(func(_ int, s *goquery.Selection) { errs = append(errs, all(s, checks)) })
		return errors.Join(errs...)
	})
}

// Count demands that selector finds n.
func Count(selector string, n int) Checker {
	return func(s *goquery.Selection) error {
		if got := s.Find(selector).Length(); got != n {
			return fmt.Errorf("%s: found %d, want %d", selector, got, n)
		}
		return nil
	}
}

// NotIn demands that selector finds nothing.
func NotIn(selector string) Checker {
	return func(s *goquery.Selection) error {
		if found := s.Find(selector); found.Length() > 0 {
			return fmt.Errorf("%s: found %s", selector, outer(found.First()))
		}
		return nil
	}
}

func within(selector string, check func(*goquery.Selection) error) Checker {
	return func(s *goquery.Selection) error {
		found := s.Find(selector)
		if found.Length() == 0 {
			return fmt.Errorf("%s: not found", selector)
		}
		if err := check(found); err != nil {
			return fmt.Errorf("%s: %w", selector, err)
		}
		return nil
	}
}

// HasText demands that the text holds want. Runs of blanks, hard ones too, count as one blank in both, and so do the
// bounds of everything that is not part of a line of text: a cell, a term, a list item.
func HasText(want string) Checker {
	return func(s *goquery.Selection) error {
		if got := text(s); !strings.Contains(got, squeeze(want)) {
			return fmt.Errorf("text %.300q does not hold %q", got, want)
		}
		return nil
	}
}

// IsText demands that the text is want and nothing else, blanks as in HasText.
func IsText(want string) Checker {
	return func(s *goquery.Selection) error {
		if got := text(s); got != squeeze(want) {
			return fmt.Errorf("text is %.300q, want %q", got, want)
		}
		return nil
	}
}

// NoText demands that the text does not hold what is unwanted.
func NoText(unwanted string) Checker {
	return func(s *goquery.Selection) error {
		if got := text(s); strings.Contains(got, squeeze(unwanted)) {
			return fmt.Errorf("text %.300q holds %q", got, unwanted)
		}
		return nil
	}
}

// HasAttr demands an attribute of this value.
func HasAttr(name, want string) Checker {
	return func(s *goquery.Selection) error {
		got, ok := s.Attr(name)
		if !ok || got != want {
			return fmt.Errorf("attribute %s is %q, want %q, in %s", name, got, want, outer(s))
		}
		return nil
	}
}

// inline are the elements that are part of a line of text.
var inline = map[string]bool{"a": true, "abbr": true, "b": true, "bdi": true, "code": true, "del": true, "em": true,
	"i": true, "ins": true,
	"small": true, "span": true, "strong": true, "time": true}

// text is what a reader sees of a part of a page, a blank between blocks.
func text(s *goquery.Selection) string {
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			return
		}
		bound := n.Type == html.ElementNode && !inline[n.Data]
		if bound {
			b.WriteByte(' ')
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
		if bound {
			b.WriteByte(' ')
		}
	}
	for _, n := range s.Nodes {
		walk(n)
	}
	return squeeze(b.String())
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func outer(s *goquery.Selection) string {
	markup, err := goquery.OuterHtml(s)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.200s", markup)
}
