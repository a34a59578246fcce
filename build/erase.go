package build

import (
	"encoding/json"
	"fmt"
	"strings"

	"tollbook/build/judge"
	"tollbook/output"
	"tollbook/site"
	"tollbook/site/postgres"
)

// Packs never change, but for one thing: the rows of a service that was erased are rewritten as tombstones, which keep
// their number, id and time, and say nothing else. The checkpoint says up to which erasure that is done.

// erasePacks rewrites the packs that tell of services which were erased since the snapshot before.
func erasePacks(folder *output.Folder, b *output.Build, removed []postgres.RemovedService) error {
	slugs := map[string]bool{}
	for _, r := range removed {
		if r.ID > b.Previous().Erased {
			slugs[r.Slug] = true
		}
	}
	if len(slugs) == 0 {
		return nil
	}
	hours, err := folder.Packs()
	if err != nil {
		return err
	}
	for _, hour := range hours {
		if err := b.RewritePack(hour, func(name string, data []byte) ([]byte, error) { return eraseBlock(name, data, slugs) }); err != nil {
			return fmt.Errorf("erase from pack %s: %w", hour, err)
		}
	}
	b.SetErased(removed[len(removed)-1].ID)
	return nil
}

// eraseBlock is the block without what it tells of some services: nil where it is one's own.
func eraseBlock(name string, data []byte, slugs map[string]bool) ([]byte, error) {
	for slug := range slugs {
		for _, own := range []string{bare("service-checks", slug).ListKey(), ofService(slug).ListKey()} {
			if strings.HasPrefix(name, own+"/") {
				return nil, nil
			}
		}
	}
	rows, meta, err := site.Framing{}.Split(data)
	if err != nil {
		return nil, err
	}
	global := strings.HasPrefix(name, bare("checks", "").ListKey()+"/")
	for i, row := range rows {
		if global {
			rows[i], err = eraseRow(row, slugs, func(r site.GlobalCheckEntry) string { return r.ServiceSlug }, func(r *site.GlobalCheckEntry) {
				*r = judge.CheckTombstone(r.ID, r.CheckedAt)
			})
		} else {
			rows[i], err = eraseRow(row, slugs, func(r site.ChangeRecord) string { return r.Slug }, func(r *site.ChangeRecord) {
				*r = judge.ChangeTombstone(r.Type, r.ObservedAt)
			})
		}
		if err != nil {
			return nil, err
		}
	}
	return site.Framing{}.List(rows, meta), nil
}

// eraseRow leaves the bytes of other rows as they are.
func eraseRow[T any](row []byte, slugs map[string]bool, slugOf func(T) string, erase func(*T)) ([]byte, error) {
	var r T
	if err := json.Unmarshal(row, &r); err != nil {
		return nil, err
	}
	if !slugs[slugOf(r)] {
		return row, nil
	}
	erase(&r)
	return site.Row(r)
}
