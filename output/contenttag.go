package output

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"

	"tollbook/output/objects"
)

// contentTags are the sums of files that are downloaded. The ETag of a folder's file comes from its metadata, which
// copies of a publication do not share: a download that another replica continues would start anew.
type contentTags struct {
	mu   sync.Mutex // locked while a file is read, so that one is read at a time
	sums map[contentKey]string
}

// contentKey names a file and its ETag in the store.
type contentKey struct{ name, etag string }

// maxContentTags is how many sums are stored: more than the snapshots and packs that readers ask for at a time.
const maxContentTags = 256

// of returns the SHA-256 of an object, in hexadecimal. It reads an object once.
func (t *contentTags) of(ctx context.Context, store objects.Store, obj objects.Object) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := contentKey{obj.Name, obj.ETag}
	if sum, ok := t.sums[key]; ok {
		return sum, nil
	}
	_, body, err := store.Get(ctx, obj.Name, objects.GetOptions{IfMatch: obj.ETag})
	if err != nil {
		return "", err
	}
	defer body.Close()
	h := sha256.New()
	if _, err := io.Copy(h, &contextReader{ctx, body}); err != nil {
		return "", fmt.Errorf("read %s: %w", obj.Name, err)
	}
	if t.sums == nil || len(t.sums) == maxContentTags {
		t.sums = map[contentKey]string{}
	}
	t.sums[key] = hex.EncodeToString(h.Sum(nil))
	return t.sums[key], nil
}
