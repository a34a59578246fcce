package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// log cuts a page, counted from the newest row, out of at most two blocks.
func (h *handler) log(snap *output.Snapshot, q routes.Query) (cutResponse, error) {
	index, err := h.logIndex(snap, q.LogKey())
	if err != nil {
		return cutResponse{}, err
	}
	rows, err := h.newestRows(snap, q, site.LogSpans(*index, int64(q.Int("limit")), int64(q.Int("offset"))))
	if err != nil {
		return cutResponse{}, err
	}
	total := index.Total()
	return newPage(q.Route.Framing, rows, site.TotalMeta{Total: total}, int(total))
}

// changes cuts a page of change records out of at most two blocks. The window of days ends on the day of the snapshot.
// listed is whether v1/index.json lists a log of q's scope: a service without records, or an unknown one, has none.
func (h *handler) changes(snap *output.Snapshot, q routes.Query, built time.Time, listed bool,
	unknown []site.UnknownValue) (cutResponse, error) {
	index := &site.LogIndex{}
	if listed {
		var err error
		if index, err = h.logIndex(snap, q.Scope().LogKey()); err != nil {
			return cutResponse{}, err
		}
	}
	window, meta := routes.ChangeWindow(*index, q, built)
	meta.UnknownValues = unknown
	rows, err := h.newestRows(snap, q, routes.ChangeSpans(window, q))
	if err != nil {
		return cutResponse{}, err
	}
	return newPage(q.Route.Framing, rows, meta, meta.Total)
}

// newestRows reads the rows of spans of q's log, newest first.
func (h *handler) newestRows(snap *output.Snapshot, q routes.Query, spans []site.BlockSpan) ([][]byte, error) {
	var rows [][]byte
	for _, s := range spans {
		key := q.BlockKey(s.Block)
		of, err := h.block(snap, key, s.Pack)
		if err != nil {
			return nil, err
		}
		end := of.first + int64(len(of.rows))
		if s.From < of.first || s.To > end {
			return nil, fmt.Errorf("block %s: %w: it has rows %d to %d; according to the index it must have %d to %d",
				key, archive.ErrDamaged, of.first, end, s.From, s.To)
		}
		rows = append(rows, of.rows[end-s.To:end-s.From]...)
	}
	return rows, nil
}

// logIndex reads the index of a log. Every service has its logs, even empty ones.
func (h *handler) logIndex(snap *output.Snapshot, key string) (*site.LogIndex, error) {
	index, err := readJSON[site.LogIndex](h, snap, key)
	if err == nil && (index.First < 0 || index.Next < index.First) {
		err = fmt.Errorf("log %s: %w: rows %d to %d", key, archive.ErrDamaged, index.First, index.Next)
	}
	return index, err
}

// block reads a block of a log from an hour's pack, or from the snapshot if hour is "".
func (h *handler) block(snap *output.Snapshot, key, hour string) (*fileRows, error) {
	if hour == "" {
		return readCachedFile(h, snap, key, "block", parseBlock)
	}
	at := cacheKey{snapshot: snap.PackVersion(hour), name: key}
	return getCached(h.cache, at, (*fileRows).size, func() (*fileRows, error) {
		data, err := snap.ReadPack(hour, key)
		if err != nil {
			return nil, err
		}
		rows, err := parseBlock(data)
		if err != nil {
			err = fmt.Errorf("block %s of %s: %w: %w", key, hour, archive.ErrDamaged, err)
		}
		return rows, err
	})
}

// parseBlock returns the rows of a block, newest first, and the number of the oldest.
func parseBlock(data []byte) (*fileRows, error) {
	rows, meta, err := encode.Framing{}.Split(data)
	var m site.BlockMeta
	if err == nil {
		err = json.Unmarshal(meta, &m)
	}
	if err == nil && m.First < 0 {
		err = errors.New("the number of its first row is negative")
	}
	slices.Reverse(rows)
	return &fileRows{rows: rows, first: m.First, bytes: len(data)}, err
}

