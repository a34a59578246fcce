package output

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// keyOf returns a key for tests.
func keyOf(letter string) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(letter, ed25519.SeedSize)))
}

func publicOf(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

// TestSignedPlaceStaysSigned checks that neither a publication nor a rollback replaces a signed pointer without its
// key, and that ChangeKey does.
func TestSignedPlaceStaysSigned(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		ours, other := keyOf("a"), keyOf("b")
		first := mustPublish(t, d, t0, tree(1)).Checkpoint.Snapshot
		mustPublishTo(t, s, reg, d) // not signed yet
		mustPublish(t, d, t0.Add(time.Minute), tree(2))
		mustPublishTo(t, s, reg, d, func(o *PublishOptions) { o.Key = ours })
		mustPublish(t, d, t0.Add(2*time.Minute), tree(3))
		publish := func(o PublishOptions) (Published, error) {
			o.Now = t0
			return NewPublisher(s, reg, o).Publish(t.Context(), d)
		}
		rollback := func(o PublishOptions) (Published, error) {
			o.Now = t0
			return NewPublisher(s, reg, o).Rollback(t.Context(), first)
		}
		pointer, record := string(readFileOf(t, s, archive.CheckpointFile)), reg.record
		for _, test := range []struct {
			about string
			run   func(PublishOptions) (Published, error)
			key   ed25519.PrivateKey
			want  string
		}{
			{"publish without a key", publish, nil, "signed by key " + archive.KeyID(publicOf(ours)) + ", and no key"},
			{"publish with another key", publish, other, "signed by key " + archive.KeyID(publicOf(ours)) + ", and the given"},
			{"rollback without a key", rollback, nil, "--change-key"},
			{"rollback with another key", rollback, other, archive.KeyID(publicOf(other))},
		} {
			_, err := test.run(PublishOptions{Key: test.key, Force: true})
			if !errors.Is(err, archive.ErrSigned) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %v and %q", test.about, err, archive.ErrSigned, test.want)
			}
			if got := string(readFileOf(t, s, archive.CheckpointFile)); got != pointer || reg.record != record {
				t.Fatalf("%s: the pointer is now %s", test.about, got)
			}
		}
		if _, err := NewPublisher(s, reg, PublishOptions{Now: t0}).Prune(t.Context(), d); err != nil {
			t.Errorf("prune, which writes no pointer: %v", err)
		}
		for _, test := range []struct {
			about  string
			run    func(PublishOptions) (Published, error)
			o      PublishOptions
			signer string
		}{
			{"publish with the key", publish, PublishOptions{Key: ours}, archive.KeyID(publicOf(ours))},
			{"rollback with the key", rollback, PublishOptions{Key: ours}, archive.KeyID(publicOf(ours))},
			{"another key on purpose", rollback, PublishOptions{Key: other, ChangeKey: true},
				archive.KeyID(publicOf(other))},
			{"no key on purpose", rollback, PublishOptions{ChangeKey: true}, ""},
			{"no key afterwards", rollback, PublishOptions{}, ""},
		} {
			if _, err := test.run(test.o); err != nil {
				t.Errorf("%s: %v", test.about, err)
			}
			if v := verifyWhole(t, s); v.SignedBy != test.signer || v.Signed != (test.signer != "") {
				t.Errorf("%s: signed %v by %q, want %q", test.about, v.Signed, v.SignedBy, test.signer)
			}
		}
	})
}

