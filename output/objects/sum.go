package objects

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"tollbook/output/archive"
)

// maxContent limits the unpacked content of an object, in bytes.
const maxContent = 1 << 30

// CheckFile reads a file of a table in a store and returns an error that wraps archive.ErrDamaged unless it has its
// size and sum. It reads at most one byte more than the size.
func CheckFile(ctx context.Context, s Store, want archive.DataFile) error {
	return StreamObject(ctx, s, want.Name, func(obj Object, body io.Reader) error {
		h := sha256.New()
		n, err := io.Copy(h, io.LimitReader(body, want.Bytes+1))
		if err == nil && (n != want.Bytes || archive.Sum(h.Sum(nil)) != want.Sum) {
			err = fmt.Errorf("%w: its bytes are not the %d with sha256 %s", archive.ErrDamaged, want.Bytes, want.Sum)
		}
		return err
	})
}

// ContentSum returns the sum of an object's content after unpacking, as a reader sees it.
func ContentSum(ctx context.Context, s Store, name string) (sum archive.Sum, err error) {
	err = StreamObject(ctx, s, name, func(obj Object, body io.Reader) error {
		switch obj.Header.Encoding {
		case "":
		case "gzip":
			z, err := gzip.NewReader(body)
			if err != nil {
				return damagedUnlessUnreachable(err)
			}
			body = z
		default:
			return fmt.Errorf("%w: its encoding is %q", archive.ErrDamaged, obj.Header.Encoding)
		}
		h := sha256.New()
		if _, err := io.Copy(h, io.LimitReader(body, maxContent)); err != nil {
			return damagedUnlessUnreachable(err)
		}
		sum = archive.Sum(h.Sum(nil))
		return nil
	})
	return sum, err
}

// damagedUnlessUnreachable marks an error of unpacking as damage, which no second read would mend.
func damagedUnlessUnreachable(err error) error {
	if errors.Is(err, archive.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w: %v", archive.ErrDamaged, err)
}
