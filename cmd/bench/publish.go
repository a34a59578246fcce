package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"time"

	"tollbook/output"
	"tollbook/output/archive"
)

// publishStage measures tollbook publish beside rclone. Both publish alternately to one MinIO with its data in memory.
//
// Both publish the same generated directory to a bucket: first everything, then the next snapshot after a visit to one
// service in fifteen. Ours is the tollbook command, a process with its database. With --expand none it sends the zip,
// with --expand all also every file as an object. The peer copies the tree of files, 64 at a time. The first time it
// does not look at the bucket; the second time it compares sums with a listing. Ours sends compressed objects, as
// readers get them; the peer cannot. Every run begins with an empty bucket. At its end, files of the bucket are
// compared with the tree.
//
// What a month costs at Amazon's prices follows from the requests that publish counts, by the formula of the page
// hosting. 20,000 services take 20 GB of memory.
var publishStage = stage{name: "publish", short: "measure publishing to a bucket, beside rclone", services: 2000, runs: 3,
	peers: []string{"rclone.sh", "minio.sh"}, flags: plain((*bench).measurePublishing)}

// Prices of Amazon S3 in the United States in dollars, and what a month has, as the page hosting has them.
const (
	writePrice, readPrice, storedPrice = 5e-6, 0.4e-6, 0.023e-9
	buildsPerMonth, keptSnapshots      = 2918, 396
)

func (b *bench) measurePublishing() {
	d := b.crowd(b.path("postgres"), b.services, time.Now().Truncate(time.Minute))
	public := b.path("data", "public")
	pointer := filepath.Join(public, "checkpoint.json")
	var pointers [2][]byte
	var ids, trees [2]string
	for i := range ids {
		log.Printf("building snapshot %d of 2 …", i+1)
		if i > 0 {
			d.visit(b.services, i, time.Now())
		}
		b.build(d, "--expand", "all")
		var c archive.Checkpoint
		pointers[i] = must(os.ReadFile(pointer))
		check(json.Unmarshal(pointers[i], &c))
		ids[i], trees[i] = c.Snapshot, filepath.Join(public, "tree", c.Snapshot)
	}
	var files []string // of the second snapshot
	check(filepath.WalkDir(trees[1], func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, path[len(trees[1])+1:])
		}
		return err
	}))
	zip := must(os.Stat(filepath.Join(public, "snapshots", ids[1]+".zip"))).Size()
	s := b.startStore()

	// ours publishes both snapshots to an empty bucket.
	ours := func(expand string) (later output.Published, rates [2]float64) {
		to := s.bucket()
		for i := range ids {
			check(os.WriteFile(pointer, pointers[i], 0o644))
			out, seconds := b.run(b.program(append(s.env, "DATABASE_URL="+d.DSN()), b.command(), "publish", "--data",
				b.path("data"), "--publish-to", to, "--expand", expand, "--json"))
			check(json.Unmarshal(out, &later))
			if !later.Moved || later.Checkpoint.Snapshot != ids[i] {
				failf("publish --expand %s published something else: %s", expand, out)
			}
			rates[i] = float64(len(files)) / seconds
		}
		if expand == "all" {
			if n := later.Written + later.Unchanged; n != len(files) {
				failf("publish --expand all sent %d files of %d", n, len(files))
			}
			s.compare(to, trees[1], files)
		}
		return later, rates
	}
	rclone := func() (rates [2]float64) {
		to := s.bucket()
		for i, args := range [][]string{{"copy", "--no-check-dest"}, {"sync", "--checksum", "--fast-list"}} {
			_, seconds := b.run(b.peer(s.env, "rclone.sh", append(args, trees[i]+"/", "bench:"+to[len("s3://"):])...))
			rates[i] = float64(len(files)) / seconds
		}
		s.compare(to, trees[1], files)
		return rates
	}
	traffic := map[string]output.Published{}
	twice := func(name string, publish func() [2]float64) side {
		return side{name, func() (float64, string) {
			rates := publish()
			b.note(name+", later", rates[1])
			return rates[0], ""
		}}
	}
	withExpand := func(expand string) side {
		return twice("expand "+expand, func() (rates [2]float64) {
			traffic[expand], rates = ours(expand)
			return rates
		})
	}
	const peer = "rclone, 64 transfers"
	b.alternate(twice(peer, rclone), withExpand("none"), withExpand("all"))
	b.compare("the zip, first", "files/s", "expand none", peer, atLeast(25))
	b.compare("all expanded, first", "files/s", "expand all", peer, atLeast(1))
	b.compare("the zip, later", "files/s", "expand none, later", peer+", later", atLeast(20))
	b.compare("all expanded, later", "files/s", "expand all, later", peer+", later", atLeast(1))
	b.add("files of the tree", "", limit{}, float64(len(files)))
	b.add("bytes of the zip", "MB", limit{}, float64(zip)/1e6)
	traffic["auto"], _ = ours("auto") // the default
	for expand, l := range map[string]limit{"auto": atMost(5), "none": {}, "all": {}} {
		t := traffic[expand].Traffic
		b.add(fmt.Sprintf("a month on S3 prices, a build every 15 minutes, --expand %s", expand), "$", l,
			buildsPerMonth*(float64(t.Writes)*writePrice+float64(t.Reads)*readPrice)+
				keptSnapshots*float64(zip)*storedPrice)
	}
}
