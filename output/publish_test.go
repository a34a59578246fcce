package output

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/output/outputtest"
)

// memoryRegister keeps a record in memory; the one in Postgres is tested where it is.
type memoryRegister struct {
	hook   func(op, name string, do func() error) error
	mu     sync.Mutex
	record Record
	locked bool
	lost   bool // the lock's connection broke
}

func (r *memoryRegister) do(op string, do func() error) error {
	if r.hook == nil {
		return do()
	}
	return r.hook(op, "register", do)
}

func (r *memoryRegister) Lock(context.Context) (held func(context.Context) error, release func(), err error) {
	err = r.do("lock", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.locked {
			return ErrBusy
		}
		r.locked = true
		return nil
	})
	if err != nil {
		r.unlock() // the connection is closed, whatever was done on it
		return nil, nil, err
	}
	held = func(context.Context) error {
		return r.do("held", func() error {
			if r.lost {
				return errors.New("connection lost")
			}
			return nil
		})
	}
	return held, r.unlock, nil
}

func (r *memoryRegister) unlock() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.locked = false
}

func (r *memoryRegister) Read(context.Context) (record Record, err error) {
	err = r.do("read", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		record = r.record
		return nil
	})
	return record, err
}

func (r *memoryRegister) Replace(_ context.Context, was int64, next Record) error {
	return r.do("replace", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.record.Generation != was {
			return ErrConflict
		}
		r.record = next
		return nil
	})
}

func everything(string) bool { return true }

// publishTo publishes what is current in d.
func publishTo(s objects.Store, r Register, d *Folder, change ...func(*PublishOptions)) (Published, error) {
	o := PublishOptions{Now: t0, Expand: everything, Header: func(string) objects.Header {
		return objects.Header{Type: "text/plain", Cache: "max-age=60"}
	}}
	for _, c := range change {
		c(&o)
	}
	return NewPublisher(s, r, o).Publish(context.Background(), d)
}

