package source

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"golang.org/x/net/html"

	"tollbook/site/listing"
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

// wordsAbout are the texts of links that stand beside the link of a service and name none. In lower case.
var wordsAbout = []string{
	"api reference", "article", "blog", "code", "demo", "discord", "docs", "documentation", "github", "gitlab", "npm",
	"paper", "playground", "post", "pypi", "readme", "reference", "repo", "repository", "source", "source code",
	"telegram", "twitter", "video", "whitepaper", "x",
}

// plainWords are the texts of links that do not name the service. In lower case.
var plainWords = []string{"api", "endpoint", "here", "homepage", "link", "live", "open", "site", "url", "visit", "web",
	"website"}

// Limits of a list in Markdown. CommonMark takes quadratic time for some texts, so each text is short.
const (
	maxMarkdown = 2 << 20  // bytes of a document; the largest lists have some hundred KB
	maxLine     = 16 << 10 // bytes of a line; descriptions in real lists have up to some thousand
	maxBlock    = 4 << 10  // bytes of a text in an entry
	maxLevels   = 32       // lists and quotations that a line may begin
	maxIndent   = 200      // bytes of white space before a line
	maxTerms    = 200      // definitions of links without an empty line
	maxLinks    = 20       // links of an entry that are read
)

// blocks reads the blocks of a document, without what is in them; inlines reads the text of one of them. Together they
// are GitHub's Markdown with definition lists. A document is read in two steps, so that only entries are read whole and
// each is short.
var (
	blocks = parser.NewParser(
		parser.WithBlockParsers(append(parser.DefaultBlockParsers(),
			util.Prioritized(extension.NewDefinitionListParser(), 101),
			util.Prioritized(extension.NewDefinitionDescriptionParser(), 102))...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
			util.Prioritized(extension.NewTableParagraphTransformer(), 200))...))
	inlines = parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewLinkifyParser(), 999))...))
)

// readMarkdownList reads the links of a list in Markdown. An entry is an item of a list, a row of a table or a
// definition, in Markdown or HTML. Its service is the first link that names no page about a service, and each further
// one before the description that leads to another domain. The heading of its section is the category, the rest of the
// entry the description. An entry without a link is none; one whose links name no service is skipped.
func readMarkdownList(doc []byte) (Page, error) {
	if !utf8.Valid(doc) || bytes.IndexByte(doc, 0) >= 0 {
		return Page{}, fmt.Errorf("%w: it is no text", ErrShape)
	}
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	if start := bytes.ToLower(bytes.TrimSpace(doc[:min(len(doc), 200)])); bytes.HasPrefix(start,
		[]byte("<!doctype html")) ||
		bytes.HasPrefix(start, []byte("<html")) {
		return Page{}, fmt.Errorf("%w: it is an HTML page", ErrShape)
	}
	if len(doc) > maxMarkdown {
		return Page{}, fmt.Errorf("%w: it is longer than %d MiB", ErrShape, maxMarkdown>>20)
	}
	p := Page{}
	r := markdownReader{page: &p, context: parser.NewContext(), hosts: map[string]bool{}}
	r.doc = r.bound(doc)
	r.read(blocks.Parse(text.NewReader(r.doc), parser.WithContext(r.context)))
	if p.Entries == 0 {
		return Page{}, fmt.Errorf("%w: it has no list items with links", ErrShape)
	}
	return p, nil
}

// markdownReader reads the entries of a document.
type markdownReader struct {
	page    *Page
	doc     []byte
	context parser.Context // with the definitions of links
	heading string
	hosts   map[string]bool // hosts of the services so far
}

