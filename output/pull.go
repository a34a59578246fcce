// This part of the package copies the tables of a published directory into a folder. It fetches only what the folder
// lacks, continues an interrupted fetch, and compares each file with the sums of the snapshot. A file is replaced
// after all files were fetched, so that an interrupted pull leaves the files of the last one.
//
// Everything from the place is hostile: names, sizes and bytes. It must never know a flag, a terminal, or what a table
// contains.

package output

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// PullOptions say what is copied.
type PullOptions struct {
	To       string             // the folder; it is created if necessary
	Tables   []string           // names of tables; none for all
	MayLack  []string           // those of them that a new directory does not have yet
	Formats  []string           // extensions without a dot, such as "parquet"; none for all
	Since    string             // the first day of tables by day ("2026-11-20"); "" for all
	Key      ed25519.PublicKey  // must have signed the checkpoint; nil for none
	Progress func(PullProgress) // called from several goroutines, one at a time; nil for none
	Logger   *slog.Logger       // logs each step; nil logs none
}

// PullProgress is how much of a pull is done.
type PullProgress struct {
	Files, TotalFiles int
	Bytes, TotalBytes int64
}

// PullResult describes what a pull did.
type PullResult struct {
	Snapshot  string `json:"snapshot"`
	Digest    string `json:"digest"`
	Signed    bool   `json:"signed"`    // by the key of the options
	Files     int    `json:"files"`     // that the folder has now, of those that the options choose
	Fetched   int    `json:"fetched"`   // that it lacked
	Bytes     int64  `json:"bytes"`     // of those, without what an interrupted pull had fetched
	Unchanged bool   `json:"unchanged"` // the folder had all files
}

// ErrOlder means that a place shows an older state than it has shown before. Its signature is valid all the same.
var ErrOlder = errors.New("the place shows an older state than before")

// ErrRoom means that the disk has too little free space for the files that the folder lacks.
var ErrRoom = errors.New("the disk has too little free space")

const (
	workDir   = ".pull" // of the folder: the lock, the state and unfinished files
	stateFile = workDir + "/state.json"
	pullLock  = workDir + "/lock"
	indexFile = "datapackage.json"

	fetchesAtOnce = 4
	fetchTries    = 6 // consecutive attempts without a new byte
	maxState      = 64 << 10
)

// state is what the last pull left in the folder.
type state struct {
	Generation int64  `json:"generation"` // of the newest checkpoint that the folder followed
	Digest     string `json:"digest"`     // of the snapshot that the index is of
	Index      string `json:"index"`      // SHA-256 of the index, in hexadecimal
}

// puller copies tables into one folder.
type puller struct {
	o        PullOptions
	store    objects.Store
	root     *os.Root // no name leads outside it, not even over a link
	state    state
	progress pullCounter
}

// Pull copies the tables of a place. The same call after an interruption fetches the rest.
func Pull(ctx context.Context, s objects.Store, o PullOptions) (r PullResult, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("pull data from %s: %w", s, err)
		}
	}()
	_, data, err := objects.ReadObject(ctx, s, archive.CheckpointFile, objects.GetOptions{}, archive.MaxCheckpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("nothing is published there: %w", err)
	}
	if err != nil {
		return r, err
	}
	c, err := archive.ParseCheckpoint(data)
	if err != nil {
		return r, err
	}
	if o.Key != nil {
		if err := c.VerifySignature(o.Key); err != nil {
			return r, err
		}
	}
	r = PullResult{Snapshot: c.Snapshot, Digest: c.Digest, Signed: o.Key != nil}
	if err := os.MkdirAll(o.To, 0o755); err != nil {
		return r, err
	}
	root, err := os.OpenRoot(o.To)
	if err != nil {
		return r, err
	}
	defer root.Close()
	if err := root.MkdirAll(workDir, 0o755); err != nil {
		return r, err
	}
	if info, err := root.Lstat(workDir); err != nil || !info.IsDir() {
		return r, errors.Join(err, fmt.Errorf("%s is no folder", filepath.Join(o.To, workDir)))
	}
	lock, err := lockDisk(filepath.Join(o.To, pullLock))
	if err != nil {
		return r, err
	}
	defer unlock(lock)
	p := &puller{o: o, store: s, root: root, progress: pullCounter{report: o.Progress}}
	p.readState()
	if c.Generation < p.state.Generation {
		return r, fmt.Errorf("%w: its checkpoint has generation %d, and %s has followed generation %d; ask again later, "+
			"or use another folder for another directory", ErrOlder, c.Generation, o.To, p.state.Generation)
	}
	return r, p.run(ctx, c, &r)
}

