package output

import (
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// TestVerifyStore checks that a damaged zip is not published, and that verifying a damaged place reports each file.
func TestVerifyStore(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		if _, err := VerifyStore(t.Context(), s, VerifyOptions{}); err == nil ||
			!strings.Contains(err.Error(), "nothing is published here") {
			t.Errorf("an empty store: %v", err)
		}
		mustPublish(t, d, t0, tree(1))
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		c := mustPublishTo(t, s, reg, d, func(o *PublishOptions) { o.Key = key }).Checkpoint
		check := func(o VerifyOptions) (wrong []string) {
			o.Packs = func(archive.Tree) ([]string, error) { return []string{archive.HourOf(t0)}, nil }
			o.Report = func(name string, _ error) { wrong = append(wrong, name) }
			v, err := VerifyStore(t.Context(), s, o)
			if err != nil || v.Wrong != len(wrong) {
				t.Errorf("%+v, %v", v, err)
			}
			slices.Sort(wrong)
			return wrong
		}
		signed := VerifyOptions{Key: key.Public().(ed25519.PublicKey)}
		if wrong := check(signed); wrong != nil {
			t.Errorf("whole, but wrong are %q", wrong)
		}
		other, _, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{archive.CheckpointFile}, check(VerifyOptions{Key: other})); diff != "" {
			t.Errorf("another's key (-want +got):\n%s", diff)
		}
		zip := string(readFileOf(t, s, archive.SnapshotName(c.Snapshot)))
		at := strings.Index(zip, "index.html") + len("index.html") // stored, or deflated: its bytes follow its name
		mustPut(t, s, archive.SnapshotName(c.Snapshot), zip[:at]+"\x00"+zip[at+1:], objects.PutOptions{})
		mustPut(t, s, "v1/services.json", "other", objects.PutOptions{})
		if err := s.Delete(t.Context(), []string{archive.PackName(archive.HourOf(t0)),
			"v1/services/zeta.json"}); err != nil {
			t.Fatal(err)
		}
		want := []string{archive.PackName(archive.HourOf(t0)), archive.SnapshotName(c.Snapshot) + "/index.html",
			"v1/services.json", "v1/services/zeta.json"}
		if diff := cmp.Diff(want, check(signed)); diff != "" {
			t.Errorf("wrong are (-want +got):\n%s", diff)
		}
	})
}
