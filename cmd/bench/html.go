package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"tollbook/cmd/bench/crowd"
	"tollbook/output/archive"
	"tollbook/render"
	"tollbook/site"
)

// htmlStage measures pages beside hugo 0.160.0, a fast site generator. Both sides read the same JSON, which are the
// published responses about each service, and write as many pages as files in memory, on all cores: one for each
// service, the list in its first order, and those of categories and networks with fifty services each. A run is a
// process from start to end. Ours calls package render as a build does, without Postgres and the zip.
//
// Hugo's templates (peers/hugo) do not imitate ours. They show every field of the JSON, whatever its name, so a change
// of our pages does not make them wrong. The bench compares some pages of both sides with the JSON: names,
// descriptions, statuses and paths must be in both. The difference favours hugo: ours computes sentences, charts,
// scales, neighbours by price and programs that pay, which hugo's pages lack.
var htmlStage = stage{"html", "measure rendering pages, beside hugo",
	func(flags *flag.FlagSet) func(context.Context, *report) error {
		services := flags.Int("services", 2000, "how many `services`; hugo takes half a megabyte of memory for each")
		runs := flags.Int("runs", 5, "`runs` of each side")
		profile := flags.String("profile", "", "`file` for a CPU profile of our last run")
		return func(ctx context.Context, r *report) error { return measurePages(ctx, r, *services, *runs, *profile) }
	}}

// htmlJob is what our process gets: the JSON, and the folder that it writes to.
type htmlJob struct{ Records, To, Profile string }

// htmlRecord is what both sides read of a service.
type htmlRecord struct {
	Detail   site.ServiceDetail     `json:"detail"`
	Evidence site.Evidence          `json:"evidence"`
	Uptime   []site.UptimeDataPoint `json:"uptime"`
	Checks   []site.CheckEntry      `json:"checks"`
	Prices   []site.PricePoint      `json:"prices"`
	Volume   []site.VolumePoint     `json:"volume"`
}

// paging is the state that both sides share.
type paging struct {
	dir   string
	pages map[string]int
	took  series
}

func measurePages(ctx context.Context, r *report, services, runs int, profile string) error {
	if services < 100 || runs < 1 {
		return fmt.Errorf("%w: the bench needs at least 100 services and one run", errUsage)
	}
	if err := install(ctx, "hugo.sh"); err != nil {
		return err
	}
	dir, err := temporary()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &paging{dir: dir, pages: map[string]int{}, took: series{}}
	if err := os.CopyFS(dir, os.DirFS(peerFile("hugo"))); err != nil {
		return err
	}
	log.Printf("writing the records of %d services", services)
	names, err := writeRecords(ctx, dir, services)
	if err != nil {
		return err
	}
	ours := func(ctx context.Context) (float64, error) {
		cmd, err := role(ctx, nil, "html", htmlJob{b.records(), b.out("ours"), profile})
		if err != nil {
			return 0, err
		}
		return b.side("ours", cmd)
	}
	theirs := func(ctx context.Context) (float64, error) {
		return b.side("hugo", peer(ctx, nil, "hugo.sh", dir, b.out("hugo")))
	}
	for _, side := range []side{ours, theirs} {
		if _, err := side(ctx); err != nil {
			return err
		}
	}
	if err := b.check(names); err != nil {
		return err
	}
	clear(b.took)
	results, err := alternate(ctx, runs, ours, theirs)
	if err != nil {
		return err
	}
	r.compare(fmt.Sprintf("%d pages of %d services", b.pages["ours"], services), "hugo 0.160", "pages/s", results[0],
		results[1], atLeast(4))
	r.compare("processor time", "hugo 0.160", "s", b.took["ours"], b.took["hugo"], limit{})
	return nil
}

func (b *paging) out(side string) string { return filepath.Join(b.dir, "out-"+side) }
func (b *paging) records() string        { return filepath.Join(b.dir, "assets", "records.json") }

