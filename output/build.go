package output

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// Expand selects the files of a snapshot that are also written as single files.
type Expand string

const (
	ExpandAll  Expand = "all"  // every file; the zero value means the same
	ExpandNone Expand = "none" // no file; tree and current stay as they are
)

// BuildOptions are the inputs of a snapshot beside its files.
type BuildOptions struct {
	Now    time.Time // when the facts were read
	Next   time.Time // when the next build is due
	Expand Expand
	Packed bool // write name.gz beside each file that is smaller compressed
	Full   bool // compress every file, copy none from the previous snapshot
	// signs the checkpoint; its public half is a file of the snapshot; may be nil
	Key ed25519.PrivateKey
	// replace a checkpoint that is signed with another key than Key
	ChangeKey bool
	Steps     *Steps // logs the steps of Commit; nil logs none
}

// Build is a snapshot that is being built. It holds the folder's lock until Commit or Abort. Only Pack and Reuse may be
// called concurrently.
type Build struct {
	folder      *Folder
	opts        BuildOptions
	lock        *os.File
	previous    archive.Checkpoint // zero for the first publication
	previousZip *archive.ZipFile   // the zip of the previous snapshot, nil if it is missing or unreadable
	file        *os.File           // the zip under its temporary name
	sum         hash.Hash          // of the bytes written to file
	zip         *archive.ZipWriter
	notes       []byte                      // nil for none
	packs       []string                    // hours of new packs, which have temporary names
	days        map[string]archive.DataFile // new files of days by name, which have temporary names
	erased      int64                       // for the checkpoint; 0 leaves it unchanged
	erasures    Erasures                    // their snapshots are not retained
	orphan      string                      // id of a snapshot that has its final name but no checkpoint yet
	done        bool
}

// Result describes what Commit published.
type Result struct {
	Checkpoint archive.Checkpoint
	Summary    archive.Summary
	Packs      int // new packs
	Days       int // new files of days
	// Files of the tree that were written, and those that are links to the previous tree.
	Written int
	Linked  int
}

// Begin locks the folder, removes remains of interrupted publishers, and starts a snapshot. It returns an error that
// wraps ErrBusy while another build holds the lock.
func (d *Folder) Begin(ctx context.Context, opts BuildOptions) (*Build, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if opts.Expand != "" && opts.Expand != ExpandAll && opts.Expand != ExpandNone {
		return nil, fmt.Errorf("begin build: expand %q may be all or none", opts.Expand)
	}
	if err := d.prepare(); err != nil {
		return nil, fmt.Errorf("begin build: %w", err)
	}
	lock, err := lockDisk(filepath.Join(d.root, lockName))
	if err != nil {
		return nil, fmt.Errorf("begin build: %w", err)
	}
	b := &Build{folder: d, opts: opts, lock: lock}
	if err := b.start(ctx); err != nil {
		b.Abort()
		return nil, fmt.Errorf("begin build: %w", err)
	}
	return b, nil
}

func (b *Build) start(ctx context.Context) error {
	d := b.folder
	if err := d.sweep(); err != nil {
		return err
	}
	before, err := d.Checkpoint()
	if err != nil && !errors.Is(err, ErrEmpty) {
		return err // overwriting a damaged pointer would lose the generation
	}
	if !b.opts.ChangeKey {
		if err := before.CheckSuccessorKey(b.opts.Key); err != nil {
			return err
		}
	}
	b.previous = before
	zipOpts := archive.ZipOptions{Modified: b.opts.Now}
	if before.Snapshot != "" && !b.opts.Full {
		// If the previous zip is unreadable, nothing is copied from it.
		if b.previousZip, err = archive.OpenZipFile(d.snapshotPath(before.Snapshot)); err == nil {
			zipOpts.Previous = b.previousZip.Zip
		}
	}
	if b.file, err = d.disk.Create(filepath.Join(d.root, archive.SnapshotsDir,
		objects.TempPrefix+"snapshot.zip")); err != nil {
		return err
	}
	b.sum = sha256.New()
	b.zip = archive.NewZipWriter(io.MultiWriter(d.disk.Writer(b.file), b.sum), zipOpts)
	return nil
}

