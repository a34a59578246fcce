package output

import (
	"slices"
	"sync"

	"tollbook/output/archive"
)

// maxPacks is the number of packs that stay open. A window of a log reads at most two, nearly always the newest.
const maxPacks = 8

// packCache keeps the last used packs open. Packs never change, so snapshots share them.
type packCache struct {
	mu   sync.Mutex
	list []*openPack // the last used first
}

// openPack is one open pack. The caller of open must Release it.
type openPack struct {
	name string
	zip  *archive.ZipFile
	refCount
}

// open returns the pack with a name, and calls do to open it if necessary. It does not lock meanwhile: two callers may
// open the same pack at once.
func (p *packCache) open(name string, do func() (*archive.ZipFile, error)) (*openPack, error) {
	if k := p.find(name); k != nil {
		return k, nil
	}
	z, err := do()
	if err != nil {
		return nil, err
	}
	k := &openPack{name: name, zip: z}
	k.close = z.Close
	k.retain() // for the list
	k.retain() // for the caller
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = slices.Insert(p.list, 0, k)
	for len(p.list) > maxPacks {
		last := len(p.list) - 1
		p.list[last].Release()
		p.list = slices.Delete(p.list, last, last+1)
	}
	return k, nil
}

// find returns an open pack and moves it to the front.
func (p *packCache) find(name string) *openPack {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.list, func(k *openPack) bool { return k.name == name })
	if i < 0 {
		return nil
	}
	k := p.list[i]
	copy(p.list[1:i+1], p.list[:i])
	p.list[0] = k
	k.retain()
	return k
}

// drop removes a pack that was replaced.
func (p *packCache) drop(k *openPack) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.list, k); i >= 0 {
		k.Release()
		p.list = slices.Delete(p.list, i, i+1)
	}
}

func (p *packCache) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.list {
		k.Release()
	}
	p.list = nil
}
