package output

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// TestGateIsNamed builds two snapshots with a file for payers, publishes them with another key than they were built
// with, and rolls both places back. Each checkpoint names the place and the sum of its own snapshot's file, and signs
// them. A checkpoint that names another place is found.
func TestGateIsNamed(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		ours, theirs := keyOf("a"), keyOf("b")
		var ids []string
		files := map[string][]byte{}
		check := func(about string, c archive.Checkpoint, err error, key ed25519.PrivateKey) {
			t.Helper()
			if err != nil || c.Gate == nil {
				t.Fatalf("%s: %+v, %v", about, c, err)
			}
			if err := c.VerifyGate(publicOf(key)); err != nil {
				t.Errorf("%s: %v", about, err)
			}
			zip, err := os.Open(d.snapshotPath(c.Snapshot))
			if err != nil {
				t.Fatal(err)
			}
			defer zip.Close()
			got := make([]byte, c.Gate.Size)
			if _, err := zip.ReadAt(got, c.Gate.At); err != nil || !bytes.Equal(got, files[c.Snapshot]) {
				t.Errorf("%s: the zip has something else at %d: %v", about, c.Gate.At, err)
			}
			if sum := sha256.Sum256(got[:archive.GateHeader]); hex.EncodeToString(sum[:]) != c.Gate.SHA256 {
				t.Errorf("%s: the sum is that of something else", about)
			}
		}
		for i := range 2 {
			b, err := d.Begin(t.Context(), BuildOptions{Now: t0.Add(time.Duration(i) * time.Minute), Next: t0,
				Expand: ExpandNone, Key: ours})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Add("index.html", []byte(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
			file := bytes.Repeat([]byte{byte(i + 1)}, archive.GateHeader+100+i)
			if _, err := b.AddDataFile(archive.GateFile, func(w io.Writer) error {
				_, err := w.Write(file)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			r, err := b.Commit(t.Context())
			ids, files[r.Checkpoint.Snapshot] = append(ids, r.Checkpoint.Snapshot), file
			check("build", r.Checkpoint, err, ours)
			published := mustPublishTo(t, s, reg, d, func(o *PublishOptions) { o.Key = theirs })
			check("publish", published.Checkpoint, nil, theirs)
			if v, err := VerifyStore(t.Context(), s, VerifyOptions{Key: publicOf(theirs)}); err != nil || v.Wrong > 0 {
				t.Errorf("verify: %+v, %v", v, err)
			}
		}
		c, _, err := d.Rollback(t.Context(), ids[0], RollbackOptions{Key: ours})
		check("rollback of the folder", c, err, ours)
		back, err := NewPublisher(s, reg, PublishOptions{Now: t0, Key: theirs}).Rollback(t.Context(), ids[0])
		check("rollback of the place", back.Checkpoint, err, theirs)

		moved := *back.Checkpoint.Gate
		moved.At++
		forged := back.Checkpoint
		forged.Gate = &moved
		mustPut(t, s, archive.CheckpointFile, string(forged.Sign(theirs).Encode()), objects.PutOptions{})
		if v, err := VerifyStore(t.Context(), s, VerifyOptions{Key: publicOf(theirs)}); err != nil || v.Wrong != 1 {
			t.Errorf("verify of another place: %+v, %v", v, err)
		}
	})
}
