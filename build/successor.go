package build

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tollbook/output/archive"
	"tollbook/site"
)

// What may vanish from one snapshot to the next without anybody having taken it off: so many services, or this share of
// them, whichever is more.
const (
	vanishMost  = 5
	vanishShare = 20 // a twentieth
)

// CheckSuccessor says why a snapshot may not follow another: services vanish that the operator did not remove, or what
// only grows has fallen, as it does when a build has read another database, or half of one.
func CheckSuccessor(before, after archive.Files, removed []string) error {
	was, err := readJSON[site.Index](before, site.IndexFile)
	if err != nil {
		return fmt.Errorf("the snapshot before: %w", err)
	}
	is, err := readJSON[site.Index](after, site.IndexFile)
	if err != nil {
		return err
	}
	var vanished []string
	for _, slug := range was.Slugs {
		_, stays := slices.BinarySearch(is.Slugs, slug)
		if !stays && !slices.Contains(removed, slug) {
			vanished = append(vanished, slug)
		}
	}
	if most := max(vanishMost, len(was.Slugs)/vanishShare); len(vanished) > most {
		return fmt.Errorf("%d of %d services vanish that nobody removed, %s and others; up to %d may", len(vanished), len(was.Slugs),
			strings.Join(vanished[:min(3, len(vanished))], ", "), most)
	}
	for _, log := range []string{"changes", "checks"} {
		if err := checkLog(before, after, bare(log, "").LogKey()); err != nil {
			return err
		}
	}
	return checkTotals(before, after, was.Slugs)
}

// checkLog holds the numbers of a log's rows, which are never given twice.
func checkLog(before, after archive.Files, key string) error {
	if _, ok := before.Lookup(key); !ok {
		return nil
	}
	was, err := readJSON[site.LogIndex](before, key)
	if err != nil {
		return fmt.Errorf("the snapshot before: %w", err)
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

// checkTotals holds total_checks of every service that stays.
func checkTotals(before, after archive.Files, slugs []string) error {
	for _, slug := range slugs {
		key := bare("service", slug).Key()
		old, _ := before.Lookup(key)
		if m, ok := after.Lookup(key); !ok || m.Sum == old.Sum {
			continue
		}
		was, err := totalChecks(before, key)
		if err != nil {
			return fmt.Errorf("the snapshot before: %w", err)
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

// totalChecks cuts one number out of a detail, which we wrote ourselves: to parse twenty thousand of them takes
// seconds. The field's first occurrence is the service's own: what others say of themselves is quoted.
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
		return 0, fmt.Errorf("%s: it says no total_checks", key)
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

// Packs are the hours of the packs that the logs of a snapshot name, in order.
func Packs(t archive.Tree) ([]string, error) {
	hours := map[string]bool{}
	for _, name := range t.Names() {
		if !site.IsLog(name) {
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

// Listed are the ids of the earlier snapshots that a snapshot says are kept.
func Listed(t archive.Tree) ([]string, error) {
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
