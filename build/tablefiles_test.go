package build_test

import (
	"bytes"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"tollbook/output/archive"
	"tollbook/site/routes"
	"tollbook/site/testgate"
)

// exempt are the pages whose tables have no files: documents, and the start page, which shows beginnings of other
// tables.
var exempt = regexp.MustCompile(`^(index|reference|reference/.+|about|methodology|verify|owners|before-you-pay|` +
	`configuration|operations|operations/.+|upgrading|changelog|troubleshooting|hosting|costs|contributing)\.html$`)

// withoutFile are the tables without a file, by the beginning of their captions, with the reason.
var withoutFile = map[string]string{
	"Tables with their files":   "the table of files itself",
	"The answer as of this":     "the statement below it gives the answer in any format",
	"Latest checks":             "visits are Parquet by day, and a log of JSON",
	"Grade, failed checks":      "assessments are Parquet by day, and scores of JSON",
	"Public sources that list":  "rows of the services of each source",
	"Volume over 30 days, with": "four figures, not rows",
}

// TestTablesHaveFiles checks that every table of every page has a link to its rows as CSV in its section, or on the
// line of files of its page, and that the snapshot has the file.
func TestTablesHaveFiles(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	db, dir := openCopy(t, damagedTemplate), tempDir(t)
	r := run(t, db, dir, dataOptions(moment.Add(time.Minute)))
	z, err := archive.OpenZipFile(filepath.Join(dir, archive.SnapshotsDir, r.Snapshot+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	exists := map[string]bool{}
	for _, name := range z.Names() {
		exists[name] = true
	}
	tables, without := 0, map[string]bool{}
	for _, name := range z.Names() {
		if !strings.HasSuffix(name, ".html") || exempt.MatchString(name) {
			continue
		}
		text, err := z.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		page, err := goquery.NewDocumentFromReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		address, _, err := routes.Request(name)
		if err != nil {
			t.Fatal(err)
		}
		page.Find("table").Each(func(_ int, table *goquery.Selection) {
			tables++
			caption := strings.TrimSpace(table.Find("caption").Text())
			for begin := range withoutFile {
				if strings.HasPrefix(caption, begin) {
					without[begin] = true
					return
				}
			}
			place := table.Closest("section[aria-labelledby], main")
			links := place.Find(`a[href*=".csv"]`).AddSelection(page.Find(`p.files a[href*=".csv"]`))
			if links.Length() == 0 {
				t.Errorf("%s: the table %q has no link to its rows as CSV", name, caption)
			}
			links.Each(func(_ int, a *goquery.Selection) {
				if key := keyOf(t, address, a.AttrOr("href", "")); !exists[key] {
					t.Errorf("%s: the link to %s leads nowhere", name, key)
				}
			})
		})
	}
	if tables < 100 {
		t.Errorf("%d tables", tables)
	}
	for caption := range withoutFile {
		if !without[caption] {
			t.Errorf("no page has a table %q", caption)
		}
	}
}

// TestTableFilesAreDescribed checks that routes.CSVs describes each table of a snapshot, and no other.
func TestTableFilesAreDescribed(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	db, dir := openCopy(t, damagedTemplate), tempDir(t)
	r := run(t, db, dir, dataOptions(moment.Add(time.Minute)))
	z, err := archive.OpenZipFile(filepath.Join(dir, archive.SnapshotsDir, r.Snapshot+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	variable, described := regexp.MustCompile(`\\{[a-z]+\\}`), map[string]int{}
	for _, name := range z.Names() {
		if !strings.HasSuffix(name, ".csv") {
			continue
		}
		isDescribed := false
		for _, c := range routes.CSVs {
			pattern := variable.ReplaceAllString(regexp.QuoteMeta(c.Pattern), "[^/]+")
			if regexp.MustCompile("^" + pattern + "$").MatchString("/" + name) {
				isDescribed = true
				described[c.Name]++
			}
		}
		if !isDescribed {
			t.Errorf("routes.CSVs does not describe %s", name)
		}
	}
	for _, c := range routes.CSVs {
		if described[c.Name] == 0 {
			t.Errorf("no file is a table %s", c.Name)
		}
	}
}

// keyOf returns the key of a file that a page links.
func keyOf(t *testing.T, page, href string) string {
	t.Helper()
	base, err := url.Parse("http://x.example" + page)
	if err != nil {
		t.Fatal(err)
	}
	to, err := base.Parse(href)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(to.Path, "/")
}
