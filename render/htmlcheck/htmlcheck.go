// Package htmlcheck checks the content of a page by selectors. Tests list what a reader finds, and do not break when
// the markup around it changes:
//
//	err := htmlcheck.Run(page,
//		htmlcheck.In("h1", htmlcheck.HasText("Acme")),
//		htmlcheck.NotIn("script"))
//
// It must never know a page of this directory.
package htmlcheck

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// Checker checks a part of a page and returns what is wrong.
type Checker func(*goquery.Selection) error

// Run parses a page and returns the errors of all checks.
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

// In checks the first match of selector, which must exist.
func In(selector string, checks ...Checker) Checker {
	return within(selector, func(matches *goquery.Selection) error { return all(matches.First(), checks) })
}

// Nth checks the nth match of selector, from 0.
func Nth(selector string, n int, checks ...Checker) Checker {
	return within(selector, func(matches *goquery.Selection) error {
		if n >= matches.Length() {
			return fmt.Errorf("only %d found", matches.Length())
		}
		return all(matches.Eq(n), checks)
	})
}

// Each checks every match of selector. At least one must exist.
func Each(selector string, checks ...Checker) Checker {
	return within(selector, func(matches *goquery.Selection) error {
		var errs []error
		matches.Each(func(_ int, s *goquery.Selection) { errs = append(errs, all(s, checks)) })
		return errors.Join(errs...)
	})
}

// Count checks that selector has n matches.
func Count(selector string, n int) Checker {
	return func(s *goquery.Selection) error {
		if got := s.Find(selector).Length(); got != n {
			return fmt.Errorf("%s: found %d, want %d", selector, got, n)
		}
		return nil
	}
}

// NotIn checks that selector has no match.
func NotIn(selector string) Checker {
	return func(s *goquery.Selection) error {
		if matches := s.Find(selector); matches.Length() > 0 {
			return fmt.Errorf("%s: found %s", selector, outer(matches.First()))
		}
		return nil
	}
}

func within(selector string, check func(*goquery.Selection) error) Checker {
	return func(s *goquery.Selection) error {
		matches := s.Find(selector)
		if matches.Length() == 0 {
			return fmt.Errorf("%s: not found", selector)
		}
		if err := check(matches); err != nil {
			return fmt.Errorf("%s: %w", selector, err)
		}
		return nil
	}
}

// HasText checks that the text contains want. A run of white space, no-break spaces included, counts as one space, and
// so does the boundary of a block: a cell, a term, a list item.
func HasText(want string) Checker {
	return func(s *goquery.Selection) error {
		if got := text(s); !strings.Contains(got, squeeze(want)) {
			return fmt.Errorf("text %.300q does not hold %q", got, want)
		}
		return nil
	}
}

// IsText checks that the text is want, with white space as in HasText.
func IsText(want string) Checker {
	return func(s *goquery.Selection) error {
		if got := text(s); got != squeeze(want) {
			return fmt.Errorf("text is %.300q, want %q", got, want)
		}
		return nil
	}
}

// NoText checks that the text does not contain unwanted.
func NoText(unwanted string) Checker {
	return func(s *goquery.Selection) error {
		if got := text(s); strings.Contains(got, squeeze(unwanted)) {
			return fmt.Errorf("text %.300q holds %q", got, unwanted)
		}
		return nil
	}
}

// HasAttr checks the value of an attribute.
func HasAttr(name, want string) Checker {
	return func(s *goquery.Selection) error {
		got, ok := s.Attr(name)
		if !ok || got != want {
			return fmt.Errorf("attribute %s is %q, want %q, in %s", name, got, want, outer(s))
		}
		return nil
	}
}

// inline lists the elements that are part of a line of text.
var inline = map[string]bool{"a": true, "abbr": true, "b": true, "bdi": true, "code": true, "del": true, "em": true,
	"i": true, "ins": true,
	"small": true, "span": true, "strong": true, "time": true}

// text returns the visible text of a part of a page, with a space between blocks.
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
