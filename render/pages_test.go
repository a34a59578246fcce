package render_test

import (
	"testing"

	"tollbook/render"
	"tollbook/site"
)

func TestEmpty(t *testing.T) {
	t.Parallel()
	p, err := render.NewPages(render.Site{BaseURL: "https://tollbook.example"})
	if err != nil {
		t.Fatal(err)
	}
	e := p.Edition(&site.Snapshot{})
	for _, f := range []func() ([]byte, error){e.Home, e.StatusPage, e.NotFound,
		func() ([]byte, error) { return e.ServicesPage(nil, site.NewPaginationMeta(0, 1, 50)) },
		func() ([]byte, error) { return e.ServicePage(&site.Listing{Detail: site.ServiceDetail{Slug: "acme"}}) },
	} {
		if _, err := f(); err != nil {
			t.Error(err)
		}
	}
}
