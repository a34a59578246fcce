package build

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/routes"
)

// From one snapshot to the next, maxVanished services may vanish that the operator did not remove, or one in
// maxVanishedShare, whichever is more.
const (
	maxVanished      = 5
	maxVanishedShare = 20
)

// CheckSuccessor returns an error if a snapshot may not follow another: it was built from another database, services
// vanish that the operator did not remove, or a number falls that can only grow. The last two happen if a build reads
// the wrong database or a part of one.
func CheckSuccessor(before, after archive.Files, removed []string) error {
	was, err := readJSON[routes.Index](before, routes.IndexFile)
	if err != nil {
		return fmt.Errorf("read previous snapshot: %w", err)
	}
	is, err := readJSON[routes.Index](after, routes.IndexFile)
	if err != nil {
		return err
	}
	if err := checkIndex(was, is, removed); err != nil {
		return err
	}
	for _, log := range []string{"changes", "checks"} {
		if err := checkLog(before, after, bare(log, "").LogKey()); err != nil {
			return err
		}
	}
	return checkTotals(before, after, was.Slugs)
}

// checkIndex returns an error if the snapshot of an index may not follow that of another: they are of two databases, or
// all services or too many vanish that the operator did not remove. An older snapshot does not name its database.
func checkIndex(was, is routes.Index, removed []string) error {
	if was.Database != "" && is.Database != "" && was.Database != is.Database {
		return fmt.Errorf("it was built from the database %s, this one from another, %s", was.Database, is.Database)
	}
	var vanished []string
	for _, slug := range was.Slugs {
		_, stays := slices.BinarySearch(is.Slugs, slug)
		if !stays && !slices.Contains(removed, slug) {
			vanished = append(vanished, slug)
		}
	}
	most := max(maxVanished, len(was.Slugs)/maxVanishedShare)
	most = min(most, max(len(was.Slugs)-1, 0)) // never all of them
	if len(vanished) > most {
		return fmt.Errorf("%d of %d services vanish that nobody removed, among them %s; up to %d may", len(vanished),
			len(was.Slugs),
			strings.Join(vanished[:min(3, len(vanished))], ", "), most)
	}
	return nil
}

// checkFacts returns an error that wraps output.ErrSuccessor if a snapshot of the facts may not follow the one that b
// replaces, as checkIndex.
func checkFacts(b *output.Build, facts *postgres.Facts, erased []postgres.RemovedService) error {
	was, err := readPreviousIndex(b)
	if err != nil {
		return nil // readers have nothing that they could lose
	}
	is := routes.Index{Database: facts.Identity}
	for _, s := range facts.Services {
		is.Slugs = append(is.Slugs, s.Slug)
	}
	slices.Sort(is.Slugs) // the database may sort otherwise
	var removed []string
	for _, s := range facts.Hidden {
		removed = append(removed, s.Slug)
	}
	for _, s := range erased {
		removed = append(removed, s.Slug)
	}
	if err := checkIndex(was, is, removed); err != nil {
		return fmt.Errorf("%w of %s: %w", output.ErrSuccessor, b.Previous().Snapshot, err)
	}
	return nil
}

// readPreviousIndex returns the index of the snapshot that a build replaces.
func readPreviousIndex(b *output.Build) (index routes.Index, err error) {
	data, err := b.ReadPrevious(routes.IndexFile)
	if err == nil {
		err = json.Unmarshal(data, &index)
	}
	return index, err
}

// CheckRows returns an error if the database lacks rows that the logs of a published snapshot end with, so that other
// rows would get their numbers.
func CheckRows(ctx context.Context, db *postgres.DB, before archive.Files) error {
	return db.Read(ctx, func(r *postgres.Reader) error { return findLost(ctx, r, before.ReadFile, 0) })
}

// lostError is the error of a database that lacks published rows.
type lostError struct {
	rows int
	at   time.Time // of the oldest
	back []string  // slugs that the database lists, and readers do not see any more
}

func (e *lostError) Error() string {
	what := "a removal or void of checks that was published"
	if e.rows > 0 {
		what = fmt.Sprintf("%d of the newest checks and changes that readers have, the oldest of %s", e.rows,
			e.at.UTC().Format(time.RFC3339))
	}
	text := fmt.Sprintf("the database lacks %s, so it was restored from an earlier back-up, and other rows would get "+
		"their numbers; if it goes on from there, use --force once (see \"Back up and restore\" of the page "+
		"operations/repair)", what)
	if len(e.back) > 0 {
		text += fmt.Sprintf("; it lists %s again, which readers do not see any more: what was removed or hidden after the "+
			"back-up must be removed or hidden again first", strings.Join(e.back, ", "))
	}
	return text
}

