package source

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// pagesAbout are the hosts of pages about services: code, packages, posts, chats and explorers. Links to them name no
// service.
var pagesAbout = []string{
	"github.com", "gitlab.com", "github.io", "githubusercontent.com", "npmjs.com", "pypi.org", "crates.io",
	"pkg.go.dev",
	"hub.docker.com", "huggingface.co", "x.com", "twitter.com", "t.me", "discord.gg", "discord.com", "youtube.com",
	"youtu.be", "medium.com", "dev.to", "reddit.com", "linkedin.com", "arxiv.org", "wikipedia.org", "mozilla.org",
	"ietf.org", "ethereum.org", "etherscan.io", "basescan.org", "solscan.io", "shields.io", "smithery.ai", "glama.ai",
	"x402scan.com", "mppscan.com", "awesome.re",
}

// readMarkdownList reads the links of a list in Markdown: the first link of each list item or table row that names no
// page about a service. Its section's heading is the category, the rest of the line the description.
func readMarkdownList(doc []byte) (Page, error) {
	if !utf8.Valid(doc) || bytes.IndexByte(doc, 0) >= 0 {
		return Page{}, fmt.Errorf("%w: it is no text", ErrShape)
	}
	if start := bytes.ToLower(bytes.TrimSpace(doc[:min(len(doc), 200)])); bytes.HasPrefix(start,
		[]byte("<!doctype html")) ||
		bytes.HasPrefix(start, []byte("<html")) {
		return Page{}, fmt.Errorf("%w: it is an HTML page", ErrShape)
	}
	p := Page{}
	heading, fence := "", ""
	for line := range bytes.Lines(doc) {
		line = bytes.TrimRight(line, "\r\n")
		text := strings.TrimLeft(string(line[:min(len(line), maxLine)]), " \t>")
		switch mark := text[:min(len(text), 3)]; {
		case fence != "":
			if mark == fence {
				fence = ""
			}
			continue
		case mark == "```" || mark == "~~~":
			fence = mark
			continue
		}
		if title := strings.TrimLeft(text, "#"); title != text && strings.HasPrefix(title, " ") {
			heading = cleanText(title, MaxName)
			continue
		}
		if isListed(text) {
			addLink(&p, line, text, heading)
		}
	}
	if p.Entries == 0 {
		return Page{}, fmt.Errorf("%w: it has no list items with links", ErrShape)
	}
	return p, nil
}

// maxLine is the number of bytes of a line that are read. Descriptions in real lists have up to some thousand.
const maxLine = 16 << 10

// isListed reports whether a line is a list item or a table row.
func isListed(text string) bool {
	if strings.HasPrefix(text, "|") {
		return true
	}
	number := strings.TrimLeft(text, "0123456789")
	rest := strings.TrimLeft(text, "-*+")
	return len(text)-len(rest) == 1 && strings.HasPrefix(rest, " ") ||
		number != text && (strings.HasPrefix(number, ". ") || strings.HasPrefix(number, ") "))
}

// addLink adds the service of a line. A line without a link is no entry.
func addLink(p *Page, line []byte, text, heading string) {
	e := entries{page: p, raw: line}
	if len(p.Rows) == MaxRows {
		e.skip(TooLarge, "")
		p.Entries++
		return
	}
	links := linksOf(text)
	if len(links) == 0 {
		return
	}
	row := Row{Type: HTTP, Category: heading}
	for _, l := range links {
		address, reason := webURL(l.url)
		if reason == "" && isAbout(address) {
			reason = NotPaid
		}
		if row.URL == "" && reason == "" {
			row.URL, row.Service = address, cleanText(strings.Trim(plainText(l.text), "*_` "), MaxName)
			row.Description = cleanText(description(text[l.end:], text[0] == '|'), MaxText)
			row.Site = true // a list links to home pages; an endpoint is known when it answers
		}
	}
	if row.URL == "" {
		_, reason := webURL(links[0].url)
		if reason == "" {
			reason = NotPaid
		}
		e.skip(reason, links[0].url)
	} else {
		e.add(row)
	}
	p.Entries++
}

// description returns the text after a link, without marks and without the URLs of further links.
func description(rest string, isTable bool) string {
	rest = strings.TrimLeft(rest, " *_`|)]:-–—")
	if isTable {
		rest, _, _ = strings.Cut(rest, "|")
	}
	var b strings.Builder
	end := 0
	for _, l := range linksOf(rest) {
		b.WriteString(rest[end:l.start])
		b.WriteString(l.text)
		end = l.end
	}
	b.WriteString(rest[end:])
	return marks.Replace(b.String())
}

// plainText returns the text of a link, "" for a picture.
func plainText(s string) string {
	if strings.HasPrefix(s, "![") {
		return ""
	}
	return s
}

var marks = strings.NewReplacer("**", "", "`", "")

type link struct {
	text, url  string
	start, end int
}

// maxLinks is the most links of a line that are read.
const maxLinks = 20

// linksOf returns the links [text](url) and <url> of a line, without images, in the order of their places. Brackets may
// contain brackets; those that contain a link are text, as in CommonMark 0.31, section 6.3.
func linksOf(s string) (links []link) {
	var open []int
	for i := 0; i < len(s) && len(links) < maxLinks; i++ {
		switch {
		case strings.HasPrefix(s[i:], "<http"):
			end := strings.IndexByte(s[i:], '>')
			if end < 0 {
				return links
			}
			links = append(links, link{"", s[i+1 : i+end], i, i + end + 1})
			open = open[:0]
			i += end
		case s[i] == '[':
			open = append(open, i)
		case s[i] == ']' && len(open) > 0:
			start := open[len(open)-1]
			open = open[:len(open)-1]
			if !strings.HasPrefix(s[i:], "](") {
				continue
			}
			end := closing(s[i+2:])
			if end < 0 {
				return links
			}
			if start == 0 || s[start-1] != '!' {
				target, _, _ := strings.Cut(strings.TrimSpace(s[i+2:i+2+end]), " ")
				links = append(links, link{s[start+1 : i], strings.Trim(target, "<>"), start, i + 3 + end})
				open = open[:0]
			}
			i += 2 + end
		}
	}
	return links
}

// closing returns the place of the parenthesis that closes a link's URL, which may contain pairs of them; -1 for none.
func closing(s string) int {
	level := 0
	for i := range min(len(s), MaxURL+100) {
		switch s[i] {
		case '(':
			level++
		case ')':
			if level == 0 {
				return i
			}
			level--
		}
	}
	return -1
}

// isAbout reports whether a URL is a page about services and not one of a service.
func isAbout(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	host := strings.ToLower(u.Hostname())
	for _, about := range pagesAbout {
		if host == about || strings.HasSuffix(host, "."+about) {
			return true
		}
	}
	return false
}