// bound returns a document whose blocks can be read in linear time: long lines are cut, lines that begin many lists or
// quotations are left out, and many definitions of links are separated.
func (r *markdownReader) bound(doc []byte) []byte {
	out := make([]byte, 0, len(doc)+len(doc)/maxTerms)
	terms := 0
	for line := range bytes.Lines(doc) {
		line = bytes.TrimRight(line, "\r\n")
		start := bytes.TrimLeft(line, " \t>*+-.)0123456789")
		prefix := line[:len(line)-len(start)]
		levels := bytes.Count(prefix, []byte(">"))
		for _, mark := range []string{"- ", "+ ", "* ", ". ", ") "} {
			levels += bytes.Count(prefix, []byte(mark))
		}
		if levels > maxLevels || len(prefix)-len(bytes.TrimLeft(prefix, " \t")) > maxIndent {
			e := entries{page: r.page}
			e.skip(TooLarge, string(line[:min(len(line), 200)]))
			r.page.Entries++
			line = nil
		}
		if len(line) > maxLine {
			line = bytes.ToValidUTF8(line[:maxLine], nil)
		}
		if terms++; !bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")) || !bytes.Contains(line, []byte("]:")) {
			terms = 0
		} else if terms%maxTerms == 0 {
			out = append(out, '\n')
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

// read reads the entries in a node, which is in no entry.
func (r *markdownReader) read(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		r.heading = cleanText(r.parse(n).text(), MaxName)
	case *ast.ListItem, *extast.TableRow:
		r.readEntry(n)
	case *extast.DefinitionList:
		r.readDefinitions(n)
	case *ast.HTMLBlock:
		r.readHTML(r.source(n))
	case *extast.TableHeader, *ast.Paragraph, *ast.FencedCodeBlock, *ast.CodeBlock:
	default:
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			r.read(c)
		}
	}
}

// readEntry reads an item or a row, and then the lists in it.
func (r *markdownReader) readEntry(n ast.Node) {
	var e entryText
	nested := r.collect(n, &e)
	r.add(e, r.source(n))
	for _, list := range nested {
		r.read(list)
	}
}

// readDefinitions reads a list of definitions. An entry is a term with its definitions.
func (r *markdownReader) readDefinitions(list ast.Node) {
	var e entryText
	var nested []ast.Node
	end := func() {
		r.add(e, nil)
		for _, n := range nested {
			r.read(n)
		}
		e, nested = entryText{}, nil
	}
	for c := list.FirstChild(); c != nil; c = c.NextSibling() {
		if _, isTerm := c.(*extast.DefinitionTerm); isTerm && len(e) > 0 {
			end()
		}
		if len(e) > 0 {
			e = append(e, piece{cell: true})
		}
		nested = append(nested, r.collect(c, &e)...)
	}
	end()
}

// collect adds what is in a node to the text of an entry, and returns the lists and tables in it, which have entries of
// their own.
func (r *markdownReader) collect(n ast.Node, e *entryText) (nested []ast.Node) {
	switch n.(type) {
	case *ast.Paragraph, *ast.TextBlock, *extast.DefinitionTerm:
		*e = append(*e, r.parse(n)...)
		*e = append(*e, piece{text: " "})
		return nil
	case *extast.TableCell:
		*e = append(append(*e, r.parse(n)...), piece{cell: true})
		return nil
	case *ast.HTMLBlock:
		*e = append(*e, htmlPieces(r.source(n))...)
		return nil
	case *ast.List, *extast.Table, *extast.DefinitionList:
		return []ast.Node{n}
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return nil
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		nested = append(nested, r.collect(c, e)...)
	}
	return nested
}

// source returns the lines of a block, at most maxBlock bytes of them.
func (r *markdownReader) source(n ast.Node) []byte {
	var b []byte
	if n.Type() == ast.TypeInline {
		return nil
	}
	for _, s := range n.Lines().Sliced(0, n.Lines().Len()) {
		b = append(b, s.Value(r.doc)...)
		if len(b) > maxBlock {
			return bytes.ToValidUTF8(b[:maxBlock], nil)
		}
	}
	return b
}

// parse returns the text of a block with its links.
func (r *markdownReader) parse(n ast.Node) (e entryText) {
	src := r.source(n)
	if _, isCell := n.(*extast.TableCell); isCell {
		src = bytes.ReplaceAll(src, []byte(`\|`), []byte("|"))
	}
	if !bytes.ContainsAny(src, "[<*_~`") && !bytes.Contains(src, []byte(":/")) && !bytes.Contains(src, []byte("www.")) {
		return entryText{piece{text: string(resolve(src))}} // most texts of a long document
	}
	collectInlines(inlines.Parse(text.NewReader(src), parser.WithContext(r.context)), src, &e)
	return e.joined()
}

