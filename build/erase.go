package build

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tollbook/build/judge"
	"tollbook/output"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/postgres"
)

// listedMargin is how long before its time a snapshot may have read its facts as of, so that a service that was listed
// meanwhile is in it.
const listedMargin = time.Hour

// NewErasures returns which snapshots may contain services that were removed: those that were built since a service was
// listed, until the first one without it. A removal that no snapshot handles yet gets the given first snapshot; with ""
// it is left out.
func NewErasures(removed []postgres.RemovedService, clean string) (e output.Erasures) {
	for _, r := range removed {
		of := output.Erasure{Clean: cmp.Or(r.CleanSnapshot, clean)}
		if r.ListedAt != nil {
			of.Since = r.ListedAt.Add(-listedMargin)
		}
		if r.DropSnapshots && of.Clean != "" {
			e = append(e, of)
		}
	}
	return e
}

// erasePacks rewrites the packs and the data files of days that contain rows of services erased since the previous
// snapshot. Packs change for no other reason. In packs the rows become tombstones, which have the row's number, ID and
// time and nothing else. Erasures up to the ID handled were handled before; the checkpoint contains the last one.
func erasePacks(folder *output.Folder, b *output.Build, removed []postgres.RemovedService, handled int64) error {
	slugs := map[string]bool{}
	for _, r := range removed {
		if r.ID > handled {
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
		if err := b.RewritePack(hour, func(name string, data []byte) ([]byte, error) {
			return eraseBlock(name, data, slugs)
		}); err != nil {
			return fmt.Errorf("erase from pack %s: %w", hour, err)
		}
	}
	if err := eraseDays(b, slugs); err != nil {
		return err
	}
	b.SetErased(removed[len(removed)-1].ID)
	return nil
}

// eraseBlock returns a block with tombstones for the rows of some services. It returns nil for a block of one of them.
func eraseBlock(name string, data []byte, slugs map[string]bool) ([]byte, error) {
	for slug := range slugs {
		for _, own := range []string{bare("service-checks", slug).ListKey(), ofService(slug).ListKey()} {
			if strings.HasPrefix(name, own+"/") {
				return nil, nil
			}
		}
	}
	rows, meta, err := encode.Framing{}.Split(data)
	if err != nil {
		return nil, err
	}
	global := strings.HasPrefix(name, bare("checks", "").ListKey()+"/")
	for i, row := range rows {
		if global {
			rows[i], err = eraseRow(row, slugs, func(r site.GlobalCheckEntry) string {
				return r.ServiceSlug
			}, func(r *site.GlobalCheckEntry) {
				*r = judge.CheckTombstone(r.ID, r.CheckedAt)
			})
		} else {
			rows[i], err = eraseRow(row, slugs, func(r site.ChangeRecord) string { return r.Slug },
				func(r *site.ChangeRecord) {
					*r = judge.ChangeTombstone(r.Type, r.ObservedAt)
				})
		}
		if err != nil {
			return nil, err
		}
	}
	return encode.Framing{}.List(rows, meta), nil
}

// eraseRow returns the tombstone of a row of one of the services, and other rows unchanged.
func eraseRow[T any](row []byte, slugs map[string]bool, slugOf func(T) string, erase func(*T)) ([]byte, error) {
	var r T
	if err := json.Unmarshal(row, &r); err != nil {
		return nil, err
	}
	if !slugs[slugOf(r)] {
		return row, nil
	}
	erase(&r)
	return encode.Row(r)
}
