package gate

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"tollbook/site"
	"tollbook/site/listing"
)

// ErrUnavailable marks that there is no verdict: the directory cannot be reached, or what it sent is damaged, older than
// what was read before, or not signed with the key.
var ErrUnavailable = errors.New("no verdict")

// Options say what a client asks.
type Options struct {
	Directory string // base URL; "" for a copy alone
	Copy      *Copy  // is asked first, until it is older than MaxAge; may be nil

	Key        ed25519.PublicKey // signs; the client pins it
	Unverified bool              // verify no signature, because there is no key

	MaxAge time.Duration // of facts; 24 hours for 0
	HTTP   *http.Client  // http.DefaultClient for nil
	Now    func() time.Time
}

// Copy is an offline copy: checkpoint.json and data/gate.bin of one snapshot.
type Copy struct{ Checkpoint, File []byte }

const (
	defaultMaxAge = 24 * time.Hour
	keepFor       = 10 * time.Minute // until the checkpoint is read again
	maxCheckpoint = 64 << 10
	maxFile       = 64 << 20
	readTimeout   = 10 * time.Second
)

// Client answers from a directory or a copy. All methods may be called concurrently.
type Client struct {
	o Options

	mu    sync.Mutex // held while the directory is read, so that many payments wait for one answer
	state *state     // of the directory; nil before the first answer
	copy  *state
}

// state is a header that was verified, with the buckets read so far.
type state struct {
	checkpoint checkpoint
	header     *Header
	file       []byte // the whole file; nil if it is read in parts
	buckets    map[int64][]byte
	readAt     time.Time
}

// checkpoint is what the client needs of checkpoint.json.
type checkpoint struct {
	Snapshot   string `json:"snapshot"`
	Generation int64  `json:"generation"`
	Gate       *struct {
		At     int64  `json:"at"`
		Size   int64  `json:"size"`
		SHA256 string `json:"sha256"`
	} `json:"gate"`
	Signature *string `json:"gate_signature"`
}

// New returns a client. It verifies the copy.
func New(o Options) (*Client, error) {
	o.MaxAge, o.HTTP = cmp.Or(o.MaxAge, defaultMaxAge), cmp.Or(o.HTTP, http.DefaultClient)
	o.Directory = strings.TrimSuffix(o.Directory, "/")
	if o.Now == nil {
		o.Now = time.Now
	}
	switch {
	case o.Key == nil && !o.Unverified:
		return nil, errors.New("make gate: give the directory's key, or say that it is Unverified")
	case o.Key != nil && len(o.Key) != ed25519.PublicKeySize:
		return nil, fmt.Errorf("make gate: the key has %d bytes, want %d", len(o.Key), ed25519.PublicKeySize)
	case o.Directory == "" && o.Copy == nil:
		return nil, errors.New("make gate: give a directory or a copy")
	}
	if u, err := url.Parse(o.Directory); o.Directory != "" && (err != nil || u.Host == "" ||
		u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("make gate: %.100q is not the address of a directory", o.Directory)
	}
	c := &Client{o: o}
	if o.Copy != nil {
		s, err := c.verify(o.Copy.Checkpoint, func(cp *checkpoint) ([]byte, error) {
			return o.Copy.File[:min(len(o.Copy.File), HeaderSize)], nil
		})
		if err != nil {
			return nil, fmt.Errorf("make gate: read the copy: %w", err)
		}
		s.file, c.copy = o.Copy.File, s
	}
	return c, nil
}

// Check returns whether a payment for a resource is as the directory observed it. Its error wraps ErrUnavailable if there
// is no verdict. A text that is no URL is not listed.
func (c *Client) Check(ctx context.Context, q Requirement, resource string) (Result, error) {
	normal, err := listing.NormalURL(resource)
	if err != nil {
		normal = ""
	}
	result, err := c.check(ctx, q, normal)
	if err != nil {
		return Result{}, fmt.Errorf("check payment for %.200q: %w", resource, err)
	}
	if c.o.Directory != "" && normal != "" {
		result.Evidence = c.o.Directory + "/v1/lookup/url/" + site.Hash(normal) + ".json"
	}
	return result, nil
}

