package routes_test

import (
	"fmt"

	"tollbook/site"
	"tollbook/site/routes"
)

// Every request of the API maps to the key of the file with its response. So any server of static files can serve a
// directory.
func Example() {
	for _, request := range []struct{ path, query string }{
		{"/v1/services", ""},
		{"/v1/services", "category=AI&sort=uptime&page=2"},
		{"/v1/services/acme", ""},
		{"/v1/services/acme/uptime", "period=7d"},
		{"/services/acme", ""},
	} {
		q, err := routes.ParseRequest(request.path, request.query)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(q.Key())
	}
	// Output:
	// v1/services.json
	// v1/services/category=AI/sort=uptime/per_page=25/page=2.json
	// v1/services/acme.json
	// v1/services/acme/uptime/period=7d.json
	// services/acme.html
}

// Only pages of 25 and of 100 rows are files. A page of any other size is cut from at most two files of 100 rows: here
// the third page of 40 rows, in a list of 230.
func ExamplePageSpans() {
	q, err := routes.ParseRequest("/v1/services", "per_page=40&page=3")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range routes.PageSpans(q, 230) {
		fmt.Printf("rows %d to %d of %s\n", s.From, s.To, s.Key)
	}
	// Output:
	// rows 80 to 100 of v1/services/sort=newest/per_page=100/page=1.json
	// rows 0 to 20 of v1/services/sort=newest/per_page=100/page=2.json
}

// Logs of checks are blocks of 100 rows, numbered from the oldest row ever and requested from the newest. Here 250 rows
// were written and the first 100 have been deleted. The full block is in an hour's pack, the open one in the snapshot.
func ExampleLogSpans() {
	x := site.LogIndex{First: 100, Next: 250, Packs: []site.LogPack{{Pack: "2026112023", First: 1, Last: 1}}}
	fmt.Println(x.Total(), "rows; the newest 60 without the first 10 of them:")
	for _, s := range site.LogSpans(x, 60, 10) {
		fmt.Printf("rows %d to %d of block %d in pack %q\n", s.From, s.To, s.Block, s.Pack)
	}
	// Output:
	// 150 rows; the newest 60 without the first 10 of them:
	// rows 200 to 240 of block 2 in pack ""
	// rows 180 to 200 of block 1 in pack "2026112023"
}
