package output

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// isSigned reports whether a checkpoint is signed with the publisher's key, or has no signature if there is no key.
func (p *Publisher) isSigned(c archive.Checkpoint) bool {
	if p.o.Key == nil {
		return c.Signature == nil
	}
	return c.VerifySignature(p.o.Key.Public().(ed25519.PublicKey)) == nil
}

// checkKey returns an error that wraps archive.ErrSigned if the target's pointer is signed with another key than ours.
func (p *Publisher) checkKey(t target) error {
	if p.o.ChangeKey {
		return nil
	}
	return t.checkpoint.CheckSuccessorKey(p.o.Key)
}

// movePointer publishes: it replaces the whole pointer, and reads it back.
func (p *Publisher) movePointer(ctx context.Context, etag string, c archive.Checkpoint) error {
	data := c.Encode()
	o := objects.PutOptions{Header: pointerHeader, IfMatch: etag, IfNone: etag == ""}
	_, err := p.store.Put(ctx, archive.CheckpointFile, bytes.NewReader(data), o)
	if errors.Is(err, errors.ErrUnsupported) {
		o.IfMatch, o.IfNone = "", false // without conditions, the register is the only lock
		_, err = p.store.Put(ctx, archive.CheckpointFile, bytes.NewReader(data), o)
	}
	if err != nil && !errors.Is(err, archive.ErrCondition) && !errors.Is(err, archive.ErrUnreachable) {
		return err
	}
	// The pointer may be written in spite of an error, if the response was lost.
	_, got, readErr := objects.ReadObject(ctx, p.store, archive.CheckpointFile, objects.GetOptions{},
		archive.MaxCheckpoint)
	switch {
	case readErr == nil && bytes.Equal(got, data):
		return nil
	case errors.Is(err, archive.ErrCondition):
		return fmt.Errorf("%w: the checkpoint was moved", ErrConflict)
	case err != nil:
		return err
	case readErr != nil:
		return fmt.Errorf("read the checkpoint back: %w", readErr)
	}
	return fmt.Errorf("read the checkpoint back: %w: it is not what was sent", ErrConflict)
}
