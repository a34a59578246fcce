package main

// cost is what one unit takes, or what one machine has.
type cost struct {
	name  string
	value float64
	from  string // bench that measures it, or why it is so
}

// costs are named by what demands.go asks for.
type costs struct{ list []cost }

// measured are the costs as the benches gave them on two quiet cores. Rates are of one core where the name says so.
func measured() costs {
	return costs{[]cost{
		{"endpoints of a service", 3.3, "cmd/bench/crowd"},
		{"period s", 900, "site.Interval: a visit and a build every 15 minutes"},

		{"probe core-ms", 1, "cmd/bench/probe: cores / (probes/s), second round"},
		{"ingest core-ms of a check", 0.0125, "cmd/bench/ingest: cores / (checks/s), as crawled"},
		{"build core-ms", 4.7, "cmd/bench/snapshot -scale, of 200,000: processor time of a whole build and of Postgres / services"},
		{"read ms", 0.65, "cmd/bench/snapshot -scale: Postgres: one connection reads, on one core"},
		{"rebuild ratio", 0.5, "cmd/bench/snapshot: after 1 in 15 changed"},
		{"build MB", 50, "cmd/bench/snapshot -scale 20000,200000: memory that does not grow"},
		{"build kB", 13.6, "likewise: memory of each further service"},
		{"snapshot kB", 33, "cmd/bench/snapshot: snapshot / services"},
		{"files", 23, "cmd/bench/snapshot: files / services"},
		{"publish MB/s", 179, "cmd/bench/publish: the zip"},
		{"objects/s", 2670, "cmd/bench/publish: all expanded, first"},
		{"changed files", 0.2, "cmd/bench/publish: seconds of all expanded, later / first"},
		{"serve kB", 21, "cmd/bench/read: most memory of serve / services"},
		{"request core-ms", 0.0085, "cmd/bench/read: CPU of a literal request"},
		{"q core-ms of 1000 services", 0.005, "cmd/bench/read: CPU of a query / thousands of services"},

		{"service kB", 12, "cmd/bench/generate: tables of what is kept once"},
		{"check B", 67, "cmd/bench/generate -checks: check_packs and its indexes / checks"},
		{"day B", 388, "cmd/bench/generate: check_days"},
		{"settlement B", 740, "cmd/bench/generate: settlements and their roll-ups"},
		{"settlements of a service a day", 0.12, "cmd/bench/crowd"},

		{"machine cores", 16, "a machine that can be rented anywhere"},
		{"machine GB", 64, "likewise"},
		{"machine disk GB", 2000, "likewise"},
		{"requests/s", 1000, "readers, after the CDN took theirs"},
		{"q/s", 20, "of these, searches"},
	}}
}

// of is the value of a cost; a name that is not there is a fault of this program.
func (c costs) of(name string) float64 {
	for _, of := range c.list {
		if of.name == name {
			return of.value
		}
	}
	panic("no cost " + name)
}
