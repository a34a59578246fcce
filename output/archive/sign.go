package archive

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// ErrSignature marks a checkpoint that is not signed with the expected key. If it was changed after it was signed, the
// error wraps ErrDamaged, too.
var ErrSignature = errors.New("the checkpoint is not signed with this key")

// KeyFile is the file of a publication that contains the public key of its checkpoint's signature.
const KeyFile = ".well-known/tollbook-key.pem"

// signedText returns the text that the Ed25519 signature of a checkpoint covers: its fields, one a line. For the first
// snapshot, the line of the previous one is empty. An operator can write the same text with printf and check it with
// openssl.
func (c Checkpoint) signedText() []byte {
	previous := ""
	if c.Previous != nil {
		previous = *c.Previous
	}
	return fmt.Appendf(nil, "tollbook checkpoint\n%s\n%s\n%d\n%s\n%s\n%s\n%d\n", c.Snapshot, previous, c.Generation,
		c.BuiltAt, c.NextAt, c.Digest, c.Erased)
}

// Sign returns the checkpoint with its signature and that of its gate; without them if key is nil.
func (c Checkpoint) Sign(key ed25519.PrivateKey) Checkpoint {
	c.signGate(key)
	c.Signature, c.Key = nil, nil
	if key == nil {
		return c
	}
	text := base64.StdEncoding.EncodeToString(ed25519.Sign(key, c.signedText()))
	id := KeyID(key.Public().(ed25519.PublicKey))
	c.Signature, c.Key = &text, &id
	return c
}

// VerifySignature returns an error that wraps ErrSignature unless the checkpoint was signed with the private half of
// key. The error says whether the checkpoint has no signature, is signed with another key, or was changed.
func (c Checkpoint) VerifySignature(key ed25519.PublicKey) error {
	if c.Signature == nil {
		return fmt.Errorf("%w, %s: it is not signed", ErrSignature, KeyID(key))
	}
	sig, err := base64.StdEncoding.DecodeString(*c.Signature)
	switch {
	case err == nil && ed25519.Verify(key, c.signedText(), sig):
		return nil
	case c.Key == nil:
		return fmt.Errorf("%w, %s: it is signed with another key, or was changed", ErrSignature, KeyID(key))
	case *c.Key != KeyID(key):
		return fmt.Errorf("%w, %s: it is signed with another key, %s", ErrSignature, KeyID(key), *c.Key)
	}
	return fmt.Errorf("%w, %s, as it says: %w: it was changed after it was signed", ErrSignature, KeyID(key),
		ErrDamaged)
}

// ErrSigned marks a signed checkpoint that may not be replaced by one without a signature, or with another key's.
var ErrSigned = errors.New("the checkpoint there is signed")

// CheckSuccessorKey returns an error that wraps ErrSigned if the checkpoint is signed, and not with this key, which is
// nil for none. Readers that know the old key would reject the next checkpoint.
func (c Checkpoint) CheckSuccessorKey(key ed25519.PrivateKey) error {
	if c.Signature == nil {
		return nil
	}
	signer := "an unknown key" // an older program signed
	if c.Key != nil {
		signer = "key " + *c.Key
	}
	if key == nil {
		return fmt.Errorf("%w by %s, and no key is given: give it by --publish-key or TOLLBOOK_SIGNING_KEY; "+
			"--change-key goes on without a signature", ErrSigned, signer)
	}
	public := key.Public().(ed25519.PublicKey)
	if err := c.VerifySignature(public); err == nil || errors.Is(err, ErrDamaged) { // a changed checkpoint is replaced
		return nil
	}
	return fmt.Errorf("%w by %s, and the given key is %s: give the key that signed by --publish-key or "+
		"TOLLBOOK_SIGNING_KEY; --change-key goes on with the given one, whose public half readers then need", ErrSigned,
		signer, KeyID(public))
}

// keyIDBytes is how many bytes of a sum make a KeyID.
const keyIDBytes = 8

// KeyID returns a short name of a public key: the first 16 hexadecimal digits of the SHA-256 of its DER form, which is
// the content of its PEM.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(publicDER(key))
	return hex.EncodeToString(sum[:keyIDBytes])
}

// NewKey generates a private key and returns it as PEM that openssl reads.
func NewKey() ([]byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ParseKey parses a private key in PEM. Its errors contain no part of the key.
func ParseKey(text []byte) (ed25519.PrivateKey, error) {
	// An environment variable often contains the key in one line.
	block, _ := pem.Decode([]byte(strings.ReplaceAll(string(text), `\n`, "\n")))
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("read signing key: it is not PEM of a PRIVATE KEY; create one with tollbook key new")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("read signing key: it is not PKCS #8")
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("read signing key: it is not Ed25519")
	}
	return private, nil
}

// PublicKey returns the public half of a key as PEM.
func PublicKey(key ed25519.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER(key.Public().(ed25519.PublicKey))})
}

func publicDER(key ed25519.PublicKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		panic(err) // unreachable: the key is of a known type
	}
	return der
}

// ReadPublicKey reads a public key in PEM from a file.
func ReadPublicKey(path string) (ed25519.PublicKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read public key: %w", err)
	}
	return ParsePublicKey(text)
}

// ParsePublicKey parses a public key in PEM.
func ParsePublicKey(text []byte) (ed25519.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, errors.New("read public key: it is not PEM of a PUBLIC KEY")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read public key: %w", err)
	}
	public, ok := key.(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("read public key: it is not Ed25519")
	}
	return public, nil
}