// Add appends a file to the snapshot, and does not keep data.
func (b *Build) Add(name string, data []byte) error {
	if err := b.zip.Add(name, data); err != nil {
		return fmt.Errorf("%s: %w", b.file.Name(), err)
	}
	return nil
}

// Pack compresses a file for AddPacked, and does not keep data. It may be called concurrently.
func (b *Build) Pack(name string, data []byte) archive.Packed { return b.zip.Pack(name, data) }

// AddPacked appends a file that Pack or Reuse returned.
func (b *Build) AddPacked(name string, p archive.Packed) error {
	if err := b.zip.AddPacked(name, p); err != nil {
		return fmt.Errorf("%s: %w", b.file.Name(), err)
	}
	return nil
}

// Reuse returns a file of the previous snapshot for AddPacked, and false if the snapshot has no such file or a damaged
// one. It may be called concurrently.
func (b *Build) Reuse(name string) (archive.Packed, bool) { return b.zip.Reuse(name) }

// readBack reads a file that was written and synced. It returns an error that wraps archive.ErrDamaged unless the bytes
// have the same sum as those written.
func readBack(path string, written hash.Hash) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("read back %s: %w", path, err)
	}
	if !bytes.Equal(sum.Sum(nil), written.Sum(nil)) {
		return fmt.Errorf("read back %s: %w: its bytes are not those that were written", path, archive.ErrDamaged)
	}
	return nil
}

// SetErased sets the last erasure, or other change of published rows, that is applied to the packs of this build.
func (b *Build) SetErased(id int64) { b.erased = max(b.erased, id) }

// Commit publishes the snapshot. After an error the previous snapshot is still the current one, unless syncing the new
// checkpoint failed. In both cases, running the same build again finishes the work.
func (b *Build) Commit(ctx context.Context) (Result, error) {
	if b.done {
		return Result{}, errors.New("commit: the build has ended")
	}
	defer b.Abort()
	r, err := b.publish(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("publish: %w", err)
	}
	return r, nil
}

