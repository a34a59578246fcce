package output

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"tollbook/output/archive"
	"tollbook/output/objects"

	"golang.org/x/sync/errgroup"
)

// expandedFile lists what is expanded in a store: the sha256 of each file's content, zero where it is not known which
// of two it is, because somebody may have been killed while he wrote or deleted it.
const expandedFile = "expanded.sums.gz"

// maxExpanded bounds what is read of that list, in bytes before and after unpacking.
const maxExpanded = 1 << 30

// writersAtOnce is how many small objects are on their way at a time: each waits for the store, not for us.
const writersAtOnce = 64

// expand brings the single objects of a store to a tree: only those that are others by the list that the store keeps.
// Where there is none, what may have been in it is found, but on a place that is new, or where nothing is wanted.
func (p *Publisher) expand(ctx context.Context, tree archive.Tree, isNew bool, r *Published) error {
	there, listed, err := p.readExpanded(ctx)
	if err != nil {
		return err
	}
	want, err := p.wanted(tree)
	if err != nil {
		return err
	}
	if !listed && len(want) > 0 && !isNew {
		if there, err = p.findExpanded(ctx, tree); err != nil {
			return err
		}
	}
	w := plan(there, want, p.o.Full)
	r.Written, r.Deleted, r.Unchanged = len(w.write), len(w.delete), len(want)-len(w.write)
	if len(w.write)+len(w.delete) == 0 {
		return nil
	}
	during := maps.Clone(there)
	for _, names := range [][]string{w.write, w.delete} {
		for _, name := range names {
			during[name] = archive.Sum{}
		}
	}
	if err := p.writeExpanded(ctx, during); err != nil {
		return err
	}
	// A crash from here on leaves objects of both snapshots, each whole, and a list that says of which it is not known.
	// The next run writes those again.

	if err := p.store.Delete(ctx, w.first); err != nil {
		return err
	}
	for phase := range slices.Values(p.phases(w.write)) {
		if err := p.writeObjects(ctx, tree, phase); err != nil {
			return err
		}
	}
	if err := p.store.Delete(ctx, w.delete); err != nil {
		return err
	}
	// A crash here leaves every object as it should be, and a list that does not know it: they are written once more.

	return p.writeExpanded(ctx, want)
}

// wanted are the files of a tree that are to be objects, with their sums.
func (p *Publisher) wanted(tree archive.Tree) (map[string]archive.Sum, error) {
	want := map[string]archive.Sum{}
	if p.o.Expand == nil {
		return want, nil
	}
	for _, name := range tree.Names() {
		if !p.o.Expand(name) {
			continue
		}
		if isOwn(name) {
			return nil, fmt.Errorf("expand %s: %w: the publication itself has that name", name, archive.ErrName)
		}
		m, _ := tree.Lookup(name)
		want[name] = m.Sum
	}
	return want, nil
}

// isOwn says whether a name is one of the publication itself, which no file may have.
func isOwn(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return name == archive.CheckpointFile || name == expandedFile || top == archive.SnapshotsDir ||
		top == archive.PacksDir || strings.HasPrefix(top, objects.TempPrefix)
}

// work is what an expansion does.
type work struct {
	first  []string // deleted before all: they stand where a folder must be, or are a folder where a file must be
	write  []string
	delete []string
}

func plan(there, want map[string]archive.Sum, full bool) (w work) {
	for name, sum := range want {
		if old, ok := there[name]; !ok || old != sum || full {
			w.write = append(w.write, name)
		}
	}
	folders := map[string]bool{} // of what is wanted
	for name := range want {
		for folder := range parents(name) {
			folders[folder] = true
		}
	}
	for name := range there {
		if _, ok := want[name]; ok {
			continue
		}
		inTheWay := folders[name]
		for folder := range parents(name) {
			_, isFile := want[folder]
			inTheWay = inTheWay || isFile
		}
		if inTheWay {
			w.first = append(w.first, name)
		}
		w.delete = append(w.delete, name)
	}
	slices.Sort(w.first)
	slices.Sort(w.write)
	slices.Sort(w.delete)
	return w
}

// parents are the folders that a file lies in, the innermost first.
func parents(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for end := strings.LastIndexByte(name, '/'); end > 0 && yield(name[:end]); {
			end = strings.LastIndexByte(name[:end], '/')
		}
	}
}

// phases orders what is written: details before the lists that lead to them, the sums last.
func (p *Publisher) phases(names []string) [][]string {
	by := map[int][]string{}
	for _, name := range names {
		phase := 0
		if p.o.Phase != nil {
			phase = p.o.Phase(name)
		}
		if name == archive.SumsFile {
			phase = 1 << 30
		}
		by[phase] = append(by[phase], name)
	}
	var out [][]string
	for _, phase := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[phase])
	}
	return out
}

// writeObjects writes some files of a tree, in any order.
func (p *Publisher) writeObjects(ctx context.Context, tree archive.Tree, names []string) error {
	for _, name := range names {
		m, _ := tree.Lookup(name)
		p.progress.expect(1, m.Size)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(writersAtOnce)
	for _, name := range names {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			m, _ := tree.Lookup(name)
			o := objects.PutOptions{Relaxed: true}
			if p.o.Header != nil {
				o.Header = p.o.Header(name)
			}
			body, encoding, err := p.objectBody(&m)
			if err != nil {
				return err
			}
			o.Encoding = encoding
			if _, err := p.store.Put(gctx, name, bytes.NewReader(body), o); err != nil {
				return err
			}
			p.progress.done(1, m.Size)
			return nil
		})
	}
	return g.Wait()
}

// objectBody returns the bytes of a file's object: packed where the store tells readers that they are packed.
func (p *Publisher) objectBody(m *archive.Member) (body []byte, encoding string, err error) {
	c, err := m.Load()
	if err != nil {
		return nil, "", err
	}
	if p.store.KeepsHeader() && c.Deflate != nil {
		return c.Gzip(), "gzip", nil
	}
	return c.Plain, "", nil
}

// readExpanded reads the list, empty where there is none: then it is not listed.
func (p *Publisher) readExpanded(ctx context.Context) (sums map[string]archive.Sum, listed bool, err error) {
	_, data, err := objects.ReadObject(ctx, p.store, expandedFile, objects.GetOptions{}, maxExpanded)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]archive.Sum{}, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	sums, err = parseExpanded(data)
	if err != nil {
		return nil, false, fmt.Errorf("%s in %s: %w", expandedFile, p.store, err)
	}
	return sums, true, nil
}

func parseExpanded(data []byte) (map[string]archive.Sum, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", archive.ErrDamaged, err)
	}
	sums := map[string]archive.Sum{}
	err = archive.EachSum(io.LimitReader(z, maxExpanded), func(name []byte, sum archive.Sum) error {
		sums[string(name)] = sum
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", archive.ErrDamaged, err)
	}
	return sums, nil
}

func (p *Publisher) writeExpanded(ctx context.Context, sums map[string]archive.Sum) error {
	lines := make([]archive.Line, 0, len(sums))
	for name, sum := range sums {
		lines = append(lines, archive.Line{Name: name, Sum: sum})
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(archive.FormatSums(lines)); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	_, err := p.store.Put(ctx, expandedFile, bytes.NewReader(b.Bytes()),
		objects.PutOptions{Header: objects.Header{Type: "application/gzip", Cache: "no-store"}})
	return err
}
