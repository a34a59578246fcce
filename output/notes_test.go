package output

import (
	"os"
	"testing"
	"time"

	"tollbook/output/archive"
)

// TestNotes checks that the next build reads the notes of a snapshot and can copy its files, unless the notes belong to
// another snapshot or are incomplete. A damaged file is not copied.
func TestNotes(t *testing.T) {
	t.Parallel()
	remove := func(path string) func(*testing.T) {
		return func(t *testing.T) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		about   string
		change  func(d *Folder, ids []string) func(*testing.T)
		full    bool
		want    bool
		damaged string // the file that cannot be copied
	}{
		{about: "as it was built", want: true},
		{about: "all anew", full: true},
		{about: "no notes", change: func(d *Folder, _ []string) func(*testing.T) { return remove(d.notesPath()) }},
		{about: "no seal", change: func(d *Folder, ids []string) func(*testing.T) {
			return remove(d.zipSumPath(ids[1]))
		}, want: true},
		{about: "a byte of a file", change: func(d *Folder, ids []string) func(*testing.T) {
			return func(t *testing.T) { flipByteOf(t, d.snapshotPath(ids[1]), "index.html") }
		}, want: true, damaged: "index.html"},
		{about: "a byte of the digest in the notes", change: func(d *Folder, _ []string) func(*testing.T) {
			return func(t *testing.T) {
				data, err := os.ReadFile(d.notesPath())
				if err == nil {
					data[3] ^= 1
					err = os.WriteFile(d.notesPath(), data, 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}},
		{about: "notes that were cut", change: func(d *Folder, _ []string) func(*testing.T) {
			return func(t *testing.T) {
				if err := os.Truncate(d.notesPath(), 63); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{about: "the snapshot before is current again", change: func(d *Folder, ids []string) func(*testing.T) {
			return func(t *testing.T) {
				if _, _, err := d.Rollback(t.Context(), ids[0], RollbackOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			d := openFolder(t, tempDir(t))
			var ids []string
			for i := range 2 {
				ids = append(ids, mustPublish(t, d, t0.Add(time.Duration(i)*time.Minute), tree(i)).Checkpoint.Snapshot)
			}
			if test.change != nil {
				test.change(d, ids)(t)
			}
			b, err := d.Begin(t.Context(), BuildOptions{Now: t0.Add(time.Hour), Next: t0.Add(2 * time.Hour),
				Full: test.full})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Abort()
			got := b.Notes()
			if (got != nil) != test.want {
				t.Fatalf("there are notes: %v", got != nil)
			}
			if !test.want {
				return
			}
			if string(got) != notesOf(t0.Add(time.Minute)) {
				t.Errorf("notes %q", got)
			}
			for name, want := range tree(1) {
				p, ok := b.Reuse(name)
				if ok == (name == test.damaged) {
					t.Errorf("%s can be copied: %t", name, ok)
				}
				if !ok {
					continue
				}
				if got, err := p.Contents(); err != nil || string(got) != want {
					t.Errorf("%s: %d bytes, %v", name, len(got), err)
				}
				if err := b.AddPacked(name, p); err != nil {
					t.Error(err)
				}
			}
			if _, ok := b.Reuse("v1/none.json"); ok {
				t.Error("a missing file was copied")
			}
			r, err := b.Commit(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			z, err := archive.OpenZipFile(d.snapshotPath(r.Checkpoint.Snapshot))
			if err != nil {
				t.Fatal(err)
			}
			defer z.Close()
			want := len(tree(1))
			if test.damaged != "" {
				want--
			}
			if err := archive.Verify(t.Context(), z, r.Checkpoint.Digest); err != nil || r.Summary.Copied != want {
				t.Errorf("the next snapshot: %v, %d files of %d were copied", err, r.Summary.Copied, want)
			}
		})
	}
}

// TestNotesOfAFailedBuild checks that a failed build leaves no notes, and no older notes as its own.
func TestNotesOfAFailedBuild(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	id := mustPublish(t, d, t0, tree(1)).Checkpoint.Snapshot
	b, err := d.Begin(t.Context(), BuildOptions{Now: t0.Add(time.Minute), Next: t0.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	b.SetNotes([]byte("of what was never published"))
	b.Abort()
	if got := readNotes(d, id); got != notesOf(t0) {
		t.Errorf("notes %q", got)
	}
	if err := checkWhole(d.Root()); err != nil {
		t.Error(err)
	}
}