// lookup returns the response to a look-up: the row of its shard that starts with its hash.
func (h *handler) lookup(snap *output.Snapshot, index *routes.Index, q routes.Query) (cutResponse, error) {
	shards, err := readJSON[routes.LookupIndex](h, snap, routes.LookupFile)
	if err != nil {
		return cutResponse{}, err
	}
	key, digits, hash := q.LookupShard()
	n, ok := shards.Shards(q.Route)[digits]
	if !ok {
		return cutResponse{}, site.ErrNotFound
	}
	of, err := readCachedFile(h, snap, key, "lookup", func(data []byte) (*fileRows, error) {
		rows, _, err := encode.Framing{}.Split(data)
		return &fileRows{rows: rows, bytes: len(data)}, err
	})
	if err != nil {
		return cutResponse{}, err
	}
	if len(of.rows) != n {
		return cutResponse{}, fmt.Errorf("file %s: %w: it has %d rows; according to %s it must have %d",
			key, archive.ErrDamaged, len(of.rows), routes.LookupFile, n)
	}
	i, ok := slices.BinarySearchFunc(of.rows, hash, func(row []byte, hash string) int {
		return strings.Compare(routes.LookupHash(row), hash)
	})
	if !ok {
		return cutResponse{}, site.ErrNotFound
	}
	response := routes.LookupResponse(of.rows[i])
	if q.Has("include", site.IncludeAssessment) {
		if response, err = h.addAssessments(snap, index, response); err != nil {
			return cutResponse{}, fmt.Errorf("file %s: add assessments to %s: %w", key, hash, err)
		}
	}
	return cutResponse{data: response}, nil
}

// addAssessments returns a look-up's response with the assessments of its services: of the service of a URL, or of each
// service that is paid at a recipient. Nothing else is decoded and encoded again.
func (h *handler) addAssessments(snap *output.Snapshot, index *routes.Index, response []byte) ([]byte, error) {
	var of struct {
		Data struct {
			Service  json.RawMessage
			Services []json.RawMessage
		}
	}
	if err := json.Unmarshal(response, &of); err != nil {
		return nil, err
	}
	if of.Data.Services == nil {
		const end = "}}\n"
		assessment, err := h.assessment(snap, index, of.Data.Service)
		return slices.Concat(bytes.TrimSuffix(response, []byte(end)), assessment, []byte(end)), err
	}
	head, rest, _ := bytes.Cut(response, beforeServices) // quotes in strings are escaped
	tail := rest[bytes.LastIndex(rest, afterServices):]
	rows := make([][]byte, len(of.Data.Services))
	for i, row := range of.Data.Services {
		assessment, err := h.assessment(snap, index, row)
		if err != nil {
			return nil, err
		}
		rows[i] = slices.Concat(row[:len(row)-1], assessment, []byte{'}'})
	}
	return slices.Concat(head, beforeServices, bytes.Join(rows, []byte{','}), tail), nil
}

var (
	beforeServices = []byte(`"services":[`)
	afterServices  = []byte(`],"clipped":`)
)

// assessment returns the member of a look-up's response with the assessment of a service.
func (h *handler) assessment(snap *output.Snapshot, index *routes.Index, service []byte) ([]byte, error) {
	var of site.LookupService
	if err := json.Unmarshal(service, &of); err != nil {
		return nil, err
	}
	place, ok := slices.BinarySearch(index.Slugs, of.Slug)
	if !ok {
		return nil, fmt.Errorf("%w: %s does not list %s", archive.ErrDamaged, routes.IndexFile, of.Slug)
	}
	rows, err := h.serviceRows(snap, index, []int32{int32(place)})
	if err != nil {
		return nil, err
	}
	return append([]byte(`,"assessment":`), rows[0].Assessment...), nil
}

// jsonFile is a parsed JSON file of a snapshot.
type jsonFile[T any] struct {
	value T
	bytes int // size of the file
}