func mustPublishTo(t testing.TB, s objects.Store, r Register, d *Folder, change ...func(*PublishOptions)) Published {
	t.Helper()
	p, err := publishTo(s, r, d, change...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// verifyWhole holds a store to every sum.
func verifyWhole(t testing.TB, s objects.Store) Verified {
	t.Helper()
	v, err := VerifyStore(context.Background(), s, VerifyOptions{
		Packs:  func(archive.Tree) ([]string, error) { return []string{archive.HourOf(t0)}, nil },
		Report: func(name string, err error) { t.Errorf("%s: %v", name, err) },
	})
	if err != nil {
		t.Error(err)
	}
	return v
}

// content is what a reader of an expanded object gets.
func content(s objects.Store, name string) (string, error) {
	obj, body, err := s.Get(context.Background(), name, objects.GetOptions{})
	if err != nil {
		return "", err
	}
	defer body.Close()
	var r io.Reader = body
	if obj.Header.Encoding == "gzip" {
		if r, err = gzip.NewReader(body); err != nil {
			return "", err
		}
	}
	data, err := io.ReadAll(r)
	return string(data), err
}

// names lists a store.
func namesIn(t testing.TB, s objects.Store) []string {
	t.Helper()
	list, err := s.List(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, obj := range list {
		names = append(names, obj.Name)
	}
	return names
}

// stores are those that a publication is tested on in every run.
func stores(t *testing.T, test func(t *testing.T, open func(t testing.TB) objects.Store)) {
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		test(t, func(t testing.TB) objects.Store { return openStore(t, tempDir(t), nil) })
	})
	t.Run("versitygw", func(t *testing.T) {
		t.Parallel()
		server := outputtest.Versity(t)
		test(t, func(t testing.TB) objects.Store { return openStore(t, server.Bucket(t), server) })
	})
}

// A publication to a store: whole, only what changed is written, what is gone is deleted, and readers follow.
func TestPublishTo(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		if _, err := publishTo(s, reg, d); !errors.Is(err, ErrEmpty) {
			t.Fatalf("before a build: %v, want %v", err, ErrEmpty)
		}
		first := mustPublish(t, d, t0, tree(1)).Checkpoint
		got := mustPublishTo(t, s, reg, d)
		if !got.Moved || got.Packs != 1 || got.Written != 5 || got.Checkpoint.Generation != 1 ||
			got.Checkpoint.Previous != nil || got.Checkpoint.Snapshot != first.Snapshot {
			t.Errorf("the first: %+v", got)
		}
		if v := verifyWhole(t, s); v.Files != 5 || v.Objects != 5 || v.Packs != 1 || v.Snapshot != first.Snapshot {
			t.Errorf("verified %+v", v)
		}
		if again := mustPublishTo(t, s, reg, d); again.Moved || again.Written+again.Deleted+again.Packs > 0 ||
			again.Unchanged != 5 || again.Bytes != 0 {
			t.Errorf("the same again: %+v", again)
		}
		source := OpenStoreSource(s, 0, quiet())
		defer source.Close()
		current(t, source).Release()

		next := tree(2)
		delete(next, "v1/services/zeta.json")
		next["v1/services/zeta/sub.json"] = "a name under one that goes"
		mustPublish(t, d, t0.Add(time.Minute), next)
		got = mustPublishTo(t, s, reg, d)
		// index, services, sub and the sums; zeta goes, acme stays
		if !got.Moved || got.Packs != 0 || got.Written != 4 || got.Deleted != 1 || got.Unchanged != 1 ||
			got.Checkpoint.Generation != 2 || *got.Checkpoint.Previous != first.Snapshot {
			t.Errorf("the second: %+v", got)
		}
		verifyWhole(t, s)
		for name, want := range next {
			if got, err := content(s, name); err != nil || got != want {
				t.Errorf("%s reads %.40q, %v", name, got, err)
			}
		}
		if _, err := s.Stat(t.Context(), "v1/services/zeta.json"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what is gone: %v", err)
		}
		if err := source.Refresh(); err != nil {
			t.Fatal(err)
		}
		snap := current(t, source)
		defer snap.Release()
		if snap.ID != got.Checkpoint.Snapshot || readString(t, snap, "index.html") != next["index.html"] {
			t.Errorf("readers have %s", snap.ID)
		}
		if s.KeepsHeader() {
			for name, want := range map[string]objects.Header{
				"v1/services.json":                   {Type: "text/plain", Encoding: "gzip", Cache: "max-age=60"},
				"index.html":                         {Type: "text/plain", Cache: "max-age=60"},
				archive.CheckpointFile:               pointerHeader,
				archive.SnapshotName(first.Snapshot): immutableHeader,
			} {
				obj, err := s.Stat(t.Context(), name)
				if diff := cmp.Diff(want, obj.Header); err != nil || diff != "" {
					t.Errorf("header of %s, %v (-want +got):\n%s", name, err, diff)
				}
			}
		}
		if none := mustPublishTo(t, s, reg, d, func(o *PublishOptions) { o.Expand = nil }); none.Deleted != 5 {
			t.Errorf("expanding nothing any more: %+v", none)
		}
		want := []string{archive.CheckpointFile, expandedFile, archive.PackName(archive.HourOf(t0)),
			archive.SnapshotName(first.Snapshot), archive.SnapshotName(snap.ID)}
		slices.Sort(want)
		if diff := cmp.Diff(want, namesIn(t, s)); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
	})
}

