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

// zipSumExt ends the name of the file beside a snapshot's zip that contains the SHA-256 of the zip, as sha256sum writes
// it. A publisher compares the zip with that sum instead of unpacking every file: both find a byte that changed since
// the build. The sum does not say who built the zip; the digest and signature of the checkpoint do.
const zipSumExt = ".zip.sha256"

func (d *Folder) zipSumPath(id string) string {
	return filepath.Join(d.root, archive.SnapshotsDir, id+zipSumExt)
}

func formatZipSum(id string, sum hash.Hash) []byte {
	return fmt.Appendf(nil, "%s  %s.zip\n", hex.EncodeToString(sum.Sum(nil)), id)
}

// writeZipSum writes the sum of a zip that was read back.
func (d *Folder) writeZipSum(id string, sum hash.Hash) error {
	return d.disk.Replace(d.zipSumPath(id), filepath.Join(d.root, objects.TempPrefix+id+zipSumExt),
		formatZipSum(id, sum))
}

// matchesZipSum reads the whole zip of a snapshot and reports whether it matches its sum. It returns false if there is
// no sum.
func (d *Folder) matchesZipSum(ctx context.Context, id string, zip io.ReaderAt, size int64) (bool, error) {
	seal, err := os.ReadFile(d.zipSumPath(id))
	if err != nil {
		return false, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, &contextReader{ctx, io.NewSectionReader(zip, 0, size)}); err != nil {
		return false, fmt.Errorf("%s: %w", d.snapshotPath(id), err)
	}
	return string(seal) == string(formatZipSum(id, sum)), nil
}

// contextReader reads until a context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (u *contextReader) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