func (f *jsonFile[T]) size() int { return 3 * f.bytes }

// readJSON returns a JSON file that every snapshot must have, parsed once.
func readJSON[T any](h *handler, snap *output.Snapshot, key string) (*T, error) {
	f, err := readCachedFile(h, snap, key, "parsed", func(data []byte) (*jsonFile[T], error) {
		f := &jsonFile[T]{bytes: len(data)}
		return f, json.Unmarshal(data, &f.value)
	})
	if err != nil {
		return nil, err
	}
	return &f.value, nil
}

// isListedShard reports whether the snapshot must have a file because an index lists it as a shard.
func (h *handler) isListedShard(snap *output.Snapshot, key string) (bool, error) {
	switch {
	case key == site.TermsFile || key == site.VocabularyFile || strings.HasPrefix(key, "v1/terms/"):
		index, err := readJSON[site.One[site.TermIndex]](h, snap, site.TermsFile)
		return err == nil && (key == site.VocabularyFile || routes.HasTermShardKey(&index.Data, key)), err
	case key == routes.LookupFile || strings.HasPrefix(key, "v1/lookup/"):
		index, err := readJSON[routes.LookupIndex](h, snap, routes.LookupFile)
		return err == nil && index.HasShardKey(key), err
	}
	return false, nil
}

// scan returns a page of the services that columns select and order.
func (h *handler) scan(snap *output.Snapshot, index *routes.Index, q routes.Query) (cutResponse, error) {
	read := h.columnReader(snap, index)
	places, err := search.Select(q, len(index.Slugs), read)
	if err != nil {
		return cutResponse{}, err
	}
	offset, limit := q.Window()
	from, to := min(offset, len(places)), min(offset+limit, len(places))
	if q.Route.Name == "allow" { // by slug, as places are
		lines, err := h.allowed(snap, index, places[from:to])
		if err != nil {
			return cutResponse{}, err
		}
		return newPage(q.Route.Framing, lines, routes.WindowMeta(q, len(places)), len(places))
	}
	if err := search.Sort(places, site.OrderByName(q.Text("sort")), q, read); err != nil {
		return cutResponse{}, err
	}
	rows, err := h.serviceRows(snap, index, places[from:to])
	if err != nil {
		return cutResponse{}, err
	}
	lines := make([][]byte, len(rows))
	for i, row := range rows {
		lines[i] = row.Line(q.Has("include", site.IncludeAssessment))
	}
	return newPage(q.Route.Framing, lines, routes.WindowMeta(q, len(places)), len(places))
}

// allowed returns the rows of the allow-list for the services at some places.
func (h *handler) allowed(snap *output.Snapshot, index *routes.Index, places []int32) ([][]byte, error) {
	lines := make([][]byte, len(places))
	for i, place := range places {
		number := int(place) / site.RowsPerBlock
		block, err := h.rowBlock(snap, index, routes.AllowKey(number), number)
		if err != nil {
			return nil, err
		}
		lines[i] = block.rows[int(place)%site.RowsPerBlock]
	}
	return lines, nil
}

// columnReader returns the function that reads the columns of a snapshot. A missing column is an error, and so is one
// of another length. A snapshot of an older version lacks the column of services that are gone; none is gone in it.
func (h *handler) columnReader(snap *output.Snapshot, index *routes.Index) search.ColumnReader {
	n := len(index.Slugs)
	return func(name string) (*search.Column, error) {
		c, err := h.readColumn(snap, name, n)
		if name == site.ColumnGone && errors.Is(err, errMissing) {
			return search.ParseColumn(name, slices.Concat([]byte(`{"data":[`),
				bytes.Trim(bytes.Repeat([]byte("null,"), n), ","), []byte("]}")), n)
		}
		if err == nil && c.Len() != n {
			err = fmt.Errorf("file %s: %w: it has %d values; according to %s it must have %d",
				routes.ColumnKey(name), archive.ErrDamaged, c.Len(), routes.IndexFile, n)
		}
		return c, err
	}
}

