package archive

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckpointGrammar(t *testing.T) {
	t.Parallel()
	good := Checkpoint{
		Snapshot: "20261120T234501Z-3f2a9c", Generation: 1, BuiltAt: "2026-11-20T23:45:01.000Z",
		NextAt: "2026-11-21T00:00:01.000Z",
		Digest: "3f2a9c" + strings.Repeat("0", 58),
	}
	if got, err := ParseCheckpoint(good.Encode()); err != nil || got != good {
		t.Errorf("round trip: %v, %+v", err, got)
	}
	bad := "x"
	for about, change := range map[string]func(*Checkpoint){
		"no id":           func(c *Checkpoint) { c.Snapshot = "" },
		"path":            func(c *Checkpoint) { c.Snapshot = "../../../../../etc/hi" },
		"other digest":    func(c *Checkpoint) { c.Digest = strings.Repeat("0", 64) },
		"short digest":    func(c *Checkpoint) { c.Digest = "3f2a9c" },
		"no generation":   func(c *Checkpoint) { c.Generation = 0 },
		"no time":         func(c *Checkpoint) { c.NextAt = "tomorrow" },
		"previous no id":  func(c *Checkpoint) { c.Previous = &bad },
		"built elsewhere": func(c *Checkpoint) { c.BuiltAt = "" },
	} {
		c := good
		change(&c)
		if _, err := ParseCheckpoint(c.Encode()); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want %v", about, err, ErrDamaged)
		}
	}
}

func TestSnapshotID(t *testing.T) {
	t.Parallel()
	id := SnapshotID(t0, "3f2a9c"+strings.Repeat("0", 58))
	if id != "20261120T234501Z-3f2a9c" {
		t.Errorf("id %s", id)
	}
	if built, ok := ParseSnapshotID(id); !ok || !built.Equal(t0) {
		t.Errorf("parse %s: %v, %v", id, built, ok)
	}
	for _, bad := range []string{
		"", "20261120T234501Z", "20261120T234501Z-3f2a9", "20261120T234501Z-3f2a9cc", "20261120T234501Z-3F2A9C",
		"20261120T234501Z-3f2a9g",
		"20261320T234501Z-3f2a9c", "20261120T234561Z-3f2a9c", "20261120 234501Z-3f2a9c", "20261120T234501Z_3f2a9c",
		"../261120T234501Z-3f2a9c",
	} {
		if _, ok := ParseSnapshotID(bad); ok {
			t.Errorf("%q was accepted as an id", bad)
		}
	}
}

func FuzzParseCheckpoint(f *testing.F) {
	f.Add(
		[]byte(
			`{"snapshot":"20261120T234501Z-3f2a9c","previous":null,"generation":1,"built_at":"2026-11-20T23:45:01.000Z"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCheckpoint(data)
		if err != nil {
			return
		}
		if again, err := ParseCheckpoint(c.Encode()); err != nil || !cmp.Equal(c, again) {
			t.Fatalf("round trip: %v, %+v, %+v", err, c, again)
		}
	})
}

// TestSignature checks that the signature of a checkpoint covers each of its fields.
func TestSignature(t *testing.T) {
	t.Parallel()
	text, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	public, err := ParsePublicKey(PublicKey(key))
	if err != nil {
		t.Fatal(err)
	}
	previous := "20261120T234401Z-3f2a9c"
	c := Checkpoint{Snapshot: "20261120T234501Z-3f2a9c", Previous: &previous, Generation: 7,
		BuiltAt: "2026-11-20T23:45:01.000Z", NextAt: "2026-11-21T00:00:01.000Z",
		Digest: "3f2a9c" + strings.Repeat("0", 58)}.Sign(key)
	if parsed, err := ParseCheckpoint(c.Encode()); err != nil || parsed.VerifySignature(public) != nil {
		t.Errorf("%+v, %v", parsed, err)
	}
	if c.Key == nil || *c.Key != KeyID(public) {
		t.Errorf("the key is %v, want %q", c.Key, KeyID(public))
	}
	for i, change := range []func(*Checkpoint){
		func(c *Checkpoint) { c.Snapshot = "20261120T234502Z-3f2a9c" },
		func(c *Checkpoint) { c.Previous = nil },
		func(c *Checkpoint) { c.Generation++ },
		func(c *Checkpoint) { c.BuiltAt = c.NextAt },
		func(c *Checkpoint) { c.NextAt = c.BuiltAt },
		func(c *Checkpoint) { c.Digest = strings.Replace(c.Digest, "00", "01", 1) },
		func(c *Checkpoint) { c.Signature = nil },
		func(c *Checkpoint) { c.Signature = new("!") },
	} {
		other := c
		change(&other)
		if err := other.VerifySignature(public); !errors.Is(err, ErrSignature) {
			t.Errorf("change %d: %v", i, err)
		}
	}
	for _, bad := range []string{"", "x", "-----BEGIN PRIVATE KEY-----\nc0ffee==\n-----END PRIVATE KEY-----\n",
		string(PublicKey(key))} {
		if _, err := ParseKey([]byte(bad)); err == nil || strings.Contains(err.Error(), "c0ffee") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
