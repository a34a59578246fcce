package archive

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
)

// GateFile is the member of a snapshot that payers ask before they sign. The checkpoint says where in the zip it is, so
// that a payer reads a few kilobytes of it: zips never change, and the last ones stay, so no publication disturbs him.
const GateFile = DataDir + "/gate.bin"

// GateHeader is the size in bytes of the part of GateFile that has the sums of all others.
const GateHeader = 9240

// Gate is the place of a GateFile in a snapshot's zip, which stores it as it is.
type Gate struct {
	At     int64  `json:"at"`     // of its first byte
	Size   int64  `json:"size"`   // in bytes
	SHA256 string `json:"sha256"` // of its first GateHeader bytes, in hex
}

// newGate returns the gate of size bytes that is at a place of a zip; nil if it is too short to be one.
func newGate(zip io.ReaderAt, at, size int64) (*Gate, error) {
	if size < GateHeader {
		return nil, nil
	}
	header := make([]byte, GateHeader)
	if err := readFullAt(zip, header, at); err != nil {
		return nil, fmt.Errorf("read %s: %w", GateFile, err)
	}
	sum := sha256.Sum256(header)
	return &Gate{At: at, Size: size, SHA256: hex.EncodeToString(sum[:])}, nil
}

// Gate returns the place of the zip's GateFile, nil if it has none.
func (z *Zip) Gate() (*Gate, error) {
	m, ok := z.Lookup(GateFile)
	if !ok || m.deflated {
		return nil, nil
	}
	at, err := z.contentOffset(&m)
	if err != nil {
		return nil, err
	}
	return newGate(z.r, at, m.Size)
}

// gateText returns the text that the signature of the gate covers. It is apart from that of the checkpoint, so that a
// payer needs nothing of the snapshot but its id.
func (c Checkpoint) gateText() []byte {
	return fmt.Appendf(nil, "tollbook gate\n%s\n%d\n%d\n%d\n%s\n", c.Snapshot, c.Generation, c.Gate.At, c.Gate.Size,
		c.Gate.SHA256)
}

// signGate sets the signature of the gate.
func (c *Checkpoint) signGate(key ed25519.PrivateKey) {
	if c.GateSignature = nil; key != nil && c.Gate != nil {
		c.GateSignature = new(base64.StdEncoding.EncodeToString(ed25519.Sign(key, c.gateText())))
	}
}

// VerifyGate returns an error that wraps ErrSignature unless the gate was signed with the private half of key.
func (c Checkpoint) VerifyGate(key ed25519.PublicKey) error {
	if c.Gate == nil || c.GateSignature == nil {
		return fmt.Errorf("%w, %s: its %s is not signed", ErrSignature, KeyID(key), GateFile)
	}
	sig, err := base64.StdEncoding.DecodeString(*c.GateSignature)
	if err != nil || !ed25519.Verify(key, c.gateText(), sig) {
		return fmt.Errorf("%w, %s: its %s is signed with another key, or was changed", ErrSignature, KeyID(key), GateFile)
	}
	return nil
}

// check returns an error unless the gate can be one.
func (g *Gate) check() error {
	b, err := hex.DecodeString(g.SHA256)
	if err != nil || len(b) != sha256.Size || g.At < 0 || g.Size < GateHeader {
		return cmp.Or(err, fmt.Errorf("gate at %d of %d bytes with the sum %.80q", g.At, g.Size, g.SHA256))
	}
	return nil
}
