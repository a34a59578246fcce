package output

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"tollbook/output/archive"
	"tollbook/output/objects"

	"golang.org/x/sync/errgroup"
)

// VerifyOptions say how a published place is verified.
type VerifyOptions struct {
	Key   ed25519.PublicKey                    // the checkpoint must have a signature of this key; nil for none
	Packs func(archive.Tree) ([]string, error) // hours of the packs that a tree names; nil for none
	// Files reads every file of the snapshot by itself, if the place has no list of expanded objects.
	Files  bool
	Report func(name string, err error) // called for each fault, never concurrently; nil for none
	Logger *slog.Logger                 // logs each step; nil logs none
}

// Verified counts what was verified.
type Verified struct {
	Snapshot string `json:"snapshot"`
	Digest   string `json:"digest"`
	Signed   bool   `json:"signed"`
	// id of the key that signed, as archive.KeyID: of VerifyOptions.Key, or of the key in the snapshot, if the signature
	// is right, else the one that the checkpoint names; "" if it is unknown
	SignedBy string `json:"signed_by,omitempty"`
	Files    int    `json:"files"`   // of the snapshot
	Packs    int    `json:"packs"`   // read completely
	Days     int    `json:"days"`    // files of days, read completely
	Objects  int    `json:"objects"` // expanded
	Wrong    int    `json:"wrong"`
}

// readersAtOnce is the number of objects that are read concurrently.
const readersAtOnce = 32

// VerifyStore reads what readers of a place get, checks every sum and reports every fault. An error means that it could
// not read. A place without a checkpoint is a tree of single files, which is compared with its SHA256SUMS.
func VerifyStore(ctx context.Context, s objects.Store, o VerifyOptions) (Verified, error) {
	v := verifier{store: s, o: o}
	err := v.run(ctx)
	if err != nil {
		err = fmt.Errorf("verify %s: %w", s, err)
	}
	return v.result, err
}

type verifier struct {
	store objects.Store
	o     VerifyOptions

	mu     sync.Mutex
	result Verified
}

// report counts and reports a fault. An unreachable store is not a fault: report returns it as an error.
func (v *verifier) report(name string, err error) error {
	if errors.Is(err, archive.ErrUnreachable) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.result.Wrong++
	if v.o.Report != nil {
		v.o.Report(name, err)
	}
	return nil
}

func (v *verifier) run(ctx context.Context) error {
	steps := NewSteps(v.o.Logger)
	_, data, err := objects.ReadObject(ctx, v.store, archive.CheckpointFile, objects.GetOptions{},
		archive.MaxCheckpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return v.plainTree(ctx)
	}
	if err != nil {
		return err
	}
	c, err := archive.ParseCheckpoint(data)
	if err != nil {
		return v.report(archive.CheckpointFile, err)
	}
	v.result.Snapshot, v.result.Digest = c.Snapshot, c.Digest
	tree, err := objects.OpenZip(objects.NewBlockCache(v.store, 64<<20), archive.SnapshotName(c.Snapshot))
	if err != nil {
		return cmp.Or(v.signature(c, nil), v.report(archive.SnapshotName(c.Snapshot), err))
	}
	if err := v.signature(c, tree); err != nil {
		return err
	}
	if tree.Digest() != c.Digest {
		if err := v.report(archive.SnapshotName(c.Snapshot),
			fmt.Errorf("%w: its digest is %s, the checkpoint says %s", archive.ErrDamaged, tree.Digest(),
				c.Digest)); err != nil {
			return err
		}
	}
	if err := v.gate(c, tree); err != nil {
		return err
	}
	steps.Done(ctx, "checkpoint and directory read", "files", len(tree.Names()))
	if err := v.members(ctx, tree, archive.SnapshotName(c.Snapshot)); err != nil {
		return err
	}
	v.result.Files = len(tree.Names())
	steps.Done(ctx, "files read", "files", v.result.Files)
	if err := v.packs(ctx, tree); err != nil {
		return err
	}
	steps.Done(ctx, "packs read", "packs", v.result.Packs)
	if err := v.days(ctx, tree); err != nil {
		return err
	}
	steps.Done(ctx, "days read", "days", v.result.Days)
	if err := v.expanded(ctx, tree); err != nil {
		return err
	}
	steps.Done(ctx, "expanded objects read", "objects", v.result.Objects)
	return nil
}

// gate compares what the checkpoint says of the file that payers ask with the snapshot, and verifies its signature with
// the expected key.
func (v *verifier) gate(c archive.Checkpoint, z *archive.ZipFile) error {
	got, err := z.Gate()
	switch {
	case err != nil:
	case (got == nil) != (c.Gate == nil) || got != nil && *got != *c.Gate:
		err = fmt.Errorf("%w: the checkpoint has another place or sum of %s", archive.ErrDamaged, archive.GateFile)
	case got != nil && v.o.Key != nil:
		err = c.VerifyGate(v.o.Key)
	}
	if err == nil {
		return nil
	}
	return v.report(archive.CheckpointFile, err)
}

