package output

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/objects"
)

// TestSteps checks that each command on a place logs its steps, with counts and the time.
func TestSteps(t *testing.T) {
	t.Parallel()
	d, reg := openFolder(t, tempDir(t)), &memoryRegister{}
	s, err := objects.OpenStoreDir(tempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	first := mustPublish(t, d, t0, tree(1)).Checkpoint.Snapshot
	mustPublishTo(t, s, reg, d)
	second := mustPublish(t, d, t0.Add(time.Minute), tree(2)).Checkpoint.Snapshot
	mustPublishTo(t, s, reg, d)
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	p := NewPublisher(s, reg, PublishOptions{Now: t0.Add(time.Minute), Logger: logger, Expand: everything,
		Header: func(string) objects.Header { return objects.Header{} }})
	local := tempDir(t)
	publishPulled(t, local, 1, nil)
	tables, err := objects.OpenStoreDir(local)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		run  func() error
		want []string
	}{
		{"prune", func() error { _, err := p.Prune(t.Context(), d); return err },
			[]string{"place locked and read", "snapshots, packs and days listed", "old objects deleted"}},
		{"roll a place back", func() error { _, err := p.Rollback(t.Context(), first); return err },
			[]string{"place locked and read", "snapshot checked", "pointer written", "objects expanded"}},
		{"roll a folder back", func() error {
			_, _, err := d.Rollback(t.Context(), first, RollbackOptions{Logger: logger})
			return err
		}, []string{"folder locked and snapshot checked", "tree expanded", "checkpoint written"}},
		{"verify", func() error { _, err := VerifyStore(t.Context(), s, VerifyOptions{Logger: logger}); return err },
			[]string{"checkpoint and directory read", "files read", "packs read", "days read", "expanded objects read"}},
		{"pull", func() error {
			_, err := Pull(t.Context(), tables, PullOptions{To: tempDir(t), Logger: logger})
			return err
		}, []string{"list of tables read", "files fetched", "files in place"}},
	} {
		log.Reset()
		if err := test.run(); err != nil {
			t.Errorf("%s after %s: %v", test.name, second, err)
		}
		var got []string
		for line := range strings.Lines(log.String()) {
			m := regexp.MustCompile(`msg="([^"]*)" .*\w+=\d+ ms=\d+`).FindStringSubmatch(line)
			if m == nil {
				t.Errorf("%s: the line has no count or no time: %s", test.name, line)
				continue
			}
			got = append(got, m[1])
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
