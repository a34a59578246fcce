package render

import "maps"

// Interpreted are pages made by html/template alone.
func (p *Pages) Interpreted() *Pages {
	q := *p
	q.kinds, q.row = maps.Clone(p.kinds), p.row.Interpreted()
	for kind, t := range p.kinds {
		q.kinds[kind] = t.Interpreted()
	}
	return &q
}

// Uncompiled are the kinds of pages that html/template has to make, with the reason.
func (p *Pages) Uncompiled() map[string]error {
	why := map[string]error{}
	for kind, t := range p.kinds {
		if err := t.Why(); err != nil {
			why[kind] = err
		}
	}
	if err := p.row.Why(); err != nil {
		why["row"] = err
	}
	return why
}