func (c *Client) check(ctx context.Context, q Requirement, normal string) (Result, error) {
	now := c.o.Now()
	if s := c.copy; s != nil && (c.o.Directory == "" || now.Sub(s.header.BuiltAt) <= c.o.MaxAge) {
		return c.judge(ctx, s, q, normal, now)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refresh(ctx, now); err != nil {
		return Result{}, err
	}
	return c.judge(ctx, c.state, q, normal, now)
}

// judge reads the bucket of a URL and judges.
func (c *Client) judge(ctx context.Context, s *state, q Requirement, normal string, now time.Time) (Result, error) {
	bucket, err := c.bucket(ctx, s, normal)
	if err != nil {
		return Result{}, err
	}
	record, err := s.header.Find(bucket, normal)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return Judge(record, q, s.header.BuiltAt, now, c.o.MaxAge), nil
}

// refresh reads the checkpoint and the header anew if it is time. If that fails, what was verified before serves on:
// Judge says when it is too old.
func (c *Client) refresh(ctx context.Context, now time.Time) error {
	if c.state != nil && now.Sub(c.state.readAt) < min(keepFor, c.o.MaxAge) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	text, err := c.get(ctx, "/checkpoint.json", -1, maxCheckpoint)
	var s *state
	if err == nil {
		s, err = c.verify(text, func(cp *checkpoint) ([]byte, error) { return c.read(ctx, cp, 0, HeaderSize) })
	}
	if err == nil && c.state != nil && s.checkpoint.Generation < c.state.checkpoint.Generation {
		err = fmt.Errorf("%w: the directory went back from generation %d to %d", ErrUnavailable,
			c.state.checkpoint.Generation, s.checkpoint.Generation)
	}
	switch {
	case err != nil && c.state != nil && now.Sub(c.state.header.BuiltAt) <= c.o.MaxAge:
		c.state.readAt = now
		return nil
	case err != nil:
		return err
	case c.state != nil && s.checkpoint.Gate.SHA256 == c.state.checkpoint.Gate.SHA256:
		s.buckets = c.state.buckets
	}
	s.readAt, c.state = now, s
	return nil
}

// verify parses a checkpoint, verifies its signature and reads the header that it names.
func (c *Client) verify(text []byte, read func(*checkpoint) ([]byte, error)) (*state, error) {
	s := &state{buckets: map[int64][]byte{}}
	cp := &s.checkpoint
	if err := json.Unmarshal(text, cp); err != nil {
		return nil, fmt.Errorf("%w: read checkpoint.json: %w", ErrUnavailable, err)
	}
	if cp.Gate == nil {
		return nil, fmt.Errorf("%w: the snapshot %.40q has no data/gate.bin; an older program built it", ErrUnavailable,
			cp.Snapshot)
	}
	if c.o.Key != nil {
		if cp.Signature == nil {
			return nil, fmt.Errorf("%w: the checkpoint's gate is not signed", ErrUnavailable)
		}
		signature, err := base64.StdEncoding.DecodeString(*cp.Signature)
		signed := fmt.Appendf(nil, "tollbook gate\n%s\n%d\n%d\n%d\n%s\n", cp.Snapshot, cp.Generation, cp.Gate.At, cp.Gate.Size,
			cp.Gate.SHA256)
		if err != nil || !ed25519.Verify(c.o.Key, signed, signature) {
			return nil, fmt.Errorf("%w: the checkpoint's gate is not signed with the pinned key", ErrUnavailable)
		}
	}
	header, err := read(cp)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(header); hex.EncodeToString(sum[:]) != cp.Gate.SHA256 {
		return nil, fmt.Errorf("%w: %w: its header has another sum than the checkpoint names", ErrUnavailable, ErrDamaged)
	}
	if s.header, err = ParseHeader(header); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return s, nil
}

// bucket returns the bucket of a URL.
func (c *Client) bucket(ctx context.Context, s *state, normal string) ([]byte, error) {
	at, size := s.header.Bucket(normal)
	if s.file != nil {
		if at+size > int64(len(s.file)) {
			return nil, fmt.Errorf("%w: %w: it ends early", ErrUnavailable, ErrDamaged)
		}
		return s.file[at : at+size], nil
	}
	if b, ok := s.buckets[at]; ok || size == 0 {
		return b, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	b, err := c.read(ctx, &s.checkpoint, at, size)
	if err != nil {
		return nil, err
	}
	s.buckets[at] = b
	return b, nil
}

// read reads a part of the file from the snapshot's zip, or, where a server sends no parts, from the file itself.
func (c *Client) read(ctx context.Context, cp *checkpoint, at, size int64) ([]byte, error) {
	b, err := c.get(ctx, "/snapshots/"+url.PathEscape(cp.Snapshot)+".zip", cp.Gate.At+at, size)
	if !errors.Is(err, errNoRange) {
		return b, err
	}
	if b, err = c.get(ctx, "/data/gate.bin", -1, maxFile); err == nil && at+size > int64(len(b)) {
		err = fmt.Errorf("%w: %w: it ends early", ErrUnavailable, ErrDamaged)
	}
	if err != nil {
		return nil, err
	}
	return b[at : at+size], nil
}

// errNoRange says that a server sends no parts of files.
var errNoRange = fmt.Errorf("%w: the server sends no parts of files", ErrUnavailable)

// get reads size bytes from a place of a file, or, from -1, all of a file of at most size bytes.
func (c *Client) get(ctx context.Context, path string, from, size int64) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.o.Directory+path, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	want := http.StatusOK
	if from >= 0 {
		want = http.StatusPartialContent
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+size-1))
	} else {
		r.Header.Set("Cache-Control", "no-cache")
	}
	answer, err := c.o.HTTP.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", ErrUnavailable, path, err)
	}
	defer answer.Body.Close()
	if from >= 0 && answer.StatusCode == http.StatusOK {
		return nil, errNoRange
	}
	if answer.StatusCode != want {
		return nil, fmt.Errorf("%w: read %s: the answer is %d", ErrUnavailable, path, answer.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(answer.Body, size+1))
	switch n := int64(len(b)); {
	case err != nil:
		return nil, fmt.Errorf("%w: read %s: %w", ErrUnavailable, path, err)
	case n > size || from >= 0 && n != size:
		return nil, fmt.Errorf("%w: read %s: %w: it has not the %d bytes that it should have", ErrUnavailable, path,
			ErrDamaged, size)
	}
	return b, nil
}
