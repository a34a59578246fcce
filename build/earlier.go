package build

import (
	"encoding/json"
	"errors"
	"io/fs"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
)

// earlier lists the snapshots that stay readable beside this build, newest first. It can't list itself: its id is made
// of its bytes. The snapshot before lists those before it, so that hardly ever a zip is opened to read its digest.
func earlier(folder *output.Folder, b *output.Build) ([]site.PublishedSnapshot, error) {
	kept, err := b.RetainedSnapshots()
	if err != nil {
		return nil, err
	}
	known := listedBefore(b)
	list := []site.PublishedSnapshot{}
	for _, k := range kept {
		s, ok := known[k.ID]
		if !ok {
			built, _ := archive.ParseSnapshotID(k.ID)
			s = site.PublishedSnapshot{ID: k.ID, BuiltAt: site.NewTime(built)}
			s.Digest, err = folder.Digest(k.ID)
			if errors.Is(err, archive.ErrDamaged) || errors.Is(err, fs.ErrNotExist) {
				continue // nobody can read it
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

// listedBefore is what is known of earlier snapshots without opening them, by id. What can't be read of the list before
// is only not known.
func listedBefore(b *output.Build) map[string]site.PublishedSnapshot {
	known := map[string]site.PublishedSnapshot{}
	var before site.One[[]site.PublishedSnapshot]
	if data, err := b.ReadPrevious(bare("snapshots", "").Key()); err == nil && json.Unmarshal(data, &before) == nil {
		for _, s := range before.Data {
			known[s.ID] = s
		}
	}
	if c := b.Previous(); c.Snapshot != "" {
		known[c.Snapshot] = site.PublishedSnapshot{ID: c.Snapshot, BuiltAt: site.NewTime(c.Built()), Digest: c.Digest}
	}
	return known
}