// TestSignedFolderStaysSigned is TestSignedPlaceStaysSigned for builds and rollbacks of a folder.
func TestSignedFolderStaysSigned(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	ours, other := keyOf("a"), keyOf("b")
	at := t0
	build := func(o BuildOptions) error {
		at = at.Add(time.Minute)
		o.Now = at
		_, err := publishAs(d, o, tree(at.Minute()))
		return err
	}
	if err := build(BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	first, err := d.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	if err := build(BuildOptions{Key: ours}); err != nil {
		t.Fatal(err)
	}
	before, err := d.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	for about, key := range map[string]ed25519.PrivateKey{"no key": nil, "another key": other} {
		if err := build(BuildOptions{Key: key}); !errors.Is(err, archive.ErrSigned) {
			t.Errorf("a build with %s: %v, want %v", about, err, archive.ErrSigned)
		}
		_, _, err := d.Rollback(t.Context(), first.Snapshot, RollbackOptions{Key: key})
		if !errors.Is(err, archive.ErrSigned) {
			t.Errorf("a rollback with %s: %v, want %v", about, err, archive.ErrSigned)
		}
	}
	if now, err := d.Checkpoint(); err != nil || !cmp.Equal(before, now) {
		t.Errorf("the checkpoint is now %+v, %v", now, err)
	}
	if _, _, err := d.Rollback(t.Context(), first.Snapshot, RollbackOptions{Key: ours}); err != nil {
		t.Error(err)
	}
	if err := build(BuildOptions{Key: other, ChangeKey: true}); err != nil {
		t.Error(err)
	}
	if now, err := d.Checkpoint(); err != nil || now.VerifySignature(publicOf(other)) != nil {
		t.Errorf("after a change of the key: %+v, %v", now, err)
	}
	if _, _, err := d.Rollback(t.Context(), first.Snapshot, RollbackOptions{ChangeKey: true}); err != nil {
		t.Error(err)
	}
	if err := build(BuildOptions{}); err != nil {
		t.Errorf("a build without a signature after its removal: %v", err)
	}
}

// TestVerifySigner checks what a verification says of the signature: right, of another key, or changed afterwards.
func TestVerifySigner(t *testing.T) {
	t.Parallel()
	ours, other := keyOf("a"), keyOf("b")
	our, others := archive.KeyID(publicOf(ours)), archive.KeyID(publicOf(other))
	signed := func(c archive.Checkpoint) archive.Checkpoint { return c.Sign(ours) }
	older := func(c archive.Checkpoint) archive.Checkpoint { // as an older program signed
		c = c.Sign(ours)
		c.Key = nil
		return c
	}
	changed := func(c archive.Checkpoint) archive.Checkpoint {
		c = c.Sign(ours)
		c.Generation++
		return c
	}
	for _, test := range []struct {
		about       string
		change      func(archive.Checkpoint) archive.Checkpoint
		key         ed25519.PrivateKey
		signer      string
		fault       string // "" for none
		wantDamaged bool
	}{
		{"our key", signed, ours, our, "", false},
		{"no key is given", signed, nil, our, "", false},
		{"another key is given", signed, other, our,
			"not signed with this key, " + others + ": it is signed with another key, " + our, false},
		{"changed", changed, ours, our, "it was changed after it was signed", true},
		{"changed, no key is given", changed, nil, our, "it was changed after it was signed", true},
		{"older, our key", older, ours, our, "", false},
		{"older, no key is given", older, nil, our, "", false},
		{"older, another key is given", older, other, our, "it is signed with another key, " + our, false},
		{"not signed", func(c archive.Checkpoint) archive.Checkpoint { return c.Sign(nil) }, ours, "",
			"it is not signed", false},
		{"not signed, no key is given", func(c archive.Checkpoint) archive.Checkpoint { return c.Sign(nil) }, nil, "", "",
			false},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			s, reg, d := openStore(t, tempDir(t), nil), &memoryRegister{}, openFolder(t, tempDir(t))
			if _, err := publishAs(d, BuildOptions{Now: t0, Key: ours}, tree(1)); err != nil {
				t.Fatal(err)
			}
			c := mustPublishTo(t, s, reg, d, func(o *PublishOptions) { o.Key = ours }).Checkpoint
			mustPut(t, s, archive.CheckpointFile, string(test.change(c).Encode()), objects.PutOptions{})
			var faults []error
			o := VerifyOptions{Report: func(_ string, err error) { faults = append(faults, err) }}
			if test.key != nil {
				o.Key = publicOf(test.key)
			}
			v, err := VerifyStore(t.Context(), s, o)
			if err != nil || v.SignedBy != test.signer || v.Signed != (test.signer != "") {
				t.Errorf("signed %v by %q, want %q, %v", v.Signed, v.SignedBy, test.signer, err)
			}
			if test.fault == "" {
				if len(faults) > 0 {
					t.Errorf("faults: %v", faults)
				}
				return
			}
			if len(faults) != 1 || !errors.Is(faults[0], archive.ErrSignature) ||
				!strings.Contains(faults[0].Error(), test.fault) ||
				errors.Is(faults[0], archive.ErrDamaged) != test.wantDamaged {
				t.Errorf("faults: %v, want %q, damaged: %v", faults, test.fault, test.wantDamaged)
			}
		})
	}
}
