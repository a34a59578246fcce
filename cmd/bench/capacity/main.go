// Command capacity works out from measured costs of one unit what each stage needs at a number of services, which stage gives
// first on one machine, and into how many parts it then falls:
//
//	go run ./cmd/bench/capacity
//	go run ./cmd/bench/capacity -services 50000 -cost "build core-ms=9"
//
// The costs stand in costs.go, each with the bench that measures it. The table of ARCHITECTURE.md is this output; go test
// ./cmd/bench/capacity holds it to that, and with -update writes it anew.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() {
	log.SetFlags(0)
	services := flag.String("services", "20000,200000,2000000", "`sizes` of the directory")
	c := measured()
	flag.Func("cost", "another value for a `name=number`, as the list of costs names it; may be repeated", func(s string) error { return c.set(s) })
	flag.Parse()
	var sizes []float64
	for _, text := range strings.Split(*services, ",") {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n < 1 {
			log.Printf("-services %q: want numbers", *services)
			os.Exit(2)
		}
		sizes = append(sizes, n)
	}
	if err := tell(os.Stdout, c, sizes); err != nil {
		log.Fatal(err)
	}
}

// set gives a cost another value.
func (c *costs) set(text string) error {
	name, number, _ := strings.Cut(text, "=")
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || value < 0 {
		return fmt.Errorf("%q is no number", number)
	}
	i := slices.IndexFunc(c.list, func(of cost) bool { return of.name == name })
	if i < 0 {
		return fmt.Errorf("there is no cost %q", name)
	}
	c.list[i].value = value
	return nil
}

// tell prints the costs, and what each stage needs at each size: of one machine, the fullest first.
func tell(to io.Writer, c costs, sizes []float64) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "cost\tvalue\tfrom")
	for _, of := range c.list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", of.name, short(of.value), of.from)
	}
	for _, n := range sizes {
		fmt.Fprintf(w, "\n%.0f services\tneeds\tof a machine\tparts\twhat carries it\n", n)
		for _, d := range c.demands(n) {
			fmt.Fprintf(w, "%s\t%s %s\t%.0f %%\t%d\t%s\n", d.stage, short(d.needs), d.unit, 100*d.share(), d.parts(), d.carries)
		}
		b := c.cycle(n)
		fmt.Fprintf(w, "a build begins every\t%s min\toldest fact a reader sees\t%s min\t\n", short(b.every/60), short(b.oldest/60))
	}
	return w.Flush()
}

// short writes a number with three digits that count.
func short(x float64) string {
	if x >= 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