// signature verifies the signature of the checkpoint with the expected key. The key in the snapshot, which is nil if it
// is damaged, says who signed, and shows without an expected key whether the checkpoint was changed.
func (v *verifier) signature(c archive.Checkpoint, t archive.Tree) error {
	v.result.Signed = c.Signature != nil
	if c.Key != nil {
		v.result.SignedBy = *c.Key
	}
	var own ed25519.PublicKey
	if t != nil {
		if text, err := t.ReadFile(archive.KeyFile); err == nil {
			own, _ = archive.ParsePublicKey(text) // damage of the file is reported with the other files
		}
	}
	var err error
	switch {
	case v.o.Key != nil:
		if err = c.VerifySignature(v.o.Key); err == nil {
			v.result.SignedBy = archive.KeyID(v.o.Key)
			return nil
		}
	case own != nil && c.Key != nil && *c.Key == archive.KeyID(own):
		err = c.VerifySignature(own)
	}
	if own != nil && c.Key == nil && c.VerifySignature(own) == nil { // an older program signed
		v.result.SignedBy = archive.KeyID(own)
		if err != nil {
			err = fmt.Errorf("%w, %s: it is signed with another key, %s", archive.ErrSignature, archive.KeyID(v.o.Key),
				v.result.SignedBy)
		}
	}
	if err != nil {
		return v.report(archive.CheckpointFile, err)
	}
	return nil
}

// members reads every file of a zip.
func (v *verifier) members(ctx context.Context, t archive.Tree, zip string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readersAtOnce)
	for _, name := range t.Names() {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			m, _ := t.Lookup(name)
			if err := m.CopyTo(io.Discard); err != nil {
				return v.report(zip+"/"+name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// packs reads every pack that the snapshot names.
func (v *verifier) packs(ctx context.Context, t archive.Tree) error {
	if v.o.Packs == nil {
		return nil
	}
	hours, err := v.o.Packs(t)
	if err != nil {
		return v.report(archive.SnapshotsDir, err)
	}
	for _, hour := range hours {
		z, err := objects.OpenZip(objects.NewBlockCache(v.store, 0), archive.PackName(hour))
		if err != nil {
			if err := v.report(archive.PackName(hour), err); err != nil {
				return err
			}
			continue
		}
		if err := v.members(ctx, z, archive.PackName(hour)); err != nil {
			return err
		}
		v.result.Packs++
	}
	return nil
}

// days reads every file of a day that the snapshot names.
func (v *verifier) days(ctx context.Context, t archive.Tree) error {
	days, _, err := archive.ReadDataDays(t)
	if err != nil {
		return v.report(archive.DataIndex, err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readersAtOnce)
	for _, day := range days {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := objects.CheckFile(ctx, v.store, day); err != nil {
				return v.report(day.Name, err)
			}
			return nil
		})
	}
	v.result.Days = len(days)
	return g.Wait()
}

// expanded reads every object in the store's own list. Without a list, it reads every file of the tree if Files is set.
func (v *verifier) expanded(ctx context.Context, t archive.Tree) error {
	p := Publisher{store: v.store}
	list, listed, err := p.readExpanded(ctx)
	if err != nil {
		return v.report(expandedFile, err)
	}
	want := map[string]archive.Sum{}
	if !listed && v.o.Files {
		for _, name := range t.Names() {
			m, _ := t.Lookup(name)
			want[name] = m.Sum
		}
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		m, ok := t.Lookup(name)
		switch {
		case !ok:
			err = v.report(name, errors.New("it is of no current snapshot: an expansion did not end; publish again"))
		case list[name] == archive.Sum{}:
			err = v.report(name, errors.New("an expansion did not end; publish again"))
		case list[name] != m.Sum:
			err = v.report(name, errors.New("it is of another snapshot than the current one; publish again"))
		default:
			want[name] = m.Sum
		}
		if err != nil {
			return err
		}
	}
	return v.objects(ctx, want)
}

// plainTree reads a tree of single files.
func (v *verifier) plainTree(ctx context.Context) error {
	_, data, err := objects.ReadObject(ctx, v.store, archive.SumsFile, objects.GetOptions{}, maxExpanded)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("nothing is published here: there is neither %s nor %s", archive.CheckpointFile,
			archive.SumsFile)
	}
	if err != nil {
		return err
	}
	lines, err := archive.ParseSums(data)
	if err != nil {
		return v.report(archive.SumsFile, err)
	}
	v.result.Digest = archive.Sum(sha256.Sum256(data)).String()
	want := map[string]archive.Sum{}
	for _, l := range lines {
		want[l.Name] = l.Sum
	}
	return v.objects(ctx, want)
}

func (v *verifier) objects(ctx context.Context, want map[string]archive.Sum) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readersAtOnce)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			sum, err := objects.ContentSum(ctx, v.store, name)
			if err == nil && sum != want[name] {
				err = fmt.Errorf("%w: its sha256 is %s, not %s", archive.ErrDamaged, sum, want[name])
			}
			if err != nil {
				return v.report(name, err)
			}
			return nil
		})
	}
	v.result.Objects = len(want)
	return g.Wait()
}