// Every operation of a publication, on the store and on the register, fails both ways: it was not done, and it was done
// all the same. Whatever happens, readers have the old snapshot or the new one, whole, and the next run finishes.
func TestPublishToFaults(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		d := openFolder(t, tempDir(t))
		mustPublish(t, d, t0, tree(1))
		before := openFolder(t, tempDir(t)) // as of the first
		mustPublish(t, before, t0, tree(1))
		next := tree(2)
		delete(next, "v1/services/zeta.json")
		mustPublish(t, d, t0.Add(time.Hour), next)

		setup := func(t testing.TB, hook func(op, name string, do func() error) error) (objects.Store, objects.Store,
			*memoryRegister) {
			plain, reg := open(t), &memoryRegister{}
			mustPublishTo(t, plain, reg, before)
			reg.hook = hook
			return plain, &hookedStore{plain, hook}, reg
		}
		var mu sync.Mutex
		var operations []string
		_, counted, reg := setup(t, func(op, name string, do func() error) error {
			mu.Lock()
			operations = append(operations, op+" "+name)
			mu.Unlock()
			return do()
		})
		mustPublishTo(t, counted, reg, d)
		if len(operations) < 20 {
			t.Fatalf("%d operations: %q", len(operations), operations)
		}
		for i := range operations {
			for _, done := range []bool{false, true} {
				var n atomic.Int64
				var op string
				hook := func(what, name string, do func() error) error {
					if n.Add(1)-1 != int64(i) {
						return do()
					}
					op = what + " " + name
					err := fmt.Errorf("%s %s: %w: the wire is cut", what, name, archive.ErrUnreachable)
					if done {
						if doErr := do(); doErr != nil && !errors.Is(doErr, fs.ErrNotExist) {
							return doErr
						}
					}
					return err
				}
				plain, faulty, reg := setup(t, hook)
				r, err := publishTo(faulty, reg, d)
				about := fmt.Sprintf("%d %s, done %v", i, op, done)
				if err != nil && !errors.Is(err, archive.ErrUnreachable) {
					t.Errorf("%s: %v, want the fault", about, err)
				}
				if err == nil && !mayBeCovered(op) {
					t.Errorf("%s: nobody was told; %+v", about, r)
				}
				checkBetween(t, about, plain, tree(1), next)
				reg.hook = nil
				again := mustPublishTo(t, plain, reg, d)
				if !again.Moved && again.Checkpoint.Generation < 2 {
					t.Errorf("%s: the next run: %+v", about, again)
				}
				verifyWhole(t, plain)
				if _, err := NewPublisher(plain, reg, PublishOptions{Now: t0.AddDate(10, 0, 0)}).Prune(t.Context(),
					d); err != nil {
					t.Errorf("%s: prune: %v", about, err)
				}
				want := []string{archive.CheckpointFile, expandedFile, archive.SumsFile}
				for name := range next {
					want = append(want, name)
				}
				for _, id := range []string{again.Checkpoint.Snapshot, *again.Checkpoint.Previous} {
					want = append(want, archive.SnapshotName(id))
				}
				for _, h := range []int{0, 1} {
					want = append(want, archive.PackName(archive.HourOf(t0.Add(time.Duration(h)*time.Hour))))
				}
				slices.Sort(want)
				if diff := cmp.Diff(want, namesIn(t, plain)); diff != "" {
					t.Errorf("%s: left after prune (-want +got):\n%s", about, diff)
				}
			}
		}
	})
}

// mayBeCovered says whether the failure of an operation need not be told: its result is read again, or it is tried
// again.
func mayBeCovered(op string) bool {
	return op == "put "+archive.CheckpointFile || op == "replace register" ||
		strings.HasPrefix(op, "get "+archive.SnapshotsDir) || strings.HasPrefix(op, "get "+archive.PacksDir)
}

// checkBetween is what must hold of a store at every moment of a publication: the pointer names a whole snapshot, and
// each expanded object is whole and of the old or the new one.
func checkBetween(t *testing.T, about string, s objects.Store, old, next map[string]string) {
	t.Helper()
	source := OpenStoreSource(s, 0, quiet())
	defer source.Close()
	snap, err := source.Current()
	if err != nil {
		t.Fatalf("%s: %v", about, err)
	}
	defer snap.Release()
	if err := archive.Verify(context.Background(), snap, snap.Checkpoint.Digest); err != nil {
		t.Errorf("%s: %v", about, err)
	}
	files := old
	if readString(t, snap, "index.html") == next["index.html"] {
		files = next
	}
	for name, want := range files {
		if got := readString(t, snap, name); got != want {
			t.Errorf("%s: %s of %s reads %.40q", about, name, snap.ID, got)
		}
	}
	both := maps.Clone(old)
	maps.Copy(both, next)
	for name := range both {
		got, err := content(s, name)
		_, inOld := old[name]
		_, inNext := next[name]
		switch {
		case errors.Is(err, fs.ErrNotExist) && !(inOld && inNext):
		case err != nil:
			t.Errorf("%s: %v", about, err)
		case inOld && got == old[name], inNext && got == next[name]:
		default:
			t.Errorf("%s: %s reads %.40q, which is of neither", about, name, got)
		}
	}
}