// publish does the steps of a publication in order. The build holds the lock.
func (b *Build) publish(ctx context.Context) (Result, error) {
	d, r, steps := b.folder, Result{Packs: len(b.packs), Days: len(b.days)}, b.opts.Steps
	if steps == nil {
		steps = NewSteps(nil)
	}

	if b.opts.Key != nil {
		if err := b.Add(archive.KeyFile, archive.PublicKey(b.opts.Key)); err != nil {
			return r, err
		}
	}
	sum, err := b.zip.Close()
	if err := errors.Join(err, d.disk.SyncAndClose(b.file)); err != nil {
		return r, fmt.Errorf("%s: %w", b.file.Name(), err)
	}
	id := archive.SnapshotID(b.opts.Now, sum.Digest)
	if b.previous.Snapshot == id && b.previous.Digest != sum.Digest {
		return r, fmt.Errorf("snapshot %s exists with digest %s, the new one has %s: build a second later", id,
			b.previous.Digest, sum.Digest)
	}
	r.Summary, r.Checkpoint = sum, b.next(id, sum)
	// A crash here leaves a temporary zip; the next Begin removes it.

	if err := readBack(b.file.Name(), b.sum); err != nil {
		return r, err
	}
	steps.Done(ctx, "zip written", "files", sum.Files, "bytes", sum.CompressedBytes)
	// A crash here leaves the same.

	b.orphan = id
	if err := d.writeZipSum(id, b.sum); err != nil {
		return r, err
	}
	// A crash here leaves the sum of a zip that does not exist. The next build of the same id writes it again; Prune
	// removes it.

	if err := d.disk.Rename(b.file.Name(), d.snapshotPath(id)); err != nil {
		return r, err
	}
	if err := d.disk.SyncDir(filepath.Join(d.root, archive.SnapshotsDir)); err != nil {
		return r, err
	}
	// A crash here leaves a complete zip that no checkpoint names; Prune removes it.

	for _, hour := range b.packs {
		if err := d.disk.Rename(b.tempPack(hour), d.packPath(hour)); err != nil {
			return r, err
		}
	}
	if err := d.disk.SyncDir(filepath.Join(d.root, archive.PacksDir)); err != nil {
		return r, err
	}
	// A crash here leaves packs without the snapshot that names them; the next build finds and keeps them.

	if err := b.publishDays(); err != nil {
		return r, err
	}
	steps.Done(ctx, "zip and packs visible", "packs", r.Packs, "days", r.Days)
	if b.opts.Expand != ExpandNone {
		if err := b.expand(ctx, id, &r); err != nil {
			return r, err
		}
		// A crash here leaves a complete tree that no checkpoint names. The next build of the same id uses it; Prune
		// removes it.

		if err := b.moveCurrent(id); err != nil {
			return r, err
		}
		steps.Done(ctx, "tree expanded", "written", r.Written, "linked", r.Linked)
		// A crash here leaves current one snapshot newer than the checkpoint. Both snapshots are complete.
	}

	if err := b.storeNotes(sum.Digest); err != nil {
		return r, err
	}
	// A crash here leaves notes of a snapshot that is not current; the next build copies no rendered files.

	if b.previous.Snapshot == id {
		return r, nil // already published under the same name with the same bytes
	}
	err = d.disk.Replace(filepath.Join(d.root, archive.CheckpointFile),
		filepath.Join(d.root, objects.TempPrefix+archive.CheckpointFile), r.Checkpoint.Encode())
	if err == nil {
		steps.Done(ctx, "checkpoint written", "generation", r.Checkpoint.Generation)
	}
	return r, err
}

// next returns the checkpoint that names the snapshot id.
func (b *Build) next(id string, of archive.Summary) archive.Checkpoint {
	if b.previous.Snapshot == id {
		return b.previous
	}
	c := archive.Checkpoint{
		Snapshot: id, Generation: b.previous.Generation + 1, Digest: of.Digest, Gate: of.Gate,
		Erased: max(b.previous.Erased, b.erased), Format: archive.Format, Needs: archive.Needs,
		BuiltAt: b.opts.Now.UTC().Format(archive.TimeLayout), NextAt: b.opts.Next.UTC().Format(archive.TimeLayout),
	}
	if b.previous.Snapshot != "" {
		c.Previous = &b.previous.Snapshot
	}
	return c.Sign(b.opts.Key)
}

// moveCurrent points the link "current" at the tree of id.
func (b *Build) moveCurrent(id string) error {
	d := b.folder
	temp := filepath.Join(d.root, objects.TempPrefix+currentLink)
	if err := d.disk.Symlink(filepath.Join(treeDir, id), temp); err != nil {
		return err
	}
	if err := d.disk.Rename(temp, filepath.Join(d.root, currentLink)); err != nil {
		return err
	}
	return d.disk.SyncDir(d.root)
}

// Abort releases the lock and removes unpublished files. After Commit it does nothing.
func (b *Build) Abort() {
	if b.done {
		return
	}
	b.done = true
	if b.zip != nil {
		b.zip.Abort()
	}
	if b.previousZip != nil {
		b.previousZip.Close()
	}
	if b.file != nil {
		b.file.Close()
	}
	b.discard()
	unlock(b.lock)
}

