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

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// A seal is the sha256 of a snapshot's zip, in a file beside it as sha256sum writes it. What was built and read back is
// published by it without unpacking a file: a byte that changed since shows all the same. It says what the disk should
// hold, not who made it: for that there are the digest and the signature of the checkpoint.
const sealExt = ".zip.sha256"

func (d *Folder) sealPath(id string) string {
	return filepath.Join(d.root, archive.SnapshotsDir, id+sealExt)
}

func sealOf(id string, sum hash.Hash) []byte {
	return fmt.Appendf(nil, "%s  %s.zip\n", hex.EncodeToString(sum.Sum(nil)), id)
}

// seal writes the seal of a zip that was read back.
func (d *Folder) seal(id string, sum hash.Hash) error {
	return d.disk.replace(d.sealPath(id), filepath.Join(d.root, objects.TempPrefix+id+sealExt), sealOf(id, sum))
}

// isSealed reads all of a snapshot's zip and says whether it is what its seal says; it is not where there is no seal.
func (d *Folder) isSealed(ctx context.Context, id string, zip io.ReaderAt, size int64) (bool, error) {
	seal, err := os.ReadFile(d.sealPath(id))
	if err != nil {
		return false, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, &untilDone{ctx, io.NewSectionReader(zip, 0, size)}); err != nil {
		return false, fmt.Errorf("%s: %w", d.snapshotPath(id), err)
	}
	return string(seal) == string(sealOf(id, sum)), nil
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
