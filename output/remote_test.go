package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/output/outputtest"
)

// hookedStore calls hook for every operation; hook may fail it before or after doing it.
type hookedStore struct {
	objects.Store
	hook func(op, name string, do func() error) error
}

func (s *hookedStore) Put(ctx context.Context, name string, body objects.Body, o objects.PutOptions) (etag string,
	err error) {
	err = s.hook("put", name, func() error {
		etag, err = s.Store.Put(ctx, name, body, o)
		return err
	})
	return etag, err
}

func (s *hookedStore) Get(ctx context.Context, name string, o objects.GetOptions) (obj objects.Object,
	body io.ReadCloser, err error) {
	err = s.hook("get", name, func() error {
		obj, body, err = s.Store.Get(ctx, name, o)
		return err
	})
	if err != nil && body != nil {
		body.Close()
	}
	return obj, body, err
}

func (s *hookedStore) Stat(ctx context.Context, name string) (obj objects.Object, err error) {
	err = s.hook("stat", name, func() error {
		obj, err = s.Store.Stat(ctx, name)
		return err
	})
	return obj, err
}

func (s *hookedStore) List(ctx context.Context, folder string) (list []objects.Object, err error) {
	err = s.hook("list", folder, func() error {
		list, err = s.Store.List(ctx, folder)
		return err
	})
	return list, err
}

func (s *hookedStore) Delete(ctx context.Context, names []string) error {
	return s.hook("delete", strings.Join(names, " "), func() error { return s.Store.Delete(ctx, names) })
}

func (s *hookedStore) Sweep(ctx context.Context, keep string) error {
	return s.hook("sweep", "", func() error { return s.Store.Sweep(ctx, keep) })
}

// copyTo copies a folder's zips and its pointer into a store with a plain copy.
func copyTo(t testing.TB, s objects.Store, d *Folder) {
	t.Helper()
	for _, pattern := range []string{archive.SnapshotsDir + "/*.zip", archive.PacksDir + "/*.zip",
		archive.CheckpointFile} {
		paths, err := filepath.Glob(filepath.Join(d.Root(), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(d.Root(), path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := objects.OpenBody(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Put(t.Context(), filepath.ToSlash(name), body, objects.PutOptions{}); err != nil {
				t.Fatal(err)
			}
			body.Close()
		}
	}
}

// TestStoreSource checks that a source follows a store as it follows a folder, with snapshots by id and packs.
func TestStoreSource(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		about string
		open  func(t *testing.T) objects.Store
	}{
		{"folder", func(t *testing.T) objects.Store { return openStore(t, tempDir(t), nil) }},
		{"versitygw", func(t *testing.T) objects.Store {
			server := outputtest.Versity(t)
			return openStore(t, server.Bucket(t), server)
		}},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			store := &hookedStore{test.open(t), func(_, _ string, do func() error) error {
				requests.Add(1)
				return do()
			}}
			d := openFolder(t, tempDir(t))
			s := OpenStoreSource(store, 0, quiet())
			defer s.Close()
			if _, err := s.Current(); !errors.Is(err, ErrEmpty) {
				t.Fatalf("before the first: %v, want %v", err, ErrEmpty)
			}
			var ids []string
			for i := range 9 {
				ids = append(ids, mustPublish(t, d, t0.Add(time.Duration(i)*time.Minute), tree(i)).Checkpoint.Snapshot)
				copyTo(t, store, d)
				requests.Store(0)
				if err := s.Refresh(); err != nil {
					t.Fatal(err)
				}
				snap := current(t, s)
				for name, want := range tree(i) {
					if got := readString(t, snap, name); got != want {
						t.Errorf("%s of %s reads %.40q", name, snap.ID, got)
					}
				}
				// the pointer, the size, the end, and the rest in advance
				if n := requests.Load(); snap.ID != ids[i] || n > 4 {
					t.Errorf("open is %s, want %s; %d requests", snap.ID, ids[i], n)
				}
				snap.Release()
			}
			for i, id := range ids {
				snap := byID(t, s, id)
				if got := readString(t, snap, "index.html"); got != tree(i)["index.html"] {
					t.Errorf("%s reads %s", id, got)
				}
				data, err := snap.ReadPack("2026112023", "v1/checks/block=0.json")
				if err != nil || string(data) != "rows of 2026112023" {
					t.Errorf("pack: %q, %v", data, err)
				}
				snap.Release()
			}
			for _, id := range []string{"", "x", "../" + ids[0], "20261120T234501Z-ffffff"} {
				if _, err := s.ByID(id); !errors.Is(err, ErrNotRetained) {
					t.Errorf("%q: %v, want %v", id, err, ErrNotRetained)
				}
			}
		})
	}
}