// serviceRows returns the rows of the services at some places.
func (h *handler) serviceRows(snap *output.Snapshot, index *routes.Index, places []int32) ([]site.RowParts, error) {
	rows := make([]site.RowParts, len(places))
	for i, place := range places {
		number := int(place) / site.RowsPerBlock
		block, err := h.rowBlock(snap, index, routes.RowsKey(number), number)
		if err != nil {
			return nil, err
		}
		var ok bool
		if rows[i], ok = site.SplitRow(block.rows[int(place)%site.RowsPerBlock]); !ok {
			return nil, fmt.Errorf("file %s: %w: no row of %s", routes.RowsKey(number), archive.ErrDamaged,
				index.Slugs[place])
		}
	}
	return rows, nil
}

// rowBlock reads a block of rows, which must be those of the slugs at its places. number is that of the block.
func (h *handler) rowBlock(snap *output.Snapshot, index *routes.Index, key string, number int) (*fileRows, error) {
	block, err := readCachedFile(h, snap, key, "rows", func(data []byte) (*fileRows, error) {
		rows, _, err := encode.Framing{}.Split(data)
		return &fileRows{rows: rows, bytes: len(data)}, err
	})
	if err != nil {
		return nil, err
	}
	slugs := index.Slugs[number*site.RowsPerBlock:]
	slugs = slugs[:min(len(slugs), site.RowsPerBlock)]
	if len(block.rows) != len(slugs) {
		return nil, fmt.Errorf("file %s: %w: it has %d rows; according to %s it must have %d", key, archive.ErrDamaged,
			len(block.rows), routes.IndexFile, len(slugs))
	}
	for i, row := range block.rows {
		if !bytes.HasPrefix(row, []byte(`{"slug":"`+slugs[i]+`"`)) {
			return nil, fmt.Errorf("file %s: %w: row %d is not that of %s", key, archive.ErrDamaged, i, slugs[i])
		}
	}
	return block, nil
}

// series is a complete series by UTC day.
type series struct {
	points [][]byte // oldest first; each is a site.IsPoint
	caveat []byte
	bytes  int // size of the file
}

func (s *series) size() int { return s.bytes + 24*len(s.points) }

// trim returns the points of q's period, which ends on the day of the snapshot.
func (h *handler) trim(snap *output.Snapshot, q routes.Query, built time.Time) (cutResponse, error) {
	whole := q.Untrimmed()
	s, err := readCachedFile(h, snap, whole.Key(), "series", func(data []byte) (*series, error) {
		points, caveat, err := whole.Route.Framing.Split(data)
		for _, p := range points {
			if err == nil && !site.IsPoint(p) {
				err = errors.New("a point without a date")
			}
		}
		return &series{points, caveat, len(data)}, err
	})
	if err != nil {
		return cutResponse{}, err
	}
	points := site.PointsSince(s.points, site.PeriodStart(q.Text("period"), built))
	return cutResponse{data: q.Route.Framing.List(points, s.caveat)}, nil
}

// trimmedMember is the member of a row that the parameter days shortens.
const trimmedMember = `"timeseries":[`

// trimParam returns the parameter that selects a part of each row, or nil if q selects whole rows.
func trimParam(q routes.Query) *routes.Param {
	if !q.NeedsTrim() {
		return nil
	}
	for i := range q.Route.Params {
		if p := &q.Route.Params[i]; p.Trim && p.Kind == routes.KindInteger {
			return p
		}
	}
	return nil
}

// trimKey returns a cache key that differs for each value of a trimmed parameter.
func trimKey(q routes.Query, key string) string {
	if !q.NeedsTrim() {
		return key
	}
	for i := range q.Route.Params {
		if p := &q.Route.Params[i]; p.Trim {
			key += "?" + p.Name + "=" + q.Text(p.Name)
		}
	}
	return key
}