// side runs a process and returns its pages a second.
func (b *paging) side(name string, cmd *exec.Cmd) (float64, error) {
	if err := errors.Join(os.RemoveAll(b.out(name)), os.MkdirAll(b.out(name), 0o755)); err != nil {
		return 0, err
	}
	_, seconds, err := run(cmd)
	if err != nil {
		return 0, err
	}
	pages := 0
	if err := filepath.WalkDir(b.out(name), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".html") {
			pages++
		}
		return err
	}); err != nil {
		return 0, err
	}
	b.pages[name] = pages
	if ours, theirs := b.pages["ours"], b.pages["hugo"]; ours > 0 && theirs > 0 && ours != theirs {
		return 0, fmt.Errorf("ours wrote %d pages, hugo %d", ours, theirs)
	}
	cpu, _ := used(cmd)
	b.took.add(name, cpu)
	return float64(pages) / seconds, nil
}

// writeRecords builds a generated directory and writes what it publishes about each service as one JSON file. It
// returns all slugs.
func writeRecords(ctx context.Context, dir string, services int) ([]string, error) {
	d, err := (&snapshotOptions{days: 90}).start(ctx, dir, services)
	if err != nil {
		return nil, err
	}
	defer d.end()
	public := filepath.Join(dir, "public")
	defer os.RemoveAll(public)
	if _, err := d.buildIn(ctx, public, 0, ""); err != nil {
		return nil, err
	}
	list, err := zips(public)
	if err != nil {
		return nil, err
	}
	z, err := archive.OpenZipFile(list[0])
	if err != nil {
		return nil, err
	}
	defer z.Close()
	var slugs []string
	for _, name := range z.Names() {
		if m := detail.FindString(name); m != "" {
			slugs = append(slugs, strings.TrimSuffix(strings.TrimPrefix(name, "v1/services/"), ".json"))
		}
	}
	slices.Sort(slugs)
	records := make([]map[string]json.RawMessage, len(slugs))
	for i, slug := range slugs {
		records[i] = map[string]json.RawMessage{}
		for what, file := range map[string]string{"detail": "", "evidence": "/evidence", "checks": "/checks",
			"uptime": "/uptime/period=90d", "prices": "/price/period=all", "volume": "/volume/period=all"} {
			data, err := z.ReadFile("v1/services/" + slug + file + ".json")
			if err != nil {
				return nil, err
			}
			var one struct{ Data json.RawMessage }
			if err := json.Unmarshal(data, &one); err != nil {
				return nil, err
			}
			records[i][what] = one.Data
		}
	}
	text, err := json.Marshal(records)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "assets"), 0o755); err != nil {
		return nil, err
	}
	return slugs, os.WriteFile(filepath.Join(dir, "assets", "records.json"), text, 0o644)
}

// renderOurs is the process of our side: it reads the records and writes every page as a file, on all cores.
func renderOurs(ctx context.Context, o htmlJob) error {
	stop, err := profile(o.Profile)
	if err != nil {
		return err
	}
	defer stop()
	data, err := os.ReadFile(o.Records)
	if err != nil {
		return err
	}
	var records []*htmlRecord
	if err := json.Unmarshal(data, &records); err != nil {
		return fmt.Errorf("read %s: %w", o.Records, err)
	}
	items, renderer, err := newPageRenderer(records)
	if err != nil {
		return err
	}
	g, _ := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	put := func(key string, page func() ([]byte, error)) {
		g.Go(func() error {
			data, err := page()
			if err != nil {
				return fmt.Errorf("render %s: %w", key, err)
			}
			path := filepath.Join(o.To, filepath.FromSlash(key))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			return os.WriteFile(path, data, 0o644)
		})
	}
	for _, record := range records {
		l := record.listing()
		put("services/"+record.Detail.Slug+".html", func() ([]byte, error) {
			return renderer.ServicePage(renderer.DescribeService(l), renderer.Neighbours(&l.Item))
		})
	}
	site.Sort(items, site.OrderNewest)
	for n := 1; (n-1)*render.PageRows < len(items); n++ {
		rows := items[(n-1)*render.PageRows : min(n*render.PageRows, len(items))]
		put(fmt.Sprintf("list/%d.html", n), func() ([]byte, error) {
			return renderer.ServicesPage(rows, site.NewPaginationMeta(len(items), n, render.PageRows), site.OrderNewest)
		})
	}
	for _, group := range renderer.Groups() {
		for n := 1; n <= group.Pages(); n++ {
			put(group.Key(n), func() ([]byte, error) { return renderer.GroupPage(group, n) })
		}
	}
	return g.Wait()
}

