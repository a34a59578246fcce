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

// expandedFile lists the expanded objects of a store with the SHA-256 of each file's content. A zero sum means that the
// object may have either of two contents, because a publisher may have been killed while it wrote or deleted the
// object.
const expandedFile = "expanded.sums.gz"

// maxExpanded limits the size of that list, in bytes before and after unpacking.
const maxExpanded = 1 << 30

// writersAtOnce is the number of concurrent Puts of small objects. They wait for the store, not for the processor.
const writersAtOnce = 64

// expand makes the single objects of a store equal to a tree. It writes only those that differ by the store's own list.
// If the list is missing, expand searches the store for what may have been expanded, unless the store is new or no
// object is wanted.
func (p *Publisher) expand(ctx context.Context, tree archive.Tree, isNew bool, r *Published) error {
	there, listed, err := p.readExpanded(ctx)
	if err != nil {
		return err
	}
	want, err := wantedSums(tree, p.o.Expand)
	if err != nil {
		return err
	}
	if !listed && len(want) > 0 && !isNew {
		if there, err = p.findExpanded(ctx, tree); err != nil {
			return err
		}
	}
	if p.o.AllBelow > 0 {
		if want, err = p.chooseExpansion(tree, there, r); err != nil {
			return err
		}
	}
	w := planExpansion(there, want, p.o.Full)
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
	// A crash from here on leaves objects of both snapshots, each complete, and a list of those that may have either
	// content. The next run writes those again.

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
	// A crash here leaves every object correct and an old list; the next run writes the objects once more.

	return p.writeExpanded(ctx, want)
}

// wantedSums returns the files of a tree that become objects, with their sums.
func wantedSums(tree archive.Tree, expand func(string) bool) (map[string]archive.Sum, error) {
	want := map[string]archive.Sum{}
	if expand == nil {
		return want, nil
	}
	for _, name := range tree.Names() {
		if !expand(name) {
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

// isOwn reports whether a name belongs to the publication itself, so that no file may have it.
func isOwn(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	_, _, isDay := archive.ParseDataDay(name)
	return isDay || name == archive.CheckpointFile || name == expandedFile || top == archive.SnapshotsDir ||
		top == archive.PacksDir || strings.HasPrefix(top, objects.TempPrefix)
}

// expansionPlan lists the objects that an expansion deletes and writes.
type expansionPlan struct {
	// Deleted before writing: objects with the name of a wanted folder, or in a folder with the name of a wanted file.
	first  []string
	write  []string
	delete []string
}

func planExpansion(there, want map[string]archive.Sum, full bool) (w expansionPlan) {
	for name, sum := range want {
		if old, ok := there[name]; !ok || old != sum || full {
			w.write = append(w.write, name)
		}
	}
	folders := map[string]bool{} // folders of wanted files
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

// parents returns the folders that contain a file, the innermost first.
func parents(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for end := strings.LastIndexByte(name, '/'); end > 0 && yield(name[:end]); {
			end = strings.LastIndexByte(name[:end], '/')
		}
	}
}

// phases orders the objects to write: details before the lists that link to them, the sums last.
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
		p.progress.addTotal(1, m.Size)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(writersAtOnce)
	for _, name := range names {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			m, _ := tree.Lookup(name)
			o := objects.PutOptions{NoSync: true}
			if p.o.Header != nil {
				o.Header = p.o.Header(name)
			}
			body, encoding, err := p.objectBody(&m)
			if err != nil {
				return err
			}
			o.Encoding = encoding
			if _, err := p.store.Put(gctx, name, body, o); err != nil {
				return err
			}
			p.progress.addDone(1, m.Size)
			return nil
		})
	}
	return g.Wait()
}

// objectBody returns the bytes of a file's object. They are compressed if the store keeps the header that says so. A
// member that the zip stores uncompressed may be large and is read in pieces.
func (p *Publisher) objectBody(m *archive.Member) (body objects.Body, encoding string, err error) {
	stored, _, ok, err := m.Stored()
	if err != nil {
		return nil, "", err
	}
	if ok {
		return stored, "", m.CopyTo(io.Discard) // checks the bytes
	}
	c, err := m.Load()
	if err != nil {
		return nil, "", err
	}
	if p.store.KeepsHeader() && c.Deflate != nil {
		return bytes.NewReader(c.Gzip()), "gzip", nil
	}
	return bytes.NewReader(c.Plain), "", nil
}

// readExpanded reads the list of expanded objects; listed is false if the store has none.
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