// Two publishers at once: one wins, the other says so, and both leave the place whole.
func TestTwoPublishers(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		a, b := openFolder(t, tempDir(t)), openFolder(t, tempDir(t))
		mustPublish(t, a, t0, tree(1))
		mustPublish(t, b, t0.Add(time.Second), tree(2))

		t.Run("the lock", func(t *testing.T) {
			s, reg := open(t), &memoryRegister{locked: true}
			if _, err := publishTo(s, reg, a); !errors.Is(err, ErrBusy) {
				t.Errorf("%v, want %v", err, ErrBusy)
			}
		})
		// Whatever one does between two operations of the other, one of them wins.
		for i := 0; ; i++ {
			s, reg := open(t), &memoryRegister{}
			var n atomic.Int64
			var wonErr error
			intruded := false
			// what a publisher does side by side is done in turn, but for sending the zip, which waits for the rest
			var one sync.Mutex
			hook := func(op, name string, do func() error) error {
				one.Lock()
				sends := op == "put" && strings.HasPrefix(name, archive.SnapshotsDir)
				if !sends {
					defer one.Unlock()
				}
				if n.Add(1)-1 == int64(i) {
					intruded = true
					reg.unlock() // the first one's connection was cut
					reg.lost = true
					other := &memoryRegister{}
					other.record = reg.record
					var won Published
					if won, wonErr = publishTo(s, other, b); wonErr == nil {
						reg.mu.Lock()
						reg.record = Record{Generation: won.Checkpoint.Generation, Snapshot: won.Checkpoint.Snapshot,
							Digest: won.Checkpoint.Digest}
						reg.mu.Unlock()
					}
				}
				if sends {
					one.Unlock()
				}
				return do()
			}
			reg.hook = hook
			_, err := publishTo(&hookedStore{s, hook}, reg, a)
			if !intruded {
				break
			}
			if wonErr != nil {
				t.Errorf("before operation %d: the second: %v", i, wonErr)
			}
			moved := false
			_, data, readErr := objects.ReadObject(t.Context(), s, archive.CheckpointFile, objects.GetOptions{},
				archive.MaxCheckpoint)
			if c, parseErr := archive.ParseCheckpoint(data); readErr != nil || parseErr != nil {
				t.Errorf("before operation %d: %v, %v", i, readErr, parseErr)
			} else if moved = c.Snapshot != reg.record.Snapshot; moved {
				t.Errorf("before operation %d: the pointer names %s, the register %s", i, c.Snapshot,
					reg.record.Snapshot)
			}
			_ = err // it has won before, or it was told: what counts is that the place is the winner's
			mustPublishTo(t, s, &memoryRegister{record: reg.record}, b, func(o *PublishOptions) { o.Force = true })
			verifyWhole(t, s)
		}
	})
}

// A rollback names an earlier snapshot; what it takes back stays back until there is a new build.
func TestRollback(t *testing.T) {
	t.Parallel()
	s, reg, d := openStore(t, tempDir(t), nil), &memoryRegister{}, openFolder(t, tempDir(t))
	var ids []string
	for i := range 3 {
		ids = append(ids, mustPublish(t, d, t0.Add(time.Duration(i)*time.Minute), tree(i)).Checkpoint.Snapshot)
		mustPublishTo(t, s, reg, d)
	}
	back := func(id string) (Published, error) {
		return NewPublisher(s, reg, PublishOptions{Now: t0, Expand: everything}).Rollback(t.Context(), id)
	}
	for _, id := range []string{"", "../x", "20261120T234501Z-ffffff"} {
		if _, err := back(id); !errors.Is(err, ErrNotRetained) {
			t.Errorf("%q: %v, want %v", id, err, ErrNotRetained)
		}
	}
	for range 2 { // again changes nothing
		r, err := back(ids[0])
		if err != nil || r.Checkpoint.Snapshot != ids[0] || r.Checkpoint.Generation != 4 ||
			*r.Checkpoint.Previous != ids[2] {
			t.Errorf("%+v, %v", r, err)
		}
		if got, err := content(s, "index.html"); err != nil || got != tree(0)["index.html"] {
			t.Errorf("the page reads %s, %v", got, err)
		}
	}
	verifyWhole(t, s)
	if _, err := publishTo(s, reg, d); !errors.Is(err, ErrSuccessor) || !strings.Contains(err.Error(), ids[2]) {
		t.Errorf("what was taken back: %v, want %v", err, ErrSuccessor)
	}
	mustPublish(t, d, t0.Add(time.Hour), tree(5))
	if r := mustPublishTo(t, s, reg, d); r.Checkpoint.Generation != 5 {
		t.Errorf("a new build: %+v", r)
	}
	verifyWhole(t, s)
}

