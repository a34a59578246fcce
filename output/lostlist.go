package output

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"tollbook/output/archive"

	"golang.org/x/sync/errgroup"
)

// findExpanded finds what may be expanded where the list is lost: every object of the store that a snapshot's file
// could be. A stranger's object is not among them unless it lies in a folder of the tree and, where the store keeps
// headers, has the cache policy that we give to its name.
func (p *Publisher) findExpanded(ctx context.Context, tree archive.Tree) (map[string]archive.Sum, error) {
	list, err := p.store.List(ctx, "")
	if err != nil {
		return nil, err
	}
	folders := map[string]bool{}
	for _, name := range tree.Names() {
		if top, _, nested := strings.Cut(name, "/"); nested {
			folders[top] = true
		}
	}
	found := map[string]archive.Sum{}
	var unsure []string
	for _, obj := range list {
		top, _, nested := strings.Cut(obj.Name, "/")
		switch _, known := tree.Lookup(obj.Name); {
		case archive.CheckName(obj.Name) != nil || isOwn(obj.Name):
		case known:
			found[obj.Name] = archive.Sum{}
		case folders[top] && (nested || p.store.KeepsHeader()):
			unsure = append(unsure, obj.Name)
		}
	}
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(writersAtOnce)
	for _, name := range unsure {
		g.Go(func() error {
			ours, err := p.isOurs(gctx, name)
			if ours {
				mu.Lock()
				defer mu.Unlock()
				found[name] = archive.Sum{}
			}
			return err
		})
	}
	return found, g.Wait()
}

// isOurs says whether an object has the header that we would have given it.
func (p *Publisher) isOurs(ctx context.Context, name string) (bool, error) {
	if !p.store.KeepsHeader() || p.o.Header == nil {
		return true, nil
	}
	obj, err := p.store.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && obj.Header.Cache == p.o.Header(name).Cache, err
}
