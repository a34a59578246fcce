package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"tollbook/output"
	"tollbook/site"
)

// Pages of a list differ in two numbers. What is the same of all is learnt from the first that somebody asks for, by the
// address without the two (turn.go): after that a page is cut and sent by its connection itself, as what is known is, without
// reading its parameters, naming its files or looking them up. TestPaging holds the two to the same answers.

// paging is what the pages of a list in one order have in common.
type paging struct {
	origin *origin
	query  site.Query // of one of them
	counts *routeMetrics
	api    bool // held to the rate of clients

	total       int
	log         *site.LogIndex // that rows are counted in, newest first; nil for a list in files of as many rows as a page may have
	size, place *site.Param
	otherwise   turn      // what the numbers are that an address does not have
	head        []byte    // of the content
	tail        [2][]byte // around the numbers that its meta tells
	link        [3]string // around the numbers of the next page
	sizeInLink  bool      // else its place alone

	files []atomic.Pointer[entry] // of *packedRows, those that were used
}

// part is what a body that was cut tells of its list.
type part struct {
	head, tail []byte
	total      int
	log        *site.LogIndex // where it is of one
}

// maxPagingFiles is of how many files a paging knows where the cache has them; others it looks up.
const maxPagingFiles = 1 << 12

// learn keeps what the pages of a list have in common with one that was cut, if their addresses are plain.
func (h *handler) learn(r *http.Request, v *view, q site.Query, of *part, link []string) {
	var t turn
	if q.Snapshot != "" || of.total == 0 || r.URL.RawPath != "" || !t.read([]byte(r.URL.Path), []byte(r.URL.RawQuery)) || len(t.list) > maxAddress {
		return
	}
	at := cacheKey{snapshot: v.name[0], name: "paging", address: address{query: string(t.list)}}
	if e, ok := h.cache.entry(at); ok { // another list took its place
		h.pagings.put(t.list, e)
		return
	}
	p := &paging{origin: v.origin, query: q, counts: h.metrics.of(q.Route.Name), api: isAPI(r.URL.Path), total: of.total, log: of.log, head: of.head}
	if !p.name(&t) || !p.surround(&t, of.tail) || !p.linkTo(&t, r.URL.Path, link) {
		return
	}
	p.files = make([]atomic.Pointer[entry], min(maxPagingFiles, p.total/site.MaxPageSize+2))
	h.cache.put(at, p, p.bytes()+entryBytes)
	if e, ok := h.cache.entry(at); ok {
		h.pagings.put(t.list, e)
	}
}

// bytes is what it takes in memory, about.
func (p *paging) bytes() int {
	n := 1000 + len(p.head) + len(p.tail[0]) + len(p.tail[1]) + 8*len(p.files)
	if p.log != nil {
		n += 48 * len(p.log.Packs)
	}
	return n + 3*maxAddress
}

// name finds the parameters that the numbers are of. It is false where the route has others.
func (p *paging) name(t *turn) bool {
	size, place := "per_page", "page"
	if p.query.Route.Param("offset") != nil {
		size, place = "limit", "offset"
	}
	p.size, p.place = p.query.Route.Param(size), p.query.Route.Param(place)
	if p.size == nil || p.place == nil {
		return false
	}
	p.otherwise.size, p.otherwise.place = given{size, p.query.Int(size)}, given{place, p.query.Int(place)}
	return (t.size == given{} || t.size == p.otherwise.size) && (t.place == given{} || t.place == p.otherwise.place)
}

// turned is how many rows a page has, and how many lie before them; false for what it can't be asked for.
func (p *paging) turned(t *turn) (offset, limit int, ok bool) {
	size, place := t.size, t.place
	if size == (given{}) {
		size = p.otherwise.size
	}
	if place == (given{}) {
		place = p.otherwise.place
	}
	if size.value < p.size.Min || size.value > p.size.Max || place.value < p.place.Min || place.value > p.place.Max {
		return 0, 0, false
	}
	if p.byOffset() {
		return place.value, size.value, true
	}
	return (place.value - 1) * size.value, size.value, true
}