// What is no legal successor changes nothing, unless it is forced.
func TestPublishSuccessor(t *testing.T) {
	t.Parallel()
	s, reg, d := openStore(t, tempDir(t), nil), &memoryRegister{}, openFolder(t, tempDir(t))
	mustPublish(t, d, t0, tree(1))
	first := mustPublishTo(t, s, reg, d).Checkpoint
	mustPublish(t, d, t0.Add(time.Minute), tree(2))
	here := namesIn(t, s)
	var before string
	refuse := func(o *PublishOptions) {
		o.Check = func(a, b archive.Files) error {
			sums, err := a.ReadFile(archive.SumsFile)
			before = fmt.Sprintf("%x", sha256.Sum256(sums))
			return errors.Join(errors.New("half of it vanishes"), err)
		}
	}
	if _, err := publishTo(s, reg, d, refuse); !errors.Is(err, ErrSuccessor) ||
		!strings.Contains(err.Error(), "half of it vanishes") || before != first.Digest {
		t.Errorf("%v, compared with %s", err, before)
	}
	if diff := cmp.Diff(here, namesIn(t, s)); diff != "" || reg.record.Generation != 1 {
		t.Errorf("it changed (-before +after):\n%s", diff)
	}
	older := openFolder(t, tempDir(t))
	mustPublish(t, older, t0.Add(-time.Hour), tree(0))
	if _, err := publishTo(s, reg, older); !errors.Is(err, ErrSuccessor) || !strings.Contains(err.Error(), "older") {
		t.Errorf("an older one: %v", err)
	}
	if r := mustPublishTo(t, s, reg, d, refuse, func(o *PublishOptions) { o.Force = true }); !r.Moved {
		t.Errorf("forced: %+v", r)
	}
}

// A register that was lost goes on from what the store says.
func TestPublishLostRegister(t *testing.T) {
	t.Parallel()
	s, d := openStore(t, tempDir(t), nil), openFolder(t, tempDir(t))
	reg := &memoryRegister{}
	for i := range 3 {
		mustPublish(t, d, t0.Add(time.Duration(i)*time.Minute), tree(i))
		mustPublishTo(t, s, reg, d)
	}
	fresh := &memoryRegister{}
	if r := mustPublishTo(t, s, fresh, d); r.Moved || fresh.record.Generation != 3 {
		t.Errorf("%+v, register %+v", r, fresh.record)
	}
	mustPublish(t, d, t0.Add(time.Hour), tree(4))
	if r := mustPublishTo(t, s, fresh, d); r.Checkpoint.Generation != 4 {
		t.Errorf("%+v", r)
	}
}

// A damaged zip is not published, and a damaged place is told file by file.
func TestVerifyStore(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		mustPublish(t, d, t0, tree(1))
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		c := mustPublishTo(t, s, reg, d, func(o *PublishOptions) { o.Key = key }).Checkpoint
		check := func(o VerifyOptions) (wrong []string) {
			o.Packs = func(archive.Tree) ([]string, error) { return []string{archive.HourOf(t0)}, nil }
			o.Report = func(name string, _ error) { wrong = append(wrong, name) }
			v, err := VerifyStore(t.Context(), s, o)
			if err != nil || v.Wrong != len(wrong) {
				t.Errorf("%+v, %v", v, err)
			}
			slices.Sort(wrong)
			return wrong
		}
		signed := VerifyOptions{Key: key.Public().(ed25519.PublicKey)}
		if wrong := check(signed); wrong != nil {
			t.Errorf("whole, but wrong are %q", wrong)
		}
		other, _, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{archive.CheckpointFile}, check(VerifyOptions{Key: other})); diff != "" {
			t.Errorf("another's key (-want +got):\n%s", diff)
		}
		zip := string(readFileOf(t, s, archive.SnapshotName(c.Snapshot)))
		at := strings.Index(zip, "index.html") + len("index.html") // stored, or deflated: its bytes follow
		mustPut(t, s, archive.SnapshotName(c.Snapshot), zip[:at]+"\x00"+zip[at+1:], objects.PutOptions{})
		mustPut(t, s, "v1/services.json", "other", objects.PutOptions{})
		if err := s.Delete(t.Context(), []string{archive.PackName(archive.HourOf(t0)),
			"v1/services/zeta.json"}); err != nil {
			t.Fatal(err)
		}
		want := []string{archive.PackName(archive.HourOf(t0)), archive.SnapshotName(c.Snapshot) + "/index.html",
			"v1/services.json", "v1/services/zeta.json"}
		if diff := cmp.Diff(want, check(signed)); diff != "" {
			t.Errorf("wrong are (-want +got):\n%s", diff)
		}
	})
}

