package serve

import (
	"bytes"
	"errors"

	"github.com/klauspost/compress/zstd"
)

// zstdWindow limits the memory of a client that unpacks a response, in bytes.
const zstdWindow = 1 << 20

// zstdEncoder compresses whole responses; EncodeAll may be called concurrently.
var zstdEncoder = func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2),
		zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
}()

// zstdBody returns a body in memory compressed with zstd as its plain form. It is stored from the second request on, as
// other responses are.
func (h *handler) zstdBody(s *slot, b *body) (*body, error) {
	return h.makeBody(s, cacheKey{name: "zstd " + b.plainTag[0]}, func() (*body, error) {
		data, err := b.gunzip()
		if err != nil {
			return nil, errors.Join(errors.New("compress with zstd"), err)
		}
		z := &body{plain: bytes.Clone(zstdEncoder.EncodeAll(data, nil))}
		z.length = len(z.plain)
		z.setSizes()
		digest := b.plainTag[0]
		z.plainTag = []string{digest[:len(digest)-1] + `-zst"`}
		return z, nil
	})
}