func (p *paging) byOffset() bool { return p.place.Name == "offset" }

// surround finds the numbers of a page in its tail. It is false where they are not there as we write them.
func (p *paging) surround(t *turn, tail []byte) bool {
	offset, limit, ok := p.turned(t)
	numbers := p.appendNumbers(nil, offset, limit)
	at := bytes.Index(tail, numbers)
	if !ok || at < 0 {
		return false
	}
	p.tail = [2][]byte{tail[:at], tail[at+len(numbers):]}
	return true
}

// appendNumbers appends what the meta of a page begins with that is another for each.
func (p *paging) appendNumbers(to []byte, offset, limit int) []byte {
	add := func(name string, n int) { to = strconv.AppendInt(append(to, name...), int64(n), 10) }
	switch {
	case !p.byOffset():
		m := site.NewPaginationMeta(p.total, offset/limit+1, limit)
		add(`{"total":`, m.Total)
		add(`,"page":`, m.Page)
		add(`,"per_page":`, m.PerPage)
		add(`,"total_pages":`, m.TotalPages)
	case p.log == nil:
		add(`{"limit":`, limit)
		add(`,"offset":`, offset)
		add(`,"total":`, p.total)
	}
	return to
}

// Where the numbers of the next page stand in the header that names it: no value of a parameter has a NUL.
const (
	sizeMark  = "\x00"
	placeMark = "\x00\x00"
)

// linkTo learns how the next page is named, by the link that one has. It is false where that one is another.
func (p *paging) linkTo(t *turn, path string, link []string) bool {
	next := p.query.With(p.place.Name, placeMark)
	if p.sizeInLink = t.size != (given{}); p.sizeInLink {
		next = next.With(p.size.Name, sizeMark)
	}
	next.Snapshot = p.origin.name[0]
	before, after, ok := strings.Cut(linkField(linkHeader(path, next)), "%00%00")
	if p.link = [3]string{"", before, after}; ok && p.sizeInLink {
		p.link[0], p.link[1], ok = strings.Cut(before, "%00")
	}
	want := ""
	for _, l := range link {
		want += linkField(l)
	}
	offset, limit, _ := p.turned(t)
	return ok && string(p.appendLink(nil, offset, limit)) == want
}

func linkField(link string) string { return string(appendField(nil, "Link", link)) }

// appendLink appends the field that names the next page, nothing where there is none.
func (p *paging) appendLink(to []byte, offset, limit int) []byte {
	next := offset + limit
	if next >= p.total {
		return to
	}
	if !p.byOffset() {
		next = next/limit + 1
	}
	if next > p.place.Max {
		return to
	}
	if p.sizeInLink {
		to = strconv.AppendInt(append(to, p.link[0]...), int64(limit), 10)
	}
	to = strconv.AppendInt(append(to, p.link[1]...), int64(next), 10)
	return append(to, p.link[2]...)
}

// findPaging is what is known of the pages of the list that an address names one of.
func (h *handler) findPaging(r *plain, t *turn, id string) (*paging, bool) {
	if len(r.query) == 0 || !t.read(r.path, r.query) {
		return nil, false
	}
	return h.pagings.find(id, t.list)
}

// snapshot implements remembered.
func (p *paging) snapshot() string { return p.origin.name[0] }

