package output

import "sync"

// Progress is how far a publication is. Totals grow while it finds out what there is to do.
type Progress struct {
	Objects, TotalObjects int
	Bytes, TotalBytes     int64
}

// progress adds up for whoever wants to be told.
type progress struct {
	mu   sync.Mutex
	now  Progress
	tell func(Progress)
}

func (p *progress) expect(objects int, bytes int64) { p.add(Progress{0, objects, 0, bytes}) }
func (p *progress) done(objects int, bytes int64)   { p.add(Progress{objects, 0, bytes, 0}) }

func (p *progress) add(d Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.Objects += d.Objects
	p.now.TotalObjects += d.TotalObjects
	p.now.Bytes += d.Bytes
	p.now.TotalBytes += d.TotalBytes
	if p.tell != nil {
		p.tell(p.now)
	}
}

func (p *progress) sent() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now.Bytes
}