// trimRows returns copies of rows with only the newest part of each series, as q selects. It does not change rows,
// which the cache shares.
func trimRows(q routes.Query, rows [][]byte) ([][]byte, error) {
	p := trimParam(q)
	if p == nil {
		return rows, nil
	}
	out := make([][]byte, len(rows))
	for i, row := range rows {
		var err error
		if out[i], err = trimRow(row, q.Int(p.Name)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// trimRow returns the row with only the last n elements of its series. In compact JSON the bytes of trimmedMember occur
// nowhere else, because quotes inside strings are escaped.
func trimRow(row []byte, n int) ([]byte, error) {
	at := bytes.Index(row, []byte(trimmedMember))
	if at < 0 {
		return row, nil
	}
	at += len(trimmedMember)
	starts, end := findElements(row[at:])
	if end < 0 {
		return nil, fmt.Errorf("%w: the series is not closed in %.80s", archive.ErrDamaged, row)
	}
	if len(starts) <= n {
		return row, nil
	}
	from := end // none
	if n > 0 {
		from = starts[len(starts)-n]
	}
	out := make([]byte, 0, len(row)-from)
	return append(append(out, row[:at]...), row[at+from:]...), nil
}

// findElements returns the start of each element of an array and the position of its closing bracket, or -1. b starts
// after the opening bracket.
func findElements(b []byte) (starts []int, end int) {
	depth, text := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case text:
			if c == '\\' {
				i++
			}
			text = c != '"'
		case depth == 0 && c == ']':
			return starts, i
		case c == '"', c == '{', c == '[':
			if depth == 0 && (i == 0 || b[i-1] == ',') {
				starts = append(starts, i)
			}
			text = c == '"'
			if !text {
				depth++
			}
		case c == '}' || c == ']':
			depth--
		case depth == 0 && c != ',' && (i == 0 || b[i-1] == ','):
			starts = append(starts, i) // a number, true, false or null
		}
	}
	return nil, -1
}

// best returns the recommendations for a request, as search.FindBest does.
func (h *handler) best(snap *output.Snapshot, q routes.Query, index *routes.Index, built time.Time) (cutResponse,
	error) {
	list, meta, err := search.FindBest(q, search.BestSource{
		Now: built, Slugs: index.Slugs, Column: h.columnReader(snap, index),
		Search: func(text string) (*search.Result, error) { return h.findText(snap, index, text) },
		Row:    func(place int32) (*site.ServiceRow, error) { return h.readRow(snap, index, int(place)) },
	})
	if err != nil {
		return cutResponse{}, err
	}
	meta.UnknownValues = index.UnknownValues(q)
	b, err := encode.AppendFramed(nil, q.Route.Framing, list, meta)
	if err != nil {
		return cutResponse{}, err
	}
	return cutResponse{data: b}, nil
}

// readColumn returns a column of n services.
func (h *handler) readColumn(snap *output.Snapshot, name string, n int) (*search.Column, error) {
	f, err := readCachedFile(h, snap, routes.ColumnKey(name), "column "+name, func(data []byte) (cachedColumn, error) {
		c, err := search.ParseColumn(name, data, n)
		return cachedColumn{c}, err
	})
	return f.Column, err
}

// readRow returns the row of the service at a place.
func (h *handler) readRow(snap *output.Snapshot, index *routes.Index, place int) (*site.ServiceRow, error) {
	block, err := h.rowBlock(snap, index, routes.RowsKey(place/site.RowsPerBlock), place/site.RowsPerBlock)
	if err != nil {
		return nil, err
	}
	row := &site.ServiceRow{}
	if err := json.Unmarshal(block.rows[place%site.RowsPerBlock], row); err != nil {
		return nil, fmt.Errorf("read row of %s: %w: %w", index.Slugs[place], archive.ErrDamaged, err)
	}
	return row, nil
}