// TestStoreSourceUnreachable checks that open snapshots stay in use while a store is unreachable. The source follows a
// store that comes back with another build.
func TestStoreSourceUnreachable(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	store := &hookedStore{openStore(t, tempDir(t), nil), func(op, name string, do func() error) error {
		if away.Load() {
			return fmt.Errorf("%s %s: %w", op, name, archive.ErrUnreachable)
		}
		return do()
	}}
	var log bytes.Buffer
	s := OpenStoreSource(store, 0, slog.New(slog.NewTextHandler(&log, nil)))
	defer s.Close()

	away.Store(true)
	if _, err := s.Current(); !errors.Is(err, archive.ErrUnreachable) {
		t.Fatalf("unreachable from the beginning: %v, want %v", err, archive.ErrUnreachable)
	}
	away.Store(false)
	d := openFolder(t, tempDir(t))
	first := mustPublish(t, d, t0, tree(1)).Checkpoint.Snapshot
	copyTo(t, store, d)
	snap := current(t, s)
	defer snap.Release()
	if err := s.Refresh(); err != nil || s.Err() != nil || snap.ID != first {
		t.Fatalf("open is %s, %v, %v", snap.ID, err, s.Err())
	}

	away.Store(true)
	for range 3 {
		if err := s.Refresh(); !errors.Is(err, archive.ErrUnreachable) {
			t.Errorf("refresh: %v", err)
		}
	}
	if !errors.Is(s.Err(), archive.ErrUnreachable) {
		t.Errorf("the source says %v", s.Err())
	}
	for name, want := range tree(1) { // a small snapshot is completely in memory
		if got := readString(t, current(t, s), name); got != want {
			t.Errorf("%s reads %.40q", name, got)
		}
	}
	if _, err := s.ByID("20261120T234501Z-ffffff"); !errors.Is(err, archive.ErrUnreachable) {
		t.Errorf("another snapshot: %v, want ErrUnreachable", err)
	}

	// a different directory with older snapshots
	other := openFolder(t, tempDir(t))
	want := mustPublish(t, other, t0.Add(-time.Hour), tree(7)).Checkpoint.Snapshot
	copyTo(t, store.Store, other)
	away.Store(false)
	if err := s.Refresh(); err != nil || s.Err() != nil {
		t.Errorf("back again: %v, %v", err, s.Err())
	}
	next := current(t, s)
	defer next.Release()
	if got := readString(t, next, "index.html"); next.ID != want || got != tree(7)["index.html"] {
		t.Errorf("open is %s with %s, want %s", next.ID, got, want)
	}
	if n := strings.Count(log.String(), "cannot read the pointer"); n != 1 {
		t.Errorf("logged %d times that the store is unreachable:\n%s", n, &log)
	}
}

// TestStoreSourceBadPointer checks that an invalid pointer is an error and changes nothing.
func TestStoreSourceBadPointer(t *testing.T) {
	t.Parallel()
	store := openStore(t, tempDir(t), nil)
	s := OpenStoreSource(store, 0, quiet())
	defer s.Close()
	d := openFolder(t, tempDir(t))
	id := mustPublish(t, d, t0, tree(1)).Checkpoint.Snapshot
	copyTo(t, store, d)
	current(t, s).Release()
	for _, bad := range []string{"", "{}", `{"snapshot": "../x"}`, strings.Repeat("x", archive.MaxCheckpoint+1),
		strings.ReplaceAll(string(readFileOf(t, store, archive.CheckpointFile)), id, "20261120T234501Z-ffffff")} {
		mustPut(t, store, archive.CheckpointFile, bad, objects.PutOptions{})
		if err := s.Refresh(); err == nil || s.Err() == nil {
			t.Errorf("%.40q: no error", bad)
		}
		snap := current(t, s)
		if snap.ID != id {
			t.Errorf("%.40q: open is %s", bad, snap.ID)
		}
		snap.Release()
	}
}

func readFileOf(t testing.TB, s objects.Store, name string) []byte {
	t.Helper()
	_, text := mustGet(t, s, name, objects.GetOptions{})
	return []byte(text)
}