// turn answers a request for a page. It is false, and nothing was sent, where ServeHTTP has to.
func (h *handler) turn(a *directAnswer, r *plain, t *turn, p *paging, began time.Time) bool {
	offset, limit, ok := p.turned(t)
	if !ok || p.log == nil && (limit == site.PageSize || limit == site.MaxPageSize) { // which are files
		return false
	}
	c := &a.cutting
	c.head, c.tail = p.head, append(p.appendNumbers(append(c.tail[:0], p.tail[0]...), offset, limit), p.tail[1]...)
	if c.spans, ok = h.spansOf(c.spans[:0], p, offset, limit); !ok {
		return false
	}
	size := c.length()
	if size > atOnce || size > gzipAbove && !c.packs() {
		return false
	}
	gzipped := size > gzipAbove && r.acceptsGzip(a.conn)
	if gzipped {
		size = c.packedLength()
	}
	now := began
	if !h.steady {
		now = h.now()
	}
	a.summed = c.appendSummed(a.summed[:0])
	a.tag = appendTag(a.tag[:0], sha256.Sum256(a.summed), gzipped)
	a.code = http.StatusOK
	if r.has(heardIfNoneMatch) || r.has(heardIfModifiedSince) {
		if r.notModified(string(a.tag), p.origin.built) {
			a.code = http.StatusNotModified
		}
	}
	a.out = p.origin.appendOrigin(a.out[:0], a.code)
	a.out = p.origin.appendValidators(p.appendLink(a.out, offset, limit), a.tag)
	if a.code == http.StatusOK {
		a.out = appendContent(a.out, site.TypeJSON, gzipped, size)
	}
	if !h.appendEnd(a, r, p.origin, p.api, false, now, began) {
		return false
	}
	switch {
	case a.code != http.StatusOK:
	case gzipped:
		a.out = c.appendPacked(a.out)
	default:
		a.out = c.appendPlain(a.out)
	}
	a.put(a.out)
	p.counts.count(a.code, time.Since(began))
	return true
}

// appendTag appends the strong validator of one form of what has this sum.
func appendTag(to []byte, sum output.Sum, gzipped bool) []byte {
	to = hex.AppendEncode(append(to, '"'), sum[:tagBytes])
	if gzipped {
		to = append(to, "-gz"...)
	}
	return append(to, '"')
}

// spansOf appends the rows of a page. It is false where they are not there, which others tell about.
func (h *handler) spansOf(to []span, p *paging, offset, limit int) ([]span, bool) {
	if p.log != nil {
		newest := (p.log.Next - 1) / site.BlockSize
		for _, s := range site.LogSpans(*p.log, int64(limit), int64(offset)) {
			of := h.fileOf(p, int(newest-s.Block), s.Pack, s.Block)
			if of == nil {
				return to, false
			}
			end := of.first + int64(len(of.rows))
			if s.From < of.first || s.To > end {
				return to, false
			}
			to = append(to, span{of, int(end - s.To), int(end - s.From)})
		}
		return to, true
	}
	for at, end := offset, min(offset+limit, p.total); at < end; {
		file := at / site.MaxPageSize
		s := span{h.fileOf(p, file, "", 0), at % site.MaxPageSize, min(site.MaxPageSize, end-file*site.MaxPageSize)}
		if s.of == nil || s.to > len(s.of.rows) {
			return to, false
		}
		to, at = append(to, s), at+s.to-s.from
	}
	return to, true
}

// fileOf is a file of a list, or a block of a log, nil where it can't be read.
func (h *handler) fileOf(p *paging, i int, pack string, block int64) *packedRows {
	if i < len(p.files) {
		if e := p.files[i].Load(); e != nil {
			if of, ok := e.use(); ok {
				return of.(*packedRows)
			}
		}
	}
	snap, err := h.source.Current()
	if err != nil {
		return nil
	}
	defer snap.Release()
	if snap.ID != p.snapshot() {
		return nil
	}
	var of *packedRows
	if p.log != nil {
		of, err = h.block(snap, p.query.BlockKey(block), pack)
	} else {
		of, err = h.rows(snap, p.query.Hundred(i).Key(), p.query.Route.Framing)
	}
	if err != nil {
		return nil
	}
	if e, ok := h.cache.entry(of.kept); ok && i < len(p.files) {
		p.files[i].Store(e)
	}
	return of
}
