package archive

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// TimeLayout is the format of the times in a checkpoint.
const TimeLayout = "2006-01-02T15:04:05.000Z"

const (
	MaxCheckpoint = 64 << 10 // bytes
	idLayout      = "20060102T150405Z"
	idDigits      = 6 // digits of the digest in an id
)

// Format is the form of the snapshots that this program writes, 1 that of v0.1.0. It increases with a release that adds
// files or members, or changes what they contain. A snapshot says which form it has, and which one a reader must know:
// Needs increases, to Format, only if a program of the release before cannot read the snapshot. Programs ignore files
// and members that they do not know. The snapshots that are kept in cmd/tollbook/testdata/publications test this.
const (
	Format = 1
	Needs  = 1
)

// Checkpoint is the pointer to the current snapshot.
type Checkpoint struct {
	Snapshot   string  `json:"snapshot"`   // id
	Previous   *string `json:"previous"`   // id of the snapshot that this one replaced; null for the first
	Generation int64   `json:"generation"` // 1 for the first snapshot, then one more each time
	BuiltAt    string  `json:"built_at"`   // TimeLayout; when the facts were read
	NextAt     string  `json:"next_at"`    // TimeLayout; when the next build is due
	Digest     string  `json:"digest"`     // sha256 of the snapshot's SHA256SUMS, in hex
	Erased     int64   `json:"erased"`     // the last erasure that is applied to the packs, 0 for none
	Signature  *string `json:"signature"`

	// Format and Needs are the form of the snapshot and the one that a reader must know; 0 if unknown. The signature
	// does not cover them: they only help to tell a newer snapshot from a damaged one.
	Format int `json:"format,omitempty"`
	Needs  int `json:"needs,omitempty"`

	// Key is the KeyID of the key that signed; nil without a signature, or if an older program signed. The signature
	// does not cover it: it only helps to tell another key from a changed checkpoint.
	Key *string `json:"key,omitempty"`

	// Gate is where the snapshot's zip has its GateFile; nil if it has none. It has a signature of its own.
	Gate          *Gate   `json:"gate,omitempty"`
	GateSignature *string `json:"gate_signature,omitempty"`
}

// SnapshotID returns the id of a snapshot: the second when it was built and the first digits of its digest.
func SnapshotID(built time.Time, digest string) string {
	return built.UTC().Format(idLayout) + "-" + digest[:idDigits]
}

// ParseSnapshotID returns the time in an id, and false if id is not an id, such as a name that contains a path.
func ParseSnapshotID(id string) (time.Time, bool) {
	if len(id) != len(idLayout)+1+idDigits || id[len(idLayout)] != '-' {
		return time.Time{}, false
	}
	for _, c := range id[len(idLayout)+1:] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return time.Time{}, false
		}
	}
	t, err := time.Parse(idLayout, id[:len(idLayout)])
	return t, err == nil && t.Format(idLayout) == id[:len(idLayout)]
}

// Built returns BuiltAt as a time, which is valid in a parsed checkpoint.
func (c Checkpoint) Built() time.Time { t, _ := time.Parse(TimeLayout, c.BuiltAt); return t }

// Next returns NextAt as a time, which is valid in a parsed checkpoint.
func (c Checkpoint) Next() time.Time { t, _ := time.Parse(TimeLayout, c.NextAt); return t }

// ParseCheckpoint parses the output of Encode. It rejects everything that Encode does not write, except members that it
// does not know. The error wraps ErrNewer if the snapshot needs a newer program.
func ParseCheckpoint(data []byte) (Checkpoint, error) {
	var c Checkpoint
	var form struct{ Needs int }
	if err := json.Unmarshal(data, &form); err == nil && form.Needs > Format { // other members may have changed
		return Checkpoint{}, fmt.Errorf("read checkpoint: the snapshot has form %d, and this program reads forms up to "+
			"%d: it was %w", form.Needs, Format, ErrNewer)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return Checkpoint{}, fmt.Errorf("parse checkpoint: %w: %w", ErrDamaged, err)
	}
	if err := c.check(); err != nil {
		return Checkpoint{}, fmt.Errorf("parse checkpoint: %w: %w", ErrDamaged, err)
	}
	return c, nil
}

func (c Checkpoint) check() error {
	if _, ok := ParseSnapshotID(c.Snapshot); !ok {
		return fmt.Errorf("snapshot %.60q is not an id", c.Snapshot)
	}
	if c.Previous != nil {
		if _, ok := ParseSnapshotID(*c.Previous); !ok {
			return fmt.Errorf("previous %.60q is not an id", *c.Previous)
		}
	}
	if c.Generation < 1 {
		return fmt.Errorf("generation %d is less than 1", c.Generation)
	}
	if c.Erased < 0 {
		return fmt.Errorf("erased %d is less than 0", c.Erased)
	}
	if c.Needs < 0 || c.Format < c.Needs {
		return fmt.Errorf("format %d is less than what it needs, %d", c.Format, c.Needs)
	}
	if c.Key != nil {
		if b, err := hex.DecodeString(*c.Key); err != nil || len(b) != keyIDBytes {
			return fmt.Errorf("key %.60q is not the id of a key", *c.Key)
		}
	}
	if c.Gate != nil {
		if err := c.Gate.check(); err != nil {
			return err
		}
	}
	for _, s := range []string{c.BuiltAt, c.NextAt} {
		if _, err := time.Parse(TimeLayout, s); err != nil {
			return err
		}
	}
	if b, err := hex.DecodeString(c.Digest); err != nil || len(b) != len(Sum{}) ||
		c.Digest[:idDigits] != c.Snapshot[len(c.Snapshot)-idDigits:] {
		return fmt.Errorf("digest %.80q is not that of snapshot %s", c.Digest, c.Snapshot)
	}
	return nil
}

// Encode returns the checkpoint as the content of its file.
func (c Checkpoint) Encode() []byte {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		panic(err) // unreachable: the fields are strings and numbers
	}
	return append(b, '\n')
}

// ReadCheckpoint reads the file at path.
func ReadCheckpoint(path string) (Checkpoint, error) {
	f, err := OpenFile(path)
	if err != nil {
		return Checkpoint{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxCheckpoint))
	if err != nil {
		return Checkpoint{}, err
	}
	c, err := ParseCheckpoint(data)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}
