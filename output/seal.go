package output

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// A seal is the sha256 of a snapshot's zip, in a file beside it as sha256sum writes it. What was built and read back is
// published by it without unpacking a file: a byte that changed since shows all the same. It says what the disk should hold,
// not who made it: for that there are the digest and the signature of the checkpoint.
const sealExt = ".zip.sha256"

func (d *Folder) sealPath(id string) string { return filepath.Join(d.root, snapshotsDir, id+sealExt) }

func sealOf(id string, sum hash.Hash) []byte {
	return fmt.Appendf(nil, "%s  %s.zip\n", hex.EncodeToString(sum.Sum(nil)), id)
}

// seal writes the seal of a zip that was read back.
func (d *Folder) seal(id string, sum hash.Hash) error {
	return d.disk.replace(d.sealPath(id), filepath.Join(d.root, tempPrefix+id+sealExt), sealOf(id, sum))
}

// checkSealed reads all of a snapshot's zip and holds it to its seal. Where there is none, or another, every file of it is
// unpacked and held to its own sum.
func (d *Folder) checkSealed(ctx context.Context, c Checkpoint, zip Body, tree Tree) error {
	if tree.Digest() == c.Digest {
		if seal, err := os.ReadFile(d.sealPath(c.Snapshot)); err == nil {
			sum := sha256.New()
			if _, err := io.Copy(sum, &untilDone{ctx, io.NewSectionReader(zip, 0, zip.Size())}); err != nil {
				return fmt.Errorf("%s: %w", d.snapshotPath(c.Snapshot), err)
			}
			if string(seal) == string(sealOf(c.Snapshot, sum)) {
				return nil
			}
		}
	}
	if err := Verify(ctx, tree, c.Digest); err != nil {
		return fmt.Errorf("%s: %w", d.snapshotPath(c.Snapshot), err)
	}
	return nil
}

// untilDone reads until a context is done.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u *untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
