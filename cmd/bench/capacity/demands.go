package main

import (
	"cmp"
	"math"
	"slices"
)

// demand is what a stage needs at a size, beside what one machine gives it.
type demand struct {
	stage, unit string
	needs, has  float64
	carries     string // what carries it in parts, on engines that exist
}

func (d demand) share() float64 { return d.needs / d.has }

// parts are how many machines it takes, each at no more than 70 %: what is full can't catch up.
func (d demand) parts() int { return max(1, int(math.Ceil(d.share()/0.7))) }

// What is kept, in days.
const (
	checkDays = 31  // the raw ones, today's too
	dayDays   = 365 // of years that a directory has run
)

// demands are those of all stages at n services, the fullest first.
func (c costs) demands(n float64) []demand {
	period, cores, memory, disk := c.of("period s"), c.of("machine cores"), c.of("machine GB"), c.of("machine disk GB")
	visits := n / period
	perDay := 86_400 / period
	stored := n * (1e3*c.of("service kB") + perDay*checkDays*c.of("check B") + dayDays*c.of("day B") +
		dayDays*c.of("settlements of a service a day")*c.of("settlement B"))
	list := []demand{
		{"visits", "cores", visits * c.of("endpoints of a service") * c.of("probe core-ms") / 1e3, cores, "River workers on more machines: hosts and leases are rows"},
		{"ingest of visits", "cores", visits * c.of("ingest core-ms of a check") / 1e3, cores, "Citus: tables by service_id"},
		{"database", "GB of disk", stored / 1e9, disk, "Citus: tables by service_id"},
		{"build, all cores", "core-s", n * c.of("build core-ms") / 1e3 * c.of("rebuild ratio"), period * cores, "ranges of slug hashes: a builder each, lists merged"},
		{"build, the one reader", "s", n * c.of("read ms") / 1e3, period, "ranges of slug hashes: a reader each, beside its shard"},
		{"build, memory", "GB", (c.of("build MB")*1e6 + n*c.of("build kB")*1e3) / 1e9, memory, "ranges of slug hashes: a builder each, lists merged"},
		{"publish, the zip", "s", n * c.of("snapshot kB") / 1e3 / c.of("publish MB/s"), period, "ranges of slug hashes: a zip each"},
		{"publish, single files", "s", n * c.of("files") * c.of("changed files") / c.of("objects/s"), period, "--expand contract or none: serve cuts from the zip, behind a CDN"},
		{"serve, memory", "GB", n * c.of("serve kB") / 1e6, memory, "more of serve; each opens the ranges that it answers for"},
		{"serve, requests", "cores", c.of("requests/s") * c.of("request core-ms") / 1e3, cores, "the CDN, then more of serve: files never change"},
		{"serve, searches", "cores", c.of("q/s") * n / 1e3 * c.of("q core-ms of 1000 services") / 1e3, cores, "more of serve; each range searches its own"},
	}
	slices.SortStableFunc(list, func(a, b demand) int { return cmp.Compare(b.share(), a.share()) })
	return list
}

// rhythm is how builds of one machine follow each other once it has found its pace.
type rhythm struct {
	every  float64 // seconds from the begin of one to the begin of the next
	oldest float64 // seconds: age of what a reader sees of a service just before it is replaced
}

// cycle lets builds follow each other for a day, on one machine, each as long as its reader or as all cores take. The next begins after a period, or when this one is
// published. The more time went by, the more services were visited, and the less of a snapshot stays as it was.
func (c costs) cycle(n float64) rhythm {
	period := c.of("period s")
	whole := n / 1e3 * max(c.of("read ms"), c.of("build core-ms")/c.of("machine cores"))
	send := n * c.of("snapshot kB") / 1e3 / c.of("publish MB/s")
	// One in fifteen changed takes the ratio of a whole build; all changed take all of it.
	fixed := (c.of("rebuild ratio") - 1.0/15) / (1 - 1.0/15)
	begin, since, took := 0.0, period, 0.0
	for begin < 86_400 {
		changed := min(1, since/period)
		took = whole*(fixed+(1-fixed)*changed) + send
		since = max(period, took)
		begin += since
	}
	return rhythm{every: since, oldest: period + since + took} // visited just after a build read it, and shown until the next is out
}