// collectInlines adds the inline nodes below a node.
func collectInlines(n ast.Node, src []byte, e *entryText) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			s := c.Segment.Value(src)
			if !c.IsRaw() {
				s = resolve(s)
			}
			*e = append(*e, piece{text: string(s)})
			if c.SoftLineBreak() || c.HardLineBreak() {
				*e = append(*e, piece{text: " "})
			}
		case *ast.AutoLink:
			*e = append(*e, piece{text: string(c.Label(src)), url: string(c.URL(src)), isBare: true})
		case *ast.Image: // a picture names nothing
		case *ast.Link:
			var inner entryText
			collectInlines(c, src, &inner)
			*e = append(*e, piece{text: inner.text(), url: string(resolve(c.Destination)), isLink: true})
		case *ast.RawHTML:
			for _, s := range c.Segments.Sliced(0, c.Segments.Len()) {
				*e = append(*e, htmlPieces(s.Value(src))...)
			}
		default:
			collectInlines(c, src, e)
		}
	}
}

// resolve returns a text of Markdown without escapes.
func resolve(s []byte) []byte {
	return util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(s)))
}

// readHTML reads the items, rows and definitions of a block of HTML.
func (r *markdownReader) readHTML(src []byte) {
	var e entryText
	inEntry := false
	end := func() {
		r.add(e.joined(), src)
		e = nil
	}
	for p := range htmlTokens(src) {
		switch p.tag {
		case "li", "tr", "dt":
			end()
			inEntry = true
		case "/li", "/tr", "/dl", "/ul", "/ol", "/table":
			end()
			inEntry = false
		case "h1", "h2", "h3", "h4", "h5", "h6":
			e = nil
		case "/h1", "/h2", "/h3", "/h4", "/h5", "/h6":
			r.heading, e = cleanText(e.joined().text(), MaxName), nil
		case "/td", "/th", "dd":
			p.cell = true
		}
		if e = append(e, p.piece); !inEntry && len(e) > 1000 {
			e = nil // of no entry and no heading
		}
	}
	if inEntry {
		end()
	}
}

// htmlPieces returns the text and links of HTML.
func htmlPieces(src []byte) (e entryText) {
	for p := range htmlTokens(src) {
		e = append(e, p.piece)
	}
	return e
}

// htmlToken is a token of HTML. The tag is "" for text, and begins with a slash for an end.
type htmlToken struct {
	piece
	tag string
}

// htmlTokens iterates over the tokens of HTML.
func htmlTokens(src []byte) func(yield func(htmlToken) bool) {
	return func(yield func(htmlToken) bool) {
		for z := html.NewTokenizer(bytes.NewReader(src)); ; {
			switch z.Next() {
			case html.ErrorToken:
				return
			case html.TextToken:
				if !yield(htmlToken{piece: piece{text: string(html.UnescapeString(string(z.Text())))}}) {
					return
				}
			case html.StartTagToken, html.SelfClosingTagToken:
				name, _ := z.TagName()
				t := htmlToken{tag: string(name)}
				for more := t.tag == "a"; more; {
					var key, value []byte
					if key, value, more = z.TagAttr(); string(key) == "href" {
						t.url, t.opens = string(value), true
					}
				}
				if !yield(t) {
					return
				}
			case html.EndTagToken:
				name, _ := z.TagName()
				if !yield(htmlToken{piece: piece{closes: string(name) == "a"}, tag: "/" + string(name)}) {
					return
				}
			}
		}
	}
}

// entryText is the text of an entry in pieces: texts, links, and ends of cells.
type entryText []piece

type piece struct {
	text, url string // of a link its text and where it leads
	isLink    bool
	isBare    bool // a link that is its own text
	cell      bool // the end of a cell
	opens     bool // begin of a link in HTML
	closes    bool // end of a link in HTML
}

// joined returns a text in which links of HTML are one piece each.
func (e entryText) joined() (out entryText) {
	open := -1
	for _, p := range e {
		switch {
		case p.opens:
			open = len(out)
			out = append(out, piece{url: p.url, isLink: true})
		case p.closes:
			open = -1
		case open >= 0 && !p.isLink && !p.isBare:
			out[open].text += p.text
		default:
			out = append(out, p)
		}
	}
	return out
}

// text returns the text without URLs.
func (e entryText) text() string {
	var b strings.Builder
	for _, p := range e.joined() {
		b.WriteString(p.text)
	}
	return b.String()
}

