package output

import "sync"

// Progress is the progress of a publication. The totals grow while it finds out what to send.
type Progress struct {
	Objects, TotalObjects int
	Bytes, TotalBytes     int64
}

// progress adds up the progress and reports it.
type progress struct {
	mu     sync.Mutex
	now    Progress
	report func(Progress)
}

func (p *progress) addTotal(objects int, bytes int64) { p.add(Progress{0, objects, 0, bytes}) }
func (p *progress) addDone(objects int, bytes int64)  { p.add(Progress{objects, 0, bytes, 0}) }

func (p *progress) add(d Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.Objects += d.Objects
	p.now.TotalObjects += d.TotalObjects
	p.now.Bytes += d.Bytes
	p.now.TotalBytes += d.TotalBytes
	if p.report != nil {
		p.report(p.now)
	}
}

func (p *progress) bytesSent() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now.Bytes
}
