package main

import (
	"context"
	"encoding/json"
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
// scales, neighbours by price and programs that pay, which hugo's pages lack. Hugo takes half a megabyte of memory for
// each service.
var htmlStage = stage{name: "html", short: "measure rendering pages, beside hugo", services: 2000, runs: 5,
	peers: []string{"hugo.sh"}, flags: plain((*bench).measurePages)}

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

func (b *bench) measurePages() {
	records := b.path("assets", "records.json")
	check(os.CopyFS(b.dir, os.DirFS(peerFile("hugo"))))
	check(os.MkdirAll(filepath.Dir(records), 0o755))
	check(os.WriteFile(records, b.writeRecords(), 0o644))
	const peer = "hugo 0.160"
	ours := func() *exec.Cmd { return b.role("html", htmlJob{records, b.path("out-ours"), b.profile}) }
	hugo := func() *exec.Cmd { return b.peer(nil, "hugo.sh", b.dir, b.path("out-"+peer)) }
	b.pages("ours", ours())
	b.pages(peer, hugo())
	comparePages(records, b.path("out-ours"), b.path("out-"+peer))
	clear(b.figures)
	b.alternate(side{"ours", func() (float64, string) { return b.pages("ours", ours()) }},
		side{peer, func() (float64, string) { return b.pages(peer, hugo()) }})
	b.compare(fmt.Sprintf("%s of %d services", b.work, b.services), "pages/s", "ours", peer, atLeast(4))
	b.compare("processor time", "s", "ours, processor", peer+", processor", limit{})
}

// pages runs a process of a side and returns its pages a second.
func (b *bench) pages(side string, cmd *exec.Cmd) (rate float64, work string) {
	out := b.path("out-" + side)
	check(os.RemoveAll(out))
	check(os.MkdirAll(out, 0o755))
	_, seconds := b.run(cmd)
	pages := 0
	check(filepath.WalkDir(out, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".html") {
			pages++
		}
		return err
	}))
	b.note(side+", processor", used(cmd))
	return float64(pages) / seconds, fmt.Sprintf("%d pages", pages)
}

// writeRecords builds a generated directory and returns what it publishes about each service as one JSON array.
func (b *bench) writeRecords() []byte {
	b.buildOf(b.crowd(b.path("postgres"), b.services, crowd.Moment), 0)
	z := must(archive.OpenZipFile(must(filepath.Glob(b.path("public", "snapshots", "*.zip")))[0]))
	defer z.Close()
	var records []map[string]json.RawMessage
	for _, name := range slices.Sorted(slices.Values(z.Names())) {
		if !detail.MatchString(name) {
			continue
		}
		record := map[string]json.RawMessage{}
		for what, file := range map[string]string{"detail": "", "evidence": "/evidence", "checks": "/checks",
			"uptime": "/uptime/period=90d", "prices": "/price/period=all", "volume": "/volume/period=all"} {
			var one struct{ Data json.RawMessage }
			check(json.Unmarshal(must(z.ReadFile(strings.TrimSuffix(name, ".json")+file+".json")), &one))
			record[what] = one.Data
		}
		records = append(records, record)
	}
	return must(json.Marshal(records))
}

func readRecords(file string) (records []*htmlRecord) {
	check(json.Unmarshal(must(os.ReadFile(file)), &records))
	return records
}

// renderOurs is the process of our side: it reads the records and writes every page as a file, on all cores.
func renderOurs(ctx context.Context, o htmlJob) {
	defer startProfile(o.Profile)()
	g, _ := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	put := func(key string, page func() ([]byte, error)) {
		g.Go(func() error {
			return attempt(func() {
				path := filepath.Join(o.To, filepath.FromSlash(key))
				check(os.MkdirAll(filepath.Dir(path), 0o755))
				check(os.WriteFile(path, must(page()), 0o644))
			})
		})
	}
	listings, renderer := newPageRenderer(readRecords(o.Records))
	var items []*site.ServiceListItem
	for _, l := range listings {
		items = append(items, &l.Item)
		put("services/"+l.Item.Slug+".html", func() ([]byte, error) {
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
	check(g.Wait())
}

// newPageRenderer prepares our pages as a build does: it needs the rows of all services first.
func newPageRenderer(records []*htmlRecord) (listings []*site.Listing, _ *render.Renderer) {
	pages := must(render.NewPages(render.Site{BaseURL: "https://tollbook.example"}))
	s := &site.Snapshot{Now: site.NewTime(crowd.Moment), Next: site.NewTime(crowd.Moment.Add(15 * 60e9))}
	known := map[string]bool{}
	for _, r := range records {
		l := r.listing()
		listings = append(listings, l)
		s.Services = append(s.Services, site.Listing{Item: l.Item, ListingDetail: &site.ListingDetail{
			Detail: site.ServiceDetail{Slug: r.Detail.Slug, Name: r.Detail.Name}}})
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
	return listings, pages.NewRenderer(s)
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
	detail = regexp.MustCompile(`^v1/services/[^/=]+\.json$`)
	markup = regexp.MustCompile(`<[^>]*>`)
	spaces = regexp.MustCompile(`[\s\x{a0}\x{200b}]+`)
)

// comparePages checks that the pages of some services contain, on both sides, what the JSON says of them.
func comparePages(file, ours, peer string) {
	records := readRecords(file)
	compared := 0
	for i := 0; i < len(records); i += 1 + len(records)/50 {
		d := &records[i].Detail
		want := []string{d.Name, d.Description, d.Category, d.Status}
		for _, e := range d.Endpoints {
			want = append(want, e.Path)
		}
		for _, path := range []string{filepath.Join(ours, "services", d.Slug+".html"),
			filepath.Join(peer, "services", d.Slug, "index.html")} {
			page := string(must(os.ReadFile(path)))
			text := spaces.ReplaceAllString(html.UnescapeString(markup.ReplaceAllString(page, "")), " ")
			for _, words := range want {
				if words = spaces.ReplaceAllString(words, " "); !strings.Contains(text, words) {
					failf("%s lacks %q, which the JSON contains", path, words)
				}
			}
			compared += len(want)
		}
	}
	log.Printf("%d texts of the JSON are in the pages of both sides", compared)
}