// run copies the tables of a snapshot.
func (p *puller) run(ctx context.Context, c archive.Checkpoint, r *PullResult) error {
	steps := NewSteps(p.o.Logger)
	if p.state.Digest == c.Digest {
		if sum, _, err := p.sumOf(indexFile); err == nil && sum.String() == p.state.Index {
			index, err := p.root.ReadFile(indexFile)
			if wanted, wrong := p.wanted(index); err == nil && wrong == nil && len(p.missing(wanted)) == 0 {
				r.Files, r.Unchanged = len(wanted), true
				return p.storeState(c)
			}
		}
	}
	zip, err := objects.OpenZip(objects.NewBlockCache(p.store, 0), archive.SnapshotName(c.Snapshot))
	if err != nil {
		return err
	}
	if zip.Digest() != c.Digest {
		return fmt.Errorf("snapshot %s: %w: its digest is %s, the checkpoint says %s", c.Snapshot, archive.ErrDamaged,
			zip.Digest(), c.Digest)
	}
	index, err := zip.ReadFile(archive.DataIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("snapshot %s has no tables: it was built by a Tollbook older than they are", c.Snapshot)
	}
	if err != nil {
		return err
	}
	wanted, err := p.wanted(index)
	if err != nil {
		return err
	}
	missing := p.missing(wanted)
	p.progress.TotalFiles = len(missing)
	for _, f := range missing {
		p.progress.TotalBytes += f.Bytes
	}
	if err := p.checkRoom(missing); err != nil {
		return err
	}
	r.Files, r.Fetched = len(wanted), len(missing)
	steps.Done(ctx, "list of tables read", "files", r.Files, "missing", r.Fetched)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(fetchesAtOnce)
	for _, f := range missing {
		g.Go(func() error { return p.fetch(gctx, zip, f) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	r.Bytes = p.progress.fetched
	steps.Done(ctx, "files fetched", "files", r.Fetched, "bytes", r.Bytes)
	// A crash before leaves unfinished files in workDir, which the next pull continues with.

	if err := p.place(missing); err != nil {
		return err
	}
	// A crash here leaves an index that names files of the last pull; the next pull finishes without fetching them.

	if err := p.finish(index, c); err != nil {
		return err
	}
	steps.Done(ctx, "files in place", "files", r.Files)
	return nil
}

// wanted returns the files of an index that the options choose.
func (p *puller) wanted(index []byte) ([]archive.DataFile, error) {
	members, days, err := archive.ParseDataIndex(index)
	if err != nil {
		return nil, err
	}
	tables := map[string]bool{}
	var wanted []archive.DataFile
	for _, f := range append(members, days...) {
		name := inFolder(f)
		if hasHiddenPart(name) {
			return nil, fmt.Errorf("%w: the index names %.80q", archive.ErrName, name)
		}
		table, _, _ := strings.Cut(strings.Split(name, "/")[0], ".")
		tables[table] = true
		_, day, isDay := archive.ParseDataDay(f.Name)
		switch {
		case len(p.o.Tables) > 0 && !slices.Contains(p.o.Tables, table):
		case len(p.o.Formats) > 0 && !slices.Contains(p.o.Formats, format(name)):
		case isDay && day < p.o.Since:
		default:
			wanted = append(wanted, f)
		}
	}
	for _, table := range p.o.Tables {
		if !tables[table] && !slices.Contains(p.o.MayLack, table) {
			return nil, fmt.Errorf("there is no table %.80q", table)
		}
	}
	return wanted, nil
}

// format returns the format of a file: its extension, without that of a compression.
func format(name string) string {
	return strings.TrimPrefix(path.Ext(strings.TrimSuffix(name, ".gz")), ".")
}

// inFolder returns the name of a file in the folder.
func inFolder(f archive.DataFile) string { return strings.TrimPrefix(f.Name, archive.DataDir+"/") }

// hasHiddenPart reports whether a part of a name begins with a dot, as the names of a pull's own files do.
func hasHiddenPart(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
}

// missing returns the files that the folder lacks. It reads every file: another program may have changed one and kept its
// time.
func (p *puller) missing(wanted []archive.DataFile) (missing []archive.DataFile) {
	for _, f := range wanted {
		if sum, size, err := p.sumOf(inFolder(f)); err != nil || size != f.Bytes || sum != f.Sum {
			missing = append(missing, f)
		}
	}
	return missing
}

// spareRoom is how much of the free space a pull leaves for its index and state, in bytes.
const spareRoom = 2 << 20

// checkRoom checks that the disk has enough free space for the bytes that are still to be fetched. The files of the
// last pull stay until the end, so nothing becomes free meanwhile.
func (p *puller) checkRoom(missing []archive.DataFile) error {
	_, free, err := Room(p.o.To)
	if err != nil {
		return nil // unknown on this system; a full disk stops the fetch
	}
	total := 0.0
	for _, f := range missing {
		total += float64(f.Bytes)
	}
	left := free - min(free, spareRoom)
	for _, f := range missing {
		need := uint64(f.Bytes)
		for _, name := range []string{doneName(f), partName(f)} {
			if info, err := p.root.Stat(name); err == nil {
				need -= min(need, uint64(info.Size()))
			}
		}
		if need > left {
			return fmt.Errorf("%w: %s has %.1f MB, and %d files of %.1f MB are to be fetched; choose fewer tables, "+
				"formats or days, or another folder", ErrRoom, p.o.To, float64(free)/1e6, len(missing), total/1e6)
		}
		left -= need
	}
	return nil
}

// place moves the fetched files to their names.
func (p *puller) place(fetched []archive.DataFile) error {
	for _, f := range fetched {
		name := inFolder(f)
		if err := p.root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := p.root.Rename(doneName(f), name); err != nil {
			return err
		}
	}
	return nil
}

// finish stores the index and the state, and removes unfinished files that nothing needs.
func (p *puller) finish(index []byte, c archive.Checkpoint) error {
	if err := p.replace(indexFile, index); err != nil {
		return err
	}
	p.state.Digest, p.state.Index = c.Digest, archive.Sum(sha256.Sum256(index)).String()
	if err := p.storeState(c); err != nil {
		return err
	}
	rest, err := fs.Glob(p.root.FS(), workDir+"/*")
	for _, name := range rest {
		if name != pullLock && name != stateFile {
			err = errors.Join(err, p.root.Remove(name))
		}
	}
	return err
}

// storeState stores that the folder followed a checkpoint.
func (p *puller) storeState(c archive.Checkpoint) error {
	p.state.Generation = c.Generation
	data, err := json.Marshal(p.state)
	if err != nil {
		return err
	}
	return p.replace(stateFile, data)
}

// replace replaces a file of the folder as a whole.
func (p *puller) replace(name string, data []byte) error {
	temp := workDir + "/new" + partExt
	f, err := p.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return p.root.Rename(temp, name)
}

// readState reads the state of the last pull. Without one, or with a damaged one, there was none.
func (p *puller) readState() {
	if info, err := p.root.Lstat(stateFile); err != nil || !info.Mode().IsRegular() {
		return // a pipe would hold us up
	}
	f, err := p.root.Open(stateFile)
	if err != nil {
		return
	}
	defer f.Close()
	if json.NewDecoder(io.LimitReader(f, maxState)).Decode(&p.state) != nil {
		p.state = state{}
	}
}

// partExt ends the names of files that are not fetched completely.
const partExt = ".part"

func partName(f archive.DataFile) string { return doneName(f) + partExt }

// doneName returns the name of a fetched file that has no place yet. It contains the sum of the file, so that no bytes
// of another version are continued.
func doneName(f archive.DataFile) string {
	own := sha256.Sum256([]byte(f.Name))
	return workDir + "/" + f.Sum.String() + "-" + hex.EncodeToString(own[:8])
}

// pullCounter counts the bytes of all fetches.
type pullCounter struct {
	mu sync.Mutex
	PullProgress
	fetched int64              // bytes that were sent now
	report  func(PullProgress) // nil for none
}

// add counts files that are complete, bytes of files, and how many of them were sent now.
func (c *pullCounter) add(files int, bytes, fetched int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Files, c.Bytes, c.fetched = c.Files+files, c.Bytes+bytes, c.fetched+fetched
	if c.report != nil {
		c.report(c.PullProgress)
	}
}

// fetch fetches a file into doneName. It continues with the bytes of an interrupted pull.
func (p *puller) fetch(ctx context.Context, zip *archive.ZipFile, f archive.DataFile) error {
	open, err := p.opener(ctx, zip, f)
	if err != nil {
		return err
	}
	if sum, size, err := p.sumOf(doneName(f)); err == nil && sum == f.Sum && size == f.Bytes {
		p.progress.add(1, size, 0)
		return nil
	}
	for range 2 { // a second time from the beginning, if the bytes of an interrupted pull are damaged
		continued, err := p.fetchPart(ctx, open, f)
		if err != nil {
			return fmt.Errorf("fetch %s: %w", f.Name, err)
		}
		sum, size, err := p.sumOf(partName(f))
		if err != nil {
			return err
		}
		if sum == f.Sum && size == f.Bytes {
			p.progress.add(1, 0, 0)
			return p.root.Rename(partName(f), doneName(f))
		}
		p.progress.add(0, -size, 0)
		if err := p.root.Remove(partName(f)); err != nil {
			return err
		}
		if !continued {
			break
		}
	}
	return fmt.Errorf("fetch %s: %w: its bytes are not those with sha256 %s", f.Name, archive.ErrDamaged, f.Sum)
}

// opener returns a function that opens a file from an offset to its end. A member must have the size and the sum that
// the snapshot's own sums say.
func (p *puller) opener(ctx context.Context, zip *archive.ZipFile, f archive.DataFile) (
	func(offset int64) (io.ReadCloser, error), error) {
	if _, _, isDay := archive.ParseDataDay(f.Name); isDay {
		return func(offset int64) (io.ReadCloser, error) {
			o := objects.GetOptions{Offset: offset}
			if offset > 0 {
				o.Length = f.Bytes - offset
			}
			_, body, err := p.store.Get(ctx, f.Name, o)
			return body, err
		}, nil
	}
	m, ok := zip.Lookup(f.Name)
	if !ok || m.Size != f.Bytes || m.Sum != f.Sum || m.IsDeflated() {
		return nil, fmt.Errorf("%s: %w: the index names another file than the snapshot has", f.Name, archive.ErrDamaged)
	}
	return func(offset int64) (io.ReadCloser, error) { return m.OpenRange(ctx, offset, m.Size-offset) }, nil
}

// fetchPart writes the rest of a file to partName, and goes on where a response breaks off. continued says that some
// bytes were there before. It never writes more bytes than the file has.
func (p *puller) fetchPart(ctx context.Context, open func(int64) (io.ReadCloser, error), f archive.DataFile) (
	continued bool, err error) {
	part, err := p.root.OpenFile(partName(f), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, part.Sync(), part.Close()) }()
	at, err := part.Seek(0, io.SeekEnd)
	if err != nil {
		return false, err
	}
	if at > f.Bytes {
		at = 0
		if err := part.Truncate(0); err != nil {
			return false, err
		}
	}
	continued = at > 0
	p.progress.add(0, at, 0)
	for try := 0; at < f.Bytes; {
		n, err := p.copyFrom(ctx, open, part, at, f.Bytes-at)
		if at += n; n > 0 {
			try = 0
		}
		if ctx.Err() != nil {
			return continued, ctx.Err()
		}
		if err == nil {
			continue
		}
		if try++; try == fetchTries || !errors.Is(err, archive.ErrUnreachable) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return continued, err
		}
		select {
		case <-time.After(time.Duration(try) * 200 * time.Millisecond):
		case <-ctx.Done():
			return continued, ctx.Err()
		}
	}
	return continued, nil
}

// copyFrom appends at most left bytes from an offset.
func (p *puller) copyFrom(ctx context.Context, open func(int64) (io.ReadCloser, error), part *os.File,
	offset, left int64) (n int64, err error) {
	body, err := open(offset)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	to := io.NewOffsetWriter(part, offset)
	n, err = io.Copy(to, &countedReader{ctx, io.LimitReader(body, left), &p.progress})
	if err == nil && n < left {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// countedReader counts the bytes that are read until a context is done.
type countedReader struct {
	ctx context.Context
	r   io.Reader
	c   *pullCounter
}

func (r *countedReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(b)
	if n > 0 {
		r.c.add(0, int64(n), int64(n))
	}
	return n, err
}

// sumOf returns the SHA-256 and the size of a file of the folder.
func (p *puller) sumOf(name string) (sum archive.Sum, size int64, err error) {
	if info, err := p.root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return sum, 0, errors.Join(err, fmt.Errorf("%s is not a file", name))
	}
	f, err := p.root.Open(name)
	if err != nil {
		return sum, 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return archive.Sum(h.Sum(nil)), size, err
}