// newPageRenderer prepares our pages as a build does: it needs the rows of all services first.
func newPageRenderer(records []*htmlRecord) (items []*site.ServiceListItem, _ *render.Renderer, err error) {
	pages, err := render.NewPages(render.Site{BaseURL: "https://tollbook.example"})
	if err != nil {
		return nil, nil, err
	}
	s := &site.Snapshot{Now: site.NewTime(crowd.Moment), Next: site.NewTime(crowd.Moment.Add(15 * 60e9)),
		Services: make([]site.Listing, len(records))}
	known := map[string]bool{}
	for i, r := range records {
		l := r.listing()
		items = append(items, &l.Item)
		s.Services[i] = site.Listing{Item: l.Item, ListingDetail: &site.ListingDetail{
			Detail: site.ServiceDetail{Slug: r.Detail.Slug, Name: r.Detail.Name}}}
		s.Status.Total++
		if r.Detail.Status == site.StatusOnline {
			s.Status.Online++
		}
		for k, code := range r.Detail.Networks {
			if !known[code] {
				known[code] = true
				id := r.Detail.NetworksCAIP2[min(k, len(r.Detail.NetworksCAIP2)-1)]
				s.Networks = append(s.Networks, site.Network{ID: id, CAIP2: id, CAIP2ID: id, Name: code,
					Abbreviation: code})
			}
		}
	}
	return items, pages.NewRenderer(s), nil
}

// listing returns a record in the form that a build uses.
func (r *htmlRecord) listing() *site.Listing {
	d := &r.Detail
	l := &site.Listing{Item: site.ServiceListItem{Slug: d.Slug, Name: d.Name, Description: d.Description,
		BaseURL: d.BaseURL, WebsiteURL: d.WebsiteURL, Category: d.Category, Status: d.Status, Verified: d.Verified,
		EndpointCount: d.EndpointCount, MinPriceUSD: d.MinPriceUSD, Networks: d.Networks, Uptime24h: d.Uptime24h,
		AvgResponseTimeMS: d.AvgResponseTimeMS, LastCheckedAt: d.LastCheckedAt, CreatedAt: d.CreatedAt,
		NetworksCAIP2: d.NetworksCAIP2, PaymentReady: d.PaymentReady, Source: d.Source},
		ListingDetail: &site.ListingDetail{Detail: *d, ServiceFiles: &site.ServiceFiles{Evidence: r.Evidence,
			Uptime: r.Uptime, Prices: r.Prices, Volume: r.Volume}}}
	l.Checks.Newest, l.Checks.Index.Next = r.Checks, int64(len(r.Checks))
	return l
}

var (
	markup = regexp.MustCompile(`<[^>]*>`)
	spaces = regexp.MustCompile(`[\s\x{a0}\x{200b}]+`)
)

// check checks that the pages of some services contain, on both sides, what the JSON says of them.
func (b *paging) check(slugs []string) error {
	data, err := os.ReadFile(b.records())
	if err != nil {
		return err
	}
	var records []*htmlRecord
	if err := json.Unmarshal(data, &records); err != nil {
		return err
	}
	compared := 0
	for i := 0; i < len(slugs); i += 1 + len(slugs)/50 {
		d := &records[i].Detail
		want := []string{d.Name, d.Description, d.Category, string(d.Status)}
		for _, e := range d.Endpoints {
			want = append(want, e.Path)
		}
		for _, path := range []string{filepath.Join(b.out("ours"), "services", slugs[i]+".html"),
			filepath.Join(b.out("hugo"), "services", slugs[i], "index.html")} {
			page, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text := spaces.ReplaceAllString(html.UnescapeString(markup.ReplaceAllString(string(page), "")), " ")
			for _, words := range want {
				if words = spaces.ReplaceAllString(words, " "); !strings.Contains(text, words) {
					return fmt.Errorf("%s lacks %q, which the JSON contains", path, words)
				}
			}
			compared += len(want)
		}
	}
	log.Printf("%d texts of the JSON are in the pages of both sides", compared)
	return nil
}