// findBack returns the slugs of services that were listed before the snapshot which b replaces was built, but are not
// in it.
func findBack(b *output.Build, facts *postgres.Facts) (slugs []string) {
	was, err := readPreviousIndex(b)
	if err != nil {
		return nil
	}
	slices.Sort(was.Slugs)
	for _, s := range facts.Services {
		if _, there := slices.BinarySearch(was.Slugs, s.Slug); !there && s.CreatedAt.Before(b.Previous().Built()) {
			slugs = append(slugs, s.Slug)
		}
	}
	slices.Sort(slugs)
	return slugs
}

// findLost returns a *lostError if the database lacks rows that the logs of a published snapshot end with, or the last
// of the erasures that its packs are without. It returns nil if the snapshot cannot be read, because then readers have
// nothing that they could lose.
func findLost(ctx context.Context, r *postgres.Reader, read func(name string) ([]byte, error), erased int64) error {
	var ofChecks, ofChanges []checks.PublishedRow
	for _, c := range readNewest[site.GlobalCheckEntry](read, "checks") {
		if id, err := uuid.Parse(c.ID); err == nil {
			ofChecks = append(ofChecks, checks.PublishedRow{ID: id, Slug: c.ServiceSlug, At: c.CheckedAt.Time})
		}
	}
	for _, c := range readNewest[site.ChangeRecord](read, "changes") {
		ofChanges = append(ofChanges, checks.PublishedRow{Slug: c.Slug, Type: c.Type, At: c.ObservedAt.Time})
	}
	lost, err := r.FindLost(ctx, ofChecks, ofChanges)
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		return &lostError{rows: len(lost), at: lost[0]}
	}
	last, err := r.LastErasure(ctx)
	if err != nil || last >= erased {
		return err
	}
	return new(lostError)
}

// readNewest returns the newest rows of a log in a published snapshot, none if they cannot be read.
func readNewest[T any](read func(name string) ([]byte, error), log string) []T {
	var list struct{ Data []T }
	data, err := read(bare(log, "").Key())
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil
	}
	return list.Data
}

// checkLog checks that the next number of a log does not fall, because numbers are never used twice.
func checkLog(before, after archive.Files, key string) error {
	if _, ok := before.Lookup(key); !ok {
		return nil
	}
	was, err := readJSON[site.LogIndex](before, key)
	if err != nil {
		return fmt.Errorf("read previous snapshot: %w", err)
	}
	is, err := readJSON[site.LogIndex](after, key)
	if err != nil {
		return err
	}
	if is.Next < was.Next {
		return fmt.Errorf("%s: the next number falls from %d to %d", key, was.Next, is.Next)
	}
	return nil
}

// checkTotals checks that total_checks of no service falls.
func checkTotals(before, after archive.Files, slugs []string) error {
	for _, slug := range slugs {
		key := bare("service", slug).Key()
		old, _ := before.Lookup(key)
		if m, ok := after.Lookup(key); !ok || m.Sum == old.Sum {
			continue
		}
		was, err := totalChecks(before, key)
		if err != nil {
			return fmt.Errorf("read previous snapshot: %w", err)
		}
		is, err := totalChecks(after, key)
		if err != nil {
			return err
		}
		if is < was {
			return fmt.Errorf("%s: total_checks falls from %d to %d", key, was, is)
		}
	}
	return nil
}

// totalChecks cuts total_checks out of a detail, because parsing 20,000 details takes seconds. A build wrote the
// detail, so the first occurrence is the field: quotes in the texts of strangers are escaped.
func totalChecks(t archive.Files, key string) (int64, error) {
	data, err := t.ReadFile(key)
	if err != nil {
		return 0, err
	}
	const field = `"total_checks":`
	_, rest, ok := bytes.Cut(data, []byte(field))
	digits := rest[:len(rest)-len(bytes.TrimLeft(rest, "0123456789"))]
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("read %s: no total_checks", key)
	}
	return n, nil
}

func readJSON[T any](t archive.Files, key string) (v T, err error) {
	data, err := t.ReadFile(key)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("parse %s: %w", key, err)
	}
	return v, nil
}

// ListPacks returns the hours of the packs that the logs of a snapshot name, sorted.
func ListPacks(t archive.Tree) ([]string, error) {
	hours := map[string]bool{}
	for _, name := range t.Names() {
		if !routes.IsLog(name) {
			continue
		}
		log, err := readJSON[site.LogIndex](t, name)
		if err != nil {
			return nil, err
		}
		for _, of := range append(slices.Collect(maps.Values(log.Types)), log) {
			for _, p := range of.Packs {
				hours[p.Pack] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(hours)), nil
}

// ListSnapshots returns the IDs of the previous snapshots that a snapshot lists.
func ListSnapshots(t archive.Tree) ([]string, error) {
	list, err := readJSON[site.One[[]site.PublishedSnapshot]](t, bare("snapshots", "").Key())
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(list.Data))
	for i, s := range list.Data {
		ids[i] = s.ID
	}
	return ids, nil
}