// discard removes files that no checkpoint names, so that builds that fail on a full disk do not fill it further. The
// next Begin and Prune remove what it cannot remove.
func (b *Build) discard() {
	d := b.folder
	_ = d.sweep()
	if b.orphan == "" {
		return
	}
	// Read the pointer again: its rename may have happened although it returned an error.
	if c, err := d.Checkpoint(); err != nil && !errors.Is(err, ErrEmpty) || c.Snapshot == b.orphan {
		return
	}
	_ = d.disk.Remove(d.snapshotPath(b.orphan))
	_ = d.disk.Remove(d.zipSumPath(b.orphan))
	if d.treeID() != b.orphan {
		_ = d.removeTree(b.orphan)
	}
}

// AddDataFile appends a file below data/ to the snapshot, which the zip stores as write writes it. The bytes go through
// a temporary file and are never in memory as a whole. If write returns an error, nothing is added.
func (b *Build) AddDataFile(name string, write func(io.Writer) error) (file archive.DataFile, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("add data file %.80q: %w", name, err)
		}
	}()
	if _, _, isDay := archive.ParseDataDay(name); isDay || !strings.HasPrefix(name, archive.DataDir+"/") ||
		name == archive.DataIndex {
		return file, fmt.Errorf("%w: want a file below %s/ that is not of a day", archive.ErrName, archive.DataDir)
	}
	d := b.folder
	f, err := d.disk.Create(filepath.Join(d.root, archive.SnapshotsDir, objects.TempPrefix+archive.DataDir))
	if err != nil {
		return file, err
	}
	// A crash here leaves a temporary file; the next Begin removes it.
	defer func() { err = errors.Join(err, f.Close(), d.disk.Remove(f.Name())) }()
	if err := write(d.disk.Writer(f)); err != nil {
		return file, err
	}
	info, err := f.Stat()
	if err != nil {
		return file, err
	}
	sum, err := b.zip.AddStored(name, f, info.Size())
	return archive.DataFile{Name: name, Bytes: info.Size(), Sum: sum}, err
}

// HasDataDay reports whether a table's file of a day ("2026-11-20") is published.
func (d *Folder) HasDataDay(table, day string) bool {
	_, err := os.Stat(d.dataPath(archive.DataDayName(table, day)))
	return err == nil
}

// AddDataDay writes a table's file of a day, which is published with the snapshot and belongs to every later one that
// names it in archive.DataIndex. If the file already exists, AddDataDay keeps it and does not call write.
func (b *Build) AddDataDay(table, day string, write func(io.Writer) error) error {
	name := archive.DataDayName(table, day)
	if _, _, ok := archive.ParseDataDay(name); !ok {
		return fmt.Errorf("add data day %.80q: %w: want a table and a day such as 2026-11-20", name, archive.ErrName)
	}
	if _, added := b.days[name]; added || b.folder.HasDataDay(table, day) {
		return nil
	}
	return b.writeDataDay(name, func(w io.Writer) (bool, error) { return true, write(w) })
}

// RewriteDataDay writes a published file of a day again. change reads the old file and writes the new one; if it
// returns false, the old file stays. Commit replaces the old file. A file that this build has already written counts as
// the old one.
func (b *Build) RewriteDataDay(table, day string,
	change func(old io.ReaderAt, size int64, w io.Writer) (changed bool, err error)) error {
	name := archive.DataDayName(table, day)
	path := b.folder.dataPath(name)
	if _, added := b.days[name]; added {
		path = b.tempDataDay(name)
	}
	old, err := objects.OpenBody(path)
	if err != nil {
		return fmt.Errorf("rewrite data day: %w", err)
	}
	defer old.Close()
	return b.writeDataDay(name, func(w io.Writer) (bool, error) { return change(old, old.Size(), w) })
}

