package archive

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// ErrSignature marks a checkpoint that is not signed with the expected key.
var ErrSignature = errors.New("the checkpoint's signature is missing or wrong")

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

// Sign returns the checkpoint with its signature.
func (c Checkpoint) Sign(key ed25519.PrivateKey) Checkpoint {
	text := base64.StdEncoding.EncodeToString(ed25519.Sign(key, c.signedText()))
	c.Signature = &text
	return c
}

// VerifySignature returns an error that wraps ErrSignature unless the checkpoint was signed with the private half of
// key.
func (c Checkpoint) VerifySignature(key ed25519.PublicKey) error {
	if c.Signature == nil {
		return fmt.Errorf("%w: it has none", ErrSignature)
	}
	sig, err := base64.StdEncoding.DecodeString(*c.Signature)
	if err != nil || !ed25519.Verify(key, c.signedText(), sig) {
		return ErrSignature
	}
	return nil
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
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		panic(err) // unreachable: the key has 32 bytes
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
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
