package render_test

import (
	"syscall"
	"testing"

	"tollbook/render"
	"tollbook/site"
)

// BenchmarkPage renders a page of each frequent kind, and the files beside a service's page.
func BenchmarkPage(b *testing.B) {
	s := world()
	e := newPages(b, render.Site{BaseURL: "https://tollbook.example", Contact: "hello@tollbook.example"}).NewRenderer(s)
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
		{"service", func() ([]byte, error) {
			return e.ServicePage(e.DescribeService(&full), e.Neighbours(&full.Item))
		}},
		{"ordinary service", func() ([]byte, error) {
			return e.ServicePage(e.DescribeService(&ordinary), e.Neighbours(&ordinary.Item))
		}},
		{"services", func() ([]byte, error) { return e.ServicesPage(items, meta, site.OrderNewest) }},
		{"group", func() ([]byte, error) { return e.GroupPage(e.Groups()[0], 1) }},
		{"facilitator", func() ([]byte, error) { return e.FacilitatorPage(&s.Facilitators[0]) }},
		{"status", e.StatusPage},
		{"home", e.Home},
		{"404", e.NotFound},
	} {
		b.Run(kind.name, func(b *testing.B) {
			measure(b, func() error {
				page, err := kind.render()
				b.SetBytes(int64(len(page)))
				return err
			})
		})
	}
	b.Run("beside a service", func(b *testing.B) {
		measure(b, func() error {
			_, err := e.ServiceFiles(e.DescribeService(&full))
			return err
		})
	})
}

// measure also reports processor time, which does not depend on other processes of the machine.
func measure(b *testing.B, f func() error) {
	b.ReportAllocs()
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := used()
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op")
}
