package archive

import (
	"crypto/ed25519"
	"strings"
	"testing"
)

// FuzzKeys parses keys as a foreign server may show them, and checks signatures with them.
func FuzzKeys(f *testing.F) {
	private := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
	public := string(PublicKey(private))
	f.Add(public, "c2ln")
	f.Add(strings.ReplaceAll(public, "PUBLIC", "PRIVATE"), "")
	f.Add("-----BEGIN PUBLIC KEY-----\nMA==\n-----END PUBLIC KEY-----\n", "=")
	ours := private.Public().(ed25519.PublicKey)
	f.Fuzz(func(t *testing.T, text, signature string) {
		if key, err := ParsePublicKey([]byte(text)); err == nil && len(key) != ed25519.PublicKeySize {
			t.Errorf("a key of %d bytes", len(key))
		}
		if key, err := ParseKey([]byte(text)); err == nil && len(key) != ed25519.PrivateKeySize {
			t.Errorf("a private key of %d bytes", len(key))
		}
		c := Checkpoint{Snapshot: "20261120T234501Z-3f2a9c", Generation: 1, Signature: &signature}
		if err := c.VerifySignature(ours); err == nil {
			t.Errorf("%q passes as a signature", signature)
		}
	})
}
