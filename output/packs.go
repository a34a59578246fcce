package output

import (
	"slices"
	"sync"
	"tollbook/output/archive"
)

// maxPacks is how many packs stay open. A window of a log reads two at most, nearly always the newest.
const maxPacks = 8

// packs keeps the packs that were read last open. They never change, so snapshots share them.
type packs struct {
	mu   sync.Mutex
	list []*pack // the last used first
}

// pack is one open pack; whoever got it from open must Release it.
type pack struct {
	name string
	zip  *archive.ZipFile
	counted
}

// open answers the pack with a name, opened by do if need be. Opening another goes on beside; two who open the same one
// at once both may.
func (p *packs) open(name string, do func() (*archive.ZipFile, error)) (*pack, error) {
	if k := p.find(name); k != nil {
		return k, nil
	}
	z, err := do()
	if err != nil {
		return nil, err
	}
	k := &pack{name: name, zip: z}
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

// find moves an open pack to the front.
func (p *packs) find(name string) *pack {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.list, func(k *pack) bool { return k.name == name })
	if i < 0 {
		return nil
	}
	k := p.list[i]
	copy(p.list[1:i+1], p.list[:i])
	p.list[0] = k
	k.retain()
	return k
}

// drop forgets a pack that is another by now.
func (p *packs) drop(k *pack) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.list, k); i >= 0 {
		k.Release()
		p.list = slices.Delete(p.list, i, i+1)
	}
}

func (p *packs) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.list {
		k.Release()
	}
	p.list = nil
}
