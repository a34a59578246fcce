package render_test

import (
	"testing"

	"tollbook/render"
	"tollbook/site"
)

// BenchmarkPage renders a page of each kind that a directory has thousands of, and what lies beside a service's.
func BenchmarkPage(b *testing.B) {
	s := world()
	e := newPages(b, render.Site{BaseURL: "https://tollbook.example", Contact: "hello@tollbook.example"}).Edition(s)
	full, ordinary := acme(), s.Services[10]
	items := make([]*site.ServiceListItem, len(s.Services))
	for i := range items {
		items[i] = &s.Services[i].Item
	}
	meta := site.NewPaginationMeta(len(items), 1, len(items))
	for _, kind := range []struct {
		name   string
		render func() ([]byte, error)
	}{
		{"service", func() ([]byte, error) { return e.ServicePage(&full) }},
		{"ordinary service", func() ([]byte, error) { return e.ServicePage(&ordinary) }},
		{"services", func() ([]byte, error) { return e.ServicesPage(items, meta, site.OrderNewest) }},
		{"group", func() ([]byte, error) { return e.GroupPage(e.Groups()[0], 1) }},
		{"facilitator", func() ([]byte, error) { return e.FacilitatorPage(&s.Facilitators[0]) }},
		{"status", e.StatusPage},
		{"home", e.Home},
		{"404", e.NotFound},
	} {
		b.Run(kind.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				page, err := kind.render()
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(page)))
			}
		})
	}
	b.Run("beside a service", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := e.ServiceFiles(&full); err != nil {
				b.Fatal(err)
			}
		}
	})
}
