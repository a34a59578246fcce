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

// findExpanded finds objects that may have been expanded if the list is lost: every object whose name could be that of
// a snapshot's file. Objects of strangers are excluded, unless they are in a folder of the tree and, if the store keeps
// headers, have the cache policy that we give to their name.
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
	expanded := map[string]archive.Sum{}
	var unsure []string
	for _, obj := range list {
		top, _, nested := strings.Cut(obj.Name, "/")
		switch _, inTree := tree.Lookup(obj.Name); {
		case archive.CheckName(obj.Name) != nil || isOwn(obj.Name):
		case inTree:
			expanded[obj.Name] = archive.Sum{}
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
				expanded[name] = archive.Sum{}
			}
			return err
		})
	}
	return expanded, g.Wait()
}

// isOurs reports whether an object has the cache policy that we would give to it.
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