// A checkpoint's signature covers each of its fields.
func TestSignature(t *testing.T) {
	t.Parallel()
	text, err := archive.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := archive.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	public, err := archive.ParsePublicKey(archive.PublicKey(key))
	if err != nil {
		t.Fatal(err)
	}
	previous := "20261120T234401Z-3f2a9c"
	c := archive.Checkpoint{Snapshot: "20261120T234501Z-3f2a9c", Previous: &previous, Generation: 7,
		BuiltAt: "2026-11-20T23:45:01.000Z", NextAt: "2026-11-21T00:00:01.000Z",
		Digest: "3f2a9c" + strings.Repeat("0", 58)}.Sign(key)
	if parsed, err := archive.ParseCheckpoint(c.Encode()); err != nil || parsed.VerifySignature(public) != nil {
		t.Errorf("%+v, %v", parsed, err)
	}
	for i, change := range []func(*archive.Checkpoint){
		func(c *archive.Checkpoint) { c.Snapshot = "20261120T234502Z-3f2a9c" },
		func(c *archive.Checkpoint) { c.Previous = nil },
		func(c *archive.Checkpoint) { c.Generation++ },
		func(c *archive.Checkpoint) { c.BuiltAt = c.NextAt },
		func(c *archive.Checkpoint) { c.NextAt = c.BuiltAt },
		func(c *archive.Checkpoint) { c.Digest = strings.Replace(c.Digest, "00", "01", 1) },
		func(c *archive.Checkpoint) { c.Signature = nil },
		func(c *archive.Checkpoint) { c.Signature = new("!") },
	} {
		other := c
		change(&other)
		if err := other.VerifySignature(public); !errors.Is(err, archive.ErrSignature) {
			t.Errorf("change %d: %v", i, err)
		}
	}
	for _, bad := range []string{"", "x", "-----BEGIN PRIVATE KEY-----\nc0ffee==\n-----END PRIVATE KEY-----\n",
		string(archive.PublicKey(key))} {
		if _, err := archive.ParseKey([]byte(bad)); err == nil || strings.Contains(err.Error(), "c0ffee") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Between us and the store stands a proxy that delays, cuts, answers 500 and 503 SlowDown, or drops bodies: a
// publication ends whole, or leaves the snapshot before.
func TestPublishThroughFaultyProxy(t *testing.T) {
	t.Parallel()
	server := outputtest.Versity(t)
	target, err := url.Parse("http://" + server.Address)
	if err != nil {
		t.Fatal(err)
	}
	lies := func(etag func() string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			rec := httptest.NewRecorder()
			pass.ServeHTTP(rec, r)
			maps.Copy(w.Header(), rec.Header())
			if w.Header().Get("ETag") != "" {
				w.Header().Set("ETag", etag())
			}
			w.WriteHeader(rec.Code)
			_, _ = w.Write(rec.Body.Bytes())
		}
	}
	for _, test := range []struct {
		about string
		every int64 // of how many requests one is spoilt
		spoil func(w http.ResponseWriter, r *http.Request, pass http.Handler)
	}{
		{"lies about ETags: one for all", 2, lies(func() string { return `"0123456789abcdef0123456789abcdef"` })},
		{"lies about ETags: another each time", 2, lies(func() string {
			return fmt.Sprintf(`"%032x"`, rand.Uint64())
		})},
		{"lies about every ETag", 1, lies(func() string { return fmt.Sprintf(`"%032x"`, rand.Uint64()) })},
		{"delays", 3, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			select { // a delay is what is tested
			case <-time.After(300 * time.Millisecond):
			case <-r.Context().Done():
			}
			pass.ServeHTTP(w, r)
		}},
		{"cuts before", 4, func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }},
		{"cuts after", 4, func(_ http.ResponseWriter, r *http.Request, pass http.Handler) {
			pass.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}},
		{"500", 3, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusInternalServerError)
		}},
		{"500 after", 3, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			pass.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusInternalServerError)
		}},
		{"SlowDown", 2, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w,
				`<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
		}},
		{"drops half of bodies", 4, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			rec := httptest.NewRecorder()
			pass.ServeHTTP(rec, r)
			maps.Copy(w.Header(), rec.Header())
			w.WriteHeader(rec.Code)
			_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
		}},
		{"everything", 1, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusInternalServerError)
		}},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			var n, faults atomic.Int64
			pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.Host = r.In.Host // it is signed
			}}
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if (n.Add(1)-1)%test.every == 0 {
					faults.Add(1)
					test.spoil(w, r, pass)
					return
				}
				pass.ServeHTTP(w, r)
			}))
			defer proxy.Close()
			// The signature is of the host that was asked: what asks through the proxy signs the proxy's address.
			address := server.Bucket(t)
			direct := openStore(t, address, server)
			through, err := objects.OpenStore(address,
				objects.StoreOptions{Getenv: outputtest.Getenv(server.Env(strings.TrimPrefix(proxy.URL, "http://"))),
					Attempts: 6})
			if err != nil {
				t.Fatal(err)
			}
			reg, d := &memoryRegister{}, openFolder(t, tempDir(t))
			mustPublish(t, d, t0, tree(1))
			mustPublishTo(t, direct, reg, d)
			next := tree(2)
			delete(next, "v1/services/zeta.json")
			mustPublish(t, d, t0.Add(time.Minute), next)
			_, err = publishTo(through, reg, d)
			if faults.Load() == 0 {
				t.Error("the proxy did nothing")
			}
			if err != nil && !errors.Is(err, archive.ErrUnreachable) && !errors.Is(err, ErrConflict) {
				t.Errorf("%v, want that it can't be reached", err)
			}
			lied := strings.HasPrefix(test.about, "lies") // then it may be that nobody can tell whose pointer it is
			if (err == nil) == (test.every == 1) && !lied {
				t.Errorf("after %d faults: %v", faults.Load(), err)
			}
			checkBetween(t, test.about, direct, tree(1), next)
			mustPublishTo(t, direct, reg, d)
			verifyWhole(t, direct)
		})
	}
}

// A zip is sent while it is checked: one that turns out damaged, or no successor, leaves neither an object nor its
// parts.
func TestRefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		mustPublish(t, d, t0, tree(1))
		first := mustPublishTo(t, s, reg, d).Checkpoint
		before := namesIn(t, s)
		next := mustPublish(t, d, t0.Add(time.Minute), largeTree()).Checkpoint
		unlike := errors.New("unlike the one before")
		_, err := publishTo(s, reg, d, func(o *PublishOptions) {
			o.Check = func(_, _ archive.Files) error { return unlike }
		})
		if !errors.Is(err, ErrSuccessor) || !errors.Is(err, unlike) {
			t.Errorf("no successor: %v", err)
		}
		flipByteOf(t, d.snapshotPath(next.Snapshot), "v1/large-1.bin")
		if _, err := publishTo(s, reg, d); !errors.Is(err, archive.ErrDamaged) {
			t.Errorf("damaged: %v", err)
		}
		if diff := cmp.Diff(before, namesIn(t, s)); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
		if b, ok := s.(*objects.Bucket); ok {
			if left, err := b.IncompleteUploads(t.Context()); err != nil || len(left) > 0 {
				t.Errorf("parts of %v are left, %v", left, err)
			}
		}
		if v := verifyWhole(t, s); v.Snapshot != first.Snapshot {
			t.Errorf("%s is current", v.Snapshot)
		}
	})
}

// A store that keeps something else than it was sent, and says that all is well, is found out before its pointer moves.
func TestLyingStore(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	first := mustPublish(t, d, t0, tree(1)).Checkpoint
	old := openFolder(t, tempDir(t))
	mustPublish(t, old, t0, tree(1))
	folders := map[string][]string{"in one piece": {archive.SnapshotsDir, archive.PacksDir},
		"in parts": {archive.SnapshotsDir}}
	for about, files := range map[string]map[string]string{"in one piece": tree(2), "in parts": largeTree()} {
		mustPublish(t, d, t0.Add(time.Hour), files)
		for what, keep := range map[string]func([]byte) []byte{
			"the first byte": func(b []byte) []byte { b[0] ^= 1; return b },
			"a byte":         func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
			"the last byte":  func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
			"the end":        func(b []byte) []byte { return b[:len(b)-1] },
			"the size":       func(b []byte) []byte { return append(b, 0) },
		} {
			for _, folder := range folders[about] {
				s, reg := openStoreDir(t, tempDir(t)), &memoryRegister{}
				mustPublishTo(t, s, reg, old)
				if _, err := publishTo(&lyingStore{s, folder, keep}, reg, d); !errors.Is(err, archive.ErrDamaged) &&
					!errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%s, %s of %s is other: %v, want %v", about, what, folder, err, archive.ErrDamaged)
				}
				if c, err := archive.ParseCheckpoint(readFileOf(t, s, archive.CheckpointFile)); err != nil ||
					c.Snapshot != first.Snapshot {
					t.Errorf("%s, %s of %s: the pointer names %s, %v", about, what, folder, c.Snapshot, err)
				}
				mustPublishTo(t, s, reg, d)
				verifyWhole(t, s)
				hour := archive.HourOf(t0.Add(time.Hour))
				if want, err := os.ReadFile(d.packPath(hour)); err != nil ||
					!bytes.Equal(readFileOf(t, s, archive.PackName(hour)), want) {
					t.Errorf("%s, %s of %s: the next run leaves another pack, %v", about, what, folder, err)
				}
			}
		}
	}
}

// lyingStore keeps what keep makes of objects in a folder.
type lyingStore struct {
	objects.Store
	folder string
	keep   func([]byte) []byte
}

func (s *lyingStore) Put(ctx context.Context, name string, body objects.Body, o objects.PutOptions) (string, error) {
	if !strings.HasPrefix(name, s.folder+"/") {
		return s.Store.Put(ctx, name, body, o)
	}
	data := make([]byte, body.Size())
	if _, err := body.ReadAt(data, 0); err != nil && err != io.EOF {
		return "", err
	}
	return s.Store.Put(ctx, name, bytes.NewReader(s.keep(data)), o)
}

// A pack that was written anew, because a service was erased, takes the place of the old one in the store, and readers
// that had the old one open read the new.
func TestPublishErased(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		mustPublish(t, d, t0, tree(1))
		mustPublishTo(t, s, reg, d)
		const block = "v1/checks/block=0.json"
		hour := archive.HourOf(t0)
		var sources []*Source
		for _, source := range []*Source{OpenStoreSource(s, 0, quiet()), openSource(t, d.Root())} {
			defer source.Close()
			snap := current(t, source)
			if data, err := snap.ReadPack(hour, block); err != nil || string(data) != "rows of "+hour {
				t.Fatalf("%s, %v", data, err)
			}
			snap.Release()
			sources = append(sources, source)
		}
		b, err := d.Begin(t.Context(), BuildOptions{Now: t0.Add(time.Minute), Next: t0})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Abort()
		erased := strings.Repeat("x", len("rows of "+hour)) // of the same size
		if err := b.RewritePack(hour, func(string, []byte) ([]byte, error) { return []byte(erased), nil }); err != nil {
			t.Fatal(err)
		}
		b.SetErased(3)
		if err := b.Add("index.html", []byte("without it")); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := mustPublishTo(t, s, reg, d); r.Packs != 1 || r.Checkpoint.Erased != 3 {
			t.Errorf("%+v", r)
		}
		verifyWhole(t, s)
		for i, source := range sources {
			if err := source.Refresh(); err != nil {
				t.Fatal(err)
			}
			for _, snap := range []*Snapshot{current(t, source), pinned(t, source, *previousIn(t, s))} {
				if data, err := snap.ReadPack(hour, block); err != nil || string(data) != erased {
					t.Errorf("source %d, snapshot %s: %s, %v", i, snap.ID, data, err)
				}
				snap.Release()
			}
		}
		back, err := NewPublisher(s, reg, PublishOptions{Now: t0}).Rollback(t.Context(), *previousIn(t, s))
		if err != nil || back.Checkpoint.Erased != 3 {
			t.Errorf("a rollback brings nothing back: %+v, %v", back, err)
		}
	})
}

// previousIn is the snapshot before the one that a store's pointer names.
func previousIn(t testing.TB, s objects.Store) *string {
	t.Helper()
	c, err := archive.ParseCheckpoint(readFileOf(t, s, archive.CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	return c.Previous
}
