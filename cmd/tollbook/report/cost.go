package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"tollbook/output"
	"tollbook/site/display"
)

// Price is the list price of a store in dollars: a million writes (PUT, POST, lists), a million reads (GET, HEAD), and
// a GB that leaves the provider's network. Uploads and deletions are free at all of them.
type Price struct {
	Store                string
	Write, Read, Traffic float64
}

// Prices of standard storage without free allowances, of Amazon and Google in the United States. The page on costs
// shows them.
var Prices = []Price{
	{"Amazon S3", 5, 0.4, 0.09},
	{"Cloudflare R2", 4.5, 0.36, 0},
	{"Google Cloud Storage", 5, 0.4, 0.12},
}

// PricesOf is the year of Prices.
const PricesOf = 2025

// Cost is what publications cost in a day, if each makes the requests of the last one.
type Cost struct {
	Publications float64      `json:"publications"` // a day
	Writes       int64        `json:"writes"`
	Reads        int64        `json:"reads"`
	Deletes      int64        `json:"deletes"`
	Sent         int64        `json:"sent"`     // bytes
	Received     int64        `json:"received"` // bytes
	PricesOf     int          `json:"prices_of"`
	Stores       []StorePrice `json:"stores"`
}

// StorePrice is a day's cost at one store in dollars. Traffic is what bytes received cost a publisher outside the
// provider's network.
type StorePrice struct {
	Store    string  `json:"store"`
	Requests float64 `json:"requests_usd"`
	Traffic  float64 `json:"traffic_usd"`
}

// CostOf returns a day's cost of a publication; nil if it sent nothing to a server or its schedule is unknown.
func CostOf(p output.Published) *Cost {
	t := p.Traffic
	if t.Writes+t.Reads == 0 || p.PerDay == 0 {
		return nil
	}
	daily := func(n int64) int64 { return int64(math.Round(float64(n) * p.PerDay)) }
	c := &Cost{Publications: p.PerDay, Writes: daily(t.Writes), Reads: daily(t.Reads), Deletes: daily(t.Deletes),
		Sent: daily(t.Sent), Received: daily(t.Received), PricesOf: PricesOf}
	cents := func(dollars float64) float64 { return math.Round(100*dollars) / 100 }
	for _, at := range Prices {
		c.Stores = append(c.Stores, StorePrice{at.Store,
			cents((float64(c.Writes)*at.Write + float64(c.Reads)*at.Read) / 1e6),
			cents(float64(c.Received) / 1e9 * at.Traffic)})
	}
	return c
}

// Highest returns the highest price of the requests of a day, in dollars.
func (c *Cost) Highest() (dollars float64) {
	for _, s := range c.Stores {
		dollars = max(dollars, s.Requests)
	}
	return dollars
}

// Requests returns what a publication sent, in words.
func Requests(p output.Published) string {
	t := p.Traffic
	return requests(t.Writes, t.Reads, t.Deletes, t.Sent, t.Received)
}

func requests(writes, reads, deletes, sent, received int64) string {
	return fmt.Sprintf("%s writes, %s reads, %s deletions, %s sent, %s received", display.Number(writes),
		display.Number(reads), display.Number(deletes), size(sent), size(received))
}

// size returns a number of bytes in MB or GB.
func size(bytes int64) string {
	if bytes >= 1e9 {
		return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
	}
	return fmt.Sprintf("%.1f MB", megabytes(bytes))
}

// Daily returns the requests of a day, in words.
func (c *Cost) Daily() string {
	return fmt.Sprintf("a day at %.4g publications: %s", c.Publications,
		requests(c.Writes, c.Reads, c.Deletes, c.Sent, c.Received))
}

// Dollars returns the prices of a day, in words.
func (c *Cost) Dollars() string {
	var list []string
	for _, s := range c.Stores {
		text := fmt.Sprintf("%s $%.2f", s.Store, s.Requests)
		if s.Traffic > 0 {
			text += fmt.Sprintf(" (outside its network $%.2f more)", s.Traffic)
		}
		list = append(list, text)
	}
	return fmt.Sprintf("a day at list prices of %d: %s", c.PricesOf, strings.Join(list, ", "))
}

// printCost prints what a publication sent and what that costs, a line each.
func printCost(w io.Writer, p output.Published) error {
	if e := p.Expansion; e != nil {
		files, writes, limit := display.Number(int64(e.Files)), display.Number(int64(e.Writes)),
			display.Number(int64(e.Limit))
		line := fmt.Sprintf("Objects: none beside the zip; all files would be up to %s writes a day, above the limit of %s "+
			"for --expand auto", writes, limit)
		switch {
		case e.All && e.Writes > e.Limit:
			line = fmt.Sprintf("Objects: all %s files, because the place has them and readers may use them; they are up to %s "+
				"writes a day, above the limit of %s for --expand auto. If readers ask tollbook serve, --expand none is cheaper",
				files, writes, limit)
		case e.All:
			line = fmt.Sprintf("Objects: all %s files; they are up to %s writes a day, within the limit of %s for "+
				"--expand auto", files, writes, limit)
		case e.Files > 0:
			line = fmt.Sprintf("Objects: %s responses of the API, because the place has them; all files would be up to %s "+
				"writes a day, above the limit of %s for --expand auto", files, writes, limit)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	c := CostOf(p)
	if c == nil {
		return nil
	}
	if p.Written > 0 && p.Unchanged == 0 {
		_, err := fmt.Fprintf(w, "Requests: %s\n  the next publications write only objects that change; they say what a day "+
			"costs, and so does tollbook doctor\n", Requests(p))
		return err
	}
	_, err := fmt.Fprintf(w, "Requests: %s\n  %s\n  %s\n", Requests(p), c.Daily(), c.Dollars())
	return err
}
