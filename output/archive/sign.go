package archive

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// ErrSignature is a checkpoint that was not signed with the key that it is held to.
var ErrSignature = errors.New("the checkpoint's signature is missing or wrong")

// KeyFile is where a publication shows the public key that its checkpoint is signed with.
const KeyFile = ".well-known/tollbook-key.pem"

// signed is the text whose Ed25519 signature stands in a checkpoint: its fields, a line each, the first for the first
// snapshot an empty one. printf and openssl make the same.
func (c Checkpoint) signed() []byte {
	previous := ""
	if c.Previous != nil {
		previous = *c.Previous
	}
	return fmt.Appendf(nil, "tollbook checkpoint\n%s\n%s\n%d\n%s\n%s\n%s\n%d\n", c.Snapshot, previous, c.Generation,
		c.BuiltAt, c.NextAt, c.Digest, c.Erased)
}

// Sign answers the checkpoint with its signature.
func (c Checkpoint) Sign(key ed25519.PrivateKey) Checkpoint {
	text := base64.StdEncoding.EncodeToString(ed25519.Sign(key, c.signed()))
	c.Signature = &text
	return c
}

// VerifySignature answers ErrSignature unless the checkpoint was signed with the key.
func (c Checkpoint) VerifySignature(key ed25519.PublicKey) error {
	if c.Signature == nil {
		return fmt.Errorf("%w: there is none", ErrSignature)
	}
	sig, err := base64.StdEncoding.DecodeString(*c.Signature)
	if err != nil || !ed25519.Verify(key, c.signed(), sig) {
		return ErrSignature
	}
	return nil
}

// NewKey makes a key, as PEM that openssl reads.
func NewKey() ([]byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ParseKey reads a private key of PEM. Its errors hold nothing of it.
func ParseKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode([]byte(strings.ReplaceAll(string(text), `\n`, "\n"))) // a variable often has it in one line
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("read signing key: it is not PEM of a PRIVATE KEY; tollbook key new makes one")
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

// PublicKey is the public half of a key as PEM.
func PublicKey(key ed25519.PrivateKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		panic(err) // 32 bytes
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// ParsePublicKey reads a public key of PEM.
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
