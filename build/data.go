package build

import (
	"context"
	"fmt"
	"io"

	"tollbook/build/data"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/postgres"
)

// addService adds a judged service with the facts of its endpoints to the data files.
type addService func(l *site.Listing, endpoints []postgres.EndpointFacts) error

// newDataSet begins the data files of a snapshot.
func newDataSet(ctx context.Context, folder *output.Folder, o Options, again bool) (*data.Set, error) {
	path := func(name string) string { return folder.TempPath("data-" + name) }
	files, err := data.NewSet(ctx, path, data.SetOptions{Now: o.Now, Title: o.Site.Title,
		Homepage: o.Site.BaseURL, DayRows: o.DataRows, Again: again})
	if err != nil {
		return nil, fmt.Errorf("write data: %w", err)
	}
	return files, nil
}

// eraseDays removes the rows of some services from the files of days.
func eraseDays(b *output.Build, slugs map[string]bool) error {
	files, err := b.DataDays()
	if err != nil {
		return err
	}
	for _, f := range files {
		name, day, _ := archive.ParseDataDay(f.Name)
		t := data.TableOf(name)
		if t == nil || t.Place("slug") < 0 {
			continue
		}
		err := b.RewriteDataDay(name, day, func(old io.ReaderAt, size int64, w io.Writer) (bool, error) {
			return data.DropParquetRows(old, size, w, t, "slug", slugs)
		})
		if err != nil {
			return fmt.Errorf("erase from %s: %w", f.Name, err)
		}
	}
	return nil
}
