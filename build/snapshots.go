package build

import (
	"encoding/json"
	"errors"
	"io/fs"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
)

// listPrevious returns the snapshots that stay readable beside this build, newest first. A snapshot cannot list itself,
// because its ID contains the digest of its bytes. Most digests come from the list in the previous snapshot, so that
// few zips are opened.
func listPrevious(folder *output.Folder, b *output.Build) ([]site.PublishedSnapshot, error) {
	retained, err := b.RetainedSnapshots()
	if err != nil {
		return nil, err
	}
	listed := readListed(b)
	list := []site.PublishedSnapshot{}
	for _, k := range retained {
		s, ok := listed[k.ID]
		if !ok {
			built, _ := archive.ParseSnapshotID(k.ID)
			s = site.PublishedSnapshot{ID: k.ID, BuiltAt: site.NewTime(built)}
			s.Digest, err = folder.Digest(k.ID)
			if errors.Is(err, archive.ErrDamaged) || errors.Is(err, fs.ErrNotExist) {
				continue // no reader could open it
			}
			if err != nil {
				return nil, err
			}
		}
		s.Size = k.Bytes
		list = append(list, s)
	}
	return list, nil
}

// readListed returns the snapshots that the previous snapshot lists, and the previous snapshot itself, by ID. It
// ignores a list that cannot be read.
func readListed(b *output.Build) map[string]site.PublishedSnapshot {
	listed := map[string]site.PublishedSnapshot{}
	var list site.One[[]site.PublishedSnapshot]
	if data, err := b.ReadPrevious(bare("snapshots", "").Key()); err == nil && json.Unmarshal(data, &list) == nil {
		for _, s := range list.Data {
			listed[s.ID] = s
		}
	}
	if c := b.Previous(); c.Snapshot != "" {
		listed[c.Snapshot] = site.PublishedSnapshot{ID: c.Snapshot, BuiltAt: site.NewTime(c.Built()), Digest: c.Digest}
	}
	return listed
}
