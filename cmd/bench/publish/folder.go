package publish

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"tollbook/cmd/bench/crowd"
	"tollbook/cmd/bench/harness"
	"tollbook/output/archive"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

// tree is what is published: two snapshots of one folder, the second one current.
type tree struct {
	ids        [2]string
	files      int // of the second snapshot
	bytes, zip int64
}

// build fills a database with a crowd, builds it, records visits to one service in fifteen, and builds it again.
func (b *bench) build(ctx context.Context) (err error) {
	log.Printf("Building %d services in %s, twice …", b.services, b.dir)
	dir := filepath.Join(b.dir, "postgres")
	server, err := private.Start(ctx, private.Options{Dir: dir, Throwaway: true})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, server.Stop(context.WithoutCancel(ctx)), os.RemoveAll(dir))
	}()
	db, err := postgres.OpenFor(ctx, server.DSN(), postgres.Options{Connections: crowd.Connections()})
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := crowd.Load(ctx, db, crowd.Options{Services: b.services, Seed: 1,
		Moment: time.Now().Truncate(time.Minute), Days: 90}); err != nil {
		return err
	}
	for i := range b.tree.ids {
		if i > 0 {
			if _, err := crowd.Visit(ctx, db, b.services, i, time.Now()); err != nil {
				return err
			}
		}
		env := []string{"DATABASE_URL=" + server.DSN()}
		if err := harness.Run(ctx, env, b.program, "build", "--site-base-url", "https://tollbook.example", "--data",
			b.data(),
			"--expand", "all"); err != nil {
			return err
		}
		if b.tree.ids[i], err = b.keepPointer(i); err != nil {
			return err
		}
	}
	return b.weigh()
}

func (b *bench) data() string        { return filepath.Join(b.dir, "data") }
func (b *bench) public() string      { return filepath.Join(b.data(), "public") }
func (b *bench) treeOf(i int) string { return filepath.Join(b.public(), "tree", b.tree.ids[i]) }
func (b *bench) pointer() string     { return filepath.Join(b.public(), "checkpoint.json") }
func (b *bench) keptPointer(i int) string {
	return filepath.Join(b.dir, []string{"first", "second"}[i])
}

// keepPointer copies the pointer to the ith snapshot and returns its id.
func (b *bench) keepPointer(i int) (string, error) {
	data, err := os.ReadFile(b.pointer())
	if err != nil {
		return "", err
	}
	var c archive.Checkpoint
	if err := json.Unmarshal(data, &c); err != nil {
		return "", err
	}
	return c.Snapshot, os.WriteFile(b.keptPointer(i), data, 0o600)
}

// point makes the ith snapshot the current one of the folder.
func (b *bench) point(i int) error {
	data, err := os.ReadFile(b.keptPointer(i))
	if err != nil {
		return err
	}
	return os.WriteFile(b.pointer(), data, 0o600)
}

// weigh counts the files and bytes of the tree.
func (b *bench) weigh() error {
	info, err := os.Stat(b.zip())
	if err != nil {
		return err
	}
	b.tree.zip = info.Size()
	return filepath.WalkDir(b.treeOf(1), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			b.tree.files, b.tree.bytes = b.tree.files+1, b.tree.bytes+info.Size()
		}
		return err
	})
}

func (b *bench) zip() string { return filepath.Join(b.public(), "snapshots", b.tree.ids[1]+".zip") }

// openings measures how long opening the local zip takes, and the memory of the open zip.
func (b *bench) openings(report *harness.Report, runs int) error {
	held := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	var seconds, each []float64
	for range runs {
		before, began := held(), time.Now()
		z, err := archive.OpenZipFile(b.zip())
		if err != nil {
			return err
		}
		seconds = append(seconds, time.Since(began).Seconds())
		each = append(each, (held()-before)/float64(b.tree.files))
		if err := z.Close(); err != nil {
			return err
		}
	}
	report.Add("open the local zip", "s", seconds...)
	report.Add("memory of an open zip, a name", "bytes", each...)
	return nil
}
