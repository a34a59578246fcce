// Command recompute computes every figure of a published snapshot again, from the snapshot and the published
// methodology alone. It uses no package of Tollbook, so it is a second explanation of the methodology, written as a
// program.
//
// Usage: go run ./.ci/recompute [-mutate N] [-seed S] [-kinds] SOURCE. SOURCE is a folder that contains
// checkpoint.json, such as DATA/public, or the base URL of a directory. The exit status is 1 if any figure differs, if
// any value is neither recomputed nor listed as an input, or if a changed figure is not noticed.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"tollbook/.ci/recompute/best"
	"tollbook/.ci/recompute/snapshot"
)

func main() {
	mutations := flag.Int("mutate", 0, "change this many figures, one at a time; -1 for one of each kind")
	seed := flag.Uint64("seed", 1, "seed of the choice of figures to change")
	kinds := flag.Bool("kinds", false, "print each kind of figure with its number and its rule")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: recompute [-mutate N] [-seed S] [-kinds] FOLDER|URL")
		os.Exit(2)
	}
	ok, err := run(os.Stdout, flag.Arg(0), *mutations, *seed, *kinds)
	if err != nil {
		fmt.Fprintln(os.Stderr, "recompute:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run recomputes the snapshot at source, prints the report, then changes figures. It returns whether all figures are
// equal, all values are explained and all changes are noticed.
func run(w io.Writer, source string, mutations int, seed uint64, kinds bool) (bool, error) {
	snap, err := snapshot.Open(source)
	if err == nil {
		err = best.Ask(snap, source)
	}
	if err != nil {
		return false, err
	}
	r := recompute(snap)
	ok := r.Print(w, kinds)
	if mutations != 0 {
		ok = mutate(w, snap, r, mutations, seed) && ok
	}
	return ok, nil
}