// add adds the services of an entry. A text without a link is no entry.
func (r *markdownReader) add(e entryText, raw []byte) {
	isLink := func(p piece) bool { return p.isLink || p.isBare }
	if !slices.ContainsFunc(e, isLink) {
		return
	}
	if raw == nil {
		raw = []byte(e.text())
	}
	out := entries{page: r.page, raw: raw}
	defer func() { r.page.Entries++ }()
	if len(r.page.Rows) == MaxRows {
		out.skip(TooLarge, "")
		return
	}
	first, links, described := "", 0, false // the registrable domain of the first service
	var reason, skipped string
	for i, p := range e {
		if !isLink(p) {
			described = described || first != "" && strings.Trim(p.text, " \t,;/|&+·•") != ""
			continue
		}
		if links++; links > maxLinks || described {
			break
		}
		address, why := listedURL(p.url)
		switch {
		case why != "":
		case isAbout(address):
			why = About
		case first != "" && (domainOf(address) == first || slices.Contains(wordsAbout, strings.ToLower(strings.TrimSpace(p.text)))):
			continue // a page of the same service
		case r.hosts[hostOf(address)]:
			why = SameHost
		}
		if why != "" {
			if reason == "" {
				reason, skipped = why, p.url
			}
			continue
		}
		first, r.hosts[hostOf(address)] = domainOf(address), true
		name, description := e.describe(i)
		out.add(Row{
			Type: HTTP, URL: address, Category: r.heading, Service: name, Description: description,
			Site: true, // a list links to home pages; an endpoint is known when it answers
		})
	}
	if first == "" {
		out.skip(reason, skipped)
	}
}

// describe returns the name and the description of the service that a link names.
func (e entryText) describe(at int) (name, description string) {
	before, after := e[:at], e[at+1:]
	if !e[at].isBare {
		name = trimMarks(e[at].text)
	}
	var rest string
	if end := slices.IndexFunc(e, func(p piece) bool { return p.cell }); end < 0 {
		rest = trimMarks(strings.TrimLeft(after.text(), "])"))
	} else { // a row: the next cell that is not only a link
		for cell := range strings.SplitSeq(after.cells(), "\x00") {
			if rest = trimMarks(cell); rest != "" {
				break
			}
		}
	}
	if name == "" || slices.Contains(plainWords, strings.ToLower(name)) {
		lead := trimMarks(before.text())
		if cells := strings.Split(before.cells(), "\x00"); len(cells) > 1 {
			lead = trimMarks(cells[0])
		}
		switch head, tail, isNamed := cutDash(rest); {
		case lead != "" && utf8.RuneCountInString(lead) <= MaxName:
			name = lead
		case name == "" && isNamed && len(strings.Fields(head)) <= 5:
			name, rest = trimMarks(head), trimMarks(tail)
		}
	}
	return cleanText(name, MaxName), cleanText(rest, MaxText)
}

// cells returns the text of cells, separated by NUL, without bare links.
func (e entryText) cells() string {
	var b strings.Builder
	for _, p := range e {
		if p.cell {
			b.WriteByte(0)
		} else if !p.isLink && !p.isBare {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// cutDash splits a text at its first dash or colon.
func cutDash(s string) (head, tail string, ok bool) {
	for i, r := range s {
		if r == ':' || strings.ContainsRune("-–—", r) && i > 0 && s[i-1] == ' ' {
			return s[:i], s[i+utf8.RuneLen(r):], true
		}
	}
	return s, "", false
}

// trimMarks returns a text without the marks that separate it from a link.
func trimMarks(s string) string {
	return strings.TrimRight(strings.Trim(s, " \t*_`|:;,-–—"), " ([")
}

// listedURL returns the URL of a link in the form in which it is stored, without the marks of who links there, or the
// reason to skip it.
func listedURL(s string) (address, reason string) {
	s = strings.TrimSpace(s)
	if lower := strings.ToLower(s); !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") {
		if s == "" {
			return "", NoURL
		}
		return "", Relative
	}
	if address, reason = webURL(s); reason != "" {
		return "", reason
	}
	return listing.WithoutTracking(address), ""
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return CanonicalHost(u.Host)
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