// writeDataDay writes a file of a day under a temporary name and reads it back. It drops the file unless write returns
// true.
func (b *Build) writeDataDay(name string, write func(io.Writer) (wanted bool, err error)) error {
	d := b.folder
	if err := d.disk.Mkdir(filepath.Dir(d.dataPath(name))); err != nil {
		return fmt.Errorf("add data day: %w", err)
	}
	f, err := d.disk.Create(b.tempDataDay(name) + ".new")
	if err != nil {
		return fmt.Errorf("add data day: %w", err)
	}
	sum := sha256.New()
	count := &countedWriter{w: io.MultiWriter(d.disk.Writer(f), sum)}
	wanted, err := write(count)
	if err != nil || !wanted {
		if err := errors.Join(err, f.Close(), d.disk.Remove(f.Name())); err != nil {
			return fmt.Errorf("add data day %s: %w", name, err)
		}
		return nil
	}
	if err := d.disk.SyncAndClose(f); err != nil {
		return fmt.Errorf("add data day %s: %w", f.Name(), err)
	}
	if err := readBack(f.Name(), sum); err != nil {
		return fmt.Errorf("add data day: %w", err)
	}
	if err := d.disk.Rename(f.Name(), b.tempDataDay(name)); err != nil {
		return fmt.Errorf("add data day: %w", err)
	}
	if b.days == nil {
		b.days = map[string]archive.DataFile{}
	}
	b.days[name] = archive.DataFile{Name: name, Bytes: count.n, Sum: archive.Sum(sum.Sum(nil))}
	return nil
}

// countedWriter counts the bytes written to w.
type countedWriter struct {
	w io.Writer
	n int64
}

