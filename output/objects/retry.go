package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"tollbook/output/archive"
)

// Pauses between two attempts of a request. A pause is random, so that requests that failed together are not repeated
// together.
const (
	firstPause = 200 * time.Millisecond
	maxPause   = time.Second
)

// readTries is the number of times that a range is read whose response breaks off after it has begun.
const readTries = 6

// errBrokenOff marks a response that broke off after it had begun. The request itself is not repeated then, because a
// part of the response was returned already.
var errBrokenOff = errors.New("the response broke off")

// retry sends a request of a bucket until it has a response that is more than a passing failure, at most attempts
// times. It returns the errors that Store promises.
func (b *Bucket) retry(ctx context.Context, verb, name string, send func(context.Context) error) (err error) {
	for try := range b.attempts {
		if try > 0 && pause(ctx, try) != nil {
			break
		}
		if err = b.wrapError(ctx, verb, name, send(withAttempt(ctx, try))); !errors.Is(err, archive.ErrUnreachable) {
			return err
		}
	}
	return err
}

// pause waits before an attempt; try is 1 for the second one.
func pause(ctx context.Context, try int) error {
	longest := maxPause
	if try < 8 { // shifted further, the time would overflow
		longest = min(maxPause, firstPause<<(try-1))
	}
	select {
	case <-time.After(rand.N(longest)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retryRead repeats a read while its response breaks off.
func retryRead(ctx context.Context, read func() error) (err error) {
	for try := range readTries {
		if try > 0 && pause(ctx, try) != nil {
			break
		}
		if err = read(); !errors.Is(err, errBrokenOff) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
	}
	return err
}

// responseBody wraps the errors of a body that breaks off in ErrUnreachable.
type responseBody struct {
	io.ReadCloser
	name string
}

func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("get %s: %w: %w: %w", b.name, archive.ErrUnreachable, errBrokenOff, err)
	}
	return n, err
}