func (c *countedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

func (b *Build) tempDataDay(name string) string {
	path := b.folder.dataPath(name)
	return filepath.Join(filepath.Dir(path), objects.TempPrefix+filepath.Base(path))
}

// DataDays returns the files of days as they are after Commit, by name: the published ones, and those that this build
// added or rewrote.
func (b *Build) DataDays() ([]archive.DataFile, error) {
	days, err := b.folder.dataDays(true)
	if err != nil {
		return nil, err
	}
	after := map[string]archive.DataFile{}
	for _, f := range days {
		after[f.Name] = f
	}
	maps.Copy(after, b.days)
	return slices.SortedFunc(maps.Values(after), compareNames), nil
}

func compareNames(a, b archive.DataFile) int { return strings.Compare(a.Name, b.Name) }

// publishDays gives the new files of days their names. The sum of a file is stored after the file, and an old sum is
// removed before: a missing sum is computed again, and a wrong one would damage every later snapshot.
func (b *Build) publishDays() error {
	d := b.folder
	var replaced, folders []string
	for _, name := range slices.Sorted(maps.Keys(b.days)) {
		folder := filepath.Dir(d.dataPath(name))
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
		if _, err := os.Stat(d.dataSumPath(name)); err != nil {
			continue
		}
		if err := d.disk.Remove(d.dataSumPath(name)); err != nil {
			return err
		}
		if !slices.Contains(replaced, folder) {
			replaced = append(replaced, folder)
		}
	}
	for _, folder := range replaced {
		if err := d.disk.SyncDir(folder); err != nil {
			return err
		}
	}
	// A crash here leaves old files without sums; the next build computes them.

	for _, name := range slices.Sorted(maps.Keys(b.days)) {
		if err := d.disk.Rename(b.tempDataDay(name), d.dataPath(name)); err != nil {
			return err
		}
	}
	for _, folder := range folders {
		if err := d.disk.SyncDir(folder); err != nil {
			return err
		}
	}
	// A crash here leaves files of days without the snapshot that names them; the next build finds and keeps them. If a
	// file was rewritten, the current snapshot names its old bytes until the next build.

	for name, f := range b.days {
		if err := d.storeDataSum(name, f.Sum); err != nil {
			return err
		}
	}
	return nil
}

// AddPack writes the pack of an hour, which is published with the snapshot. If the pack already exists, AddPack keeps
// it and does not call fill.
func (b *Build) AddPack(hour string, fill func(add func(name string, data []byte) error) error) error {
	d := b.folder
	if _, ok := archive.ParseHour(hour); !ok {
		return fmt.Errorf("add pack %.20q: not an hour", hour)
	}
	if d.HasPack(hour) || slices.Contains(b.packs, hour) {
		return nil
	}
	return b.writePack(hour, fill)
}

// ReplacePack writes the pack of an hour as AddPack does, in place of a published one. Files that only the published
// pack has stay in it, because earlier snapshots name them.
func (b *Build) ReplacePack(hour string, fill func(add func(name string, data []byte) error) error) error {
	path := b.folder.packPath(hour)
	if slices.Contains(b.packs, hour) {
		path = b.tempPack(hour)
	} else if !b.folder.HasPack(hour) {
		return b.AddPack(hour, fill)
	}
	old, err := archive.OpenZipFile(path)
	if err != nil {
		return fmt.Errorf("replace pack: %w", err)
	}
	defer old.Close() // of the file that the rename below replaces
	return b.writePack(hour, func(add func(string, []byte) error) error {
		added := map[string]bool{archive.SumsFile: true}
		if err := fill(func(name string, data []byte) error {
			added[name] = true
			return add(name, data)
		}); err != nil {
			return err
		}
		for _, name := range old.Names() {
			if added[name] {
				continue
			}
			data, err := old.ReadFile(name)
			if err != nil {
				return err
			}
			if err := add(name, data); err != nil {
				return err
			}
		}
		return nil
	})
}

// writePack writes a pack under a temporary name, in place of one that this build wrote before.
func (b *Build) writePack(hour string, fill func(add func(name string, data []byte) error) error) error {
	d := b.folder
	temp, again := b.tempPack(hour), slices.Contains(b.packs, hour)
	if again {
		temp += ".new"
	}
	f, err := d.disk.Create(temp)
	if err != nil {
		return fmt.Errorf("add pack: %w", err)
	}
	sum := sha256.New()
	z := archive.NewZipWriter(io.MultiWriter(d.disk.Writer(f), sum), archive.ZipOptions{Modified: b.opts.Now})
	err = fill(z.Add)
	if err == nil {
		_, err = z.Close()
	} else {
		z.Abort()
	}
	if err := errors.Join(err, d.disk.SyncAndClose(f)); err != nil {
		return fmt.Errorf("add pack %s: %w", f.Name(), err)
	}
	if err := readBack(f.Name(), sum); err != nil {
		return fmt.Errorf("add pack: %w", err)
	}
	if !again {
		b.packs = append(b.packs, hour)
		return nil
	}
	if err := d.disk.Rename(temp, b.tempPack(hour)); err != nil {
		return fmt.Errorf("add pack: %w", err)
	}
	return nil
}

// RewritePack writes a published pack again if change changes one of its files; change returns nil to remove a file.
// Commit replaces the old pack. Only erasing a service needs RewritePack.
func (b *Build) RewritePack(hour string, change func(name string, data []byte) ([]byte, error)) error {
	d := b.folder
	old, err := archive.OpenZipFile(d.packPath(hour))
	if err != nil {
		return fmt.Errorf("rewrite pack: %w", err)
	}
	defer old.Close()
	var files []file
	changed := false
	for _, name := range old.Names() {
		if name == archive.SumsFile {
			continue
		}
		data, err := old.ReadFile(name)
		if err != nil {
			return fmt.Errorf("rewrite pack %s: %w", hour, err)
		}
		next, err := change(name, data)
		if err != nil {
			return fmt.Errorf("rewrite pack %s: %s: %w", hour, name, err)
		}
		changed = changed || !bytes.Equal(next, data)
		if next != nil {
			files = append(files, file{name, next})
		}
	}
	if !changed {
		return nil
	}
	return b.writePack(hour, func(add func(string, []byte) error) error {
		for _, f := range files {
			if err := add(f.name, f.data); err != nil {
				return err
			}
		}
		return nil
	})
}

// file is a name with its content.
type file struct {
	name string
	data []byte
}

func (b *Build) tempPack(hour string) string {
	return filepath.Join(b.folder.root, archive.PacksDir, objects.TempPrefix+hour+".zip")
}
