package probe

import (
	"context"
	"fmt"
	"log"
	"os/exec"
	"regexp"
	"strconv"
)

var (
	abRate   = regexp.MustCompile(`Requests per second:\s+([0-9.]+)`)
	abNot2xx = regexp.MustCompile(`Non-2xx responses:\s+([0-9]+)`)
	abFailed = regexp.MustCompile(`Failed requests:\s+([0-9]+)`)
)

// peer runs ab: as many requests as there are services, each on its own connection.
func (b *bench) peer(ctx context.Context) (float64, error) {
	before, err := b.target.count(ctx)
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, "ab", "-q", "-n", fmt.Sprint(b.services), "-c", fmt.Sprint(b.senders),
		"-H", "Accept: application/json", "-H", "Accept-Encoding: gzip", "-H", "Cache-Control: no-cache",
		"https://"+b.target.Address+"/quote")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("ab: %w\n%s", err, out)
	}
	after, err := b.target.count(ctx)
	if err != nil {
		return 0, err
	}
	if n := after.Requests - before.Requests; n != int64(b.services) ||
		parseNumber(abNot2xx, out) != float64(b.services) ||
		parseNumber(abFailed, out) != 0 {
		return 0, fmt.Errorf("ab sent %d requests of %d\n%s", n, b.services, out)
	}
	usage := cmd.ProcessState
	log.Printf("    ab: CPU %.2f s, %.2f s of the server, %d connections, %d resumed",
		(usage.UserTime() + usage.SystemTime()).Seconds(), after.CPU-before.CPU,
		after.Handshakes-before.Handshakes, after.Resumed-before.Resumed)
	rate := parseNumber(abRate, out)
	if rate <= 0 {
		return 0, fmt.Errorf("the output of ab has no rate:\n%s", out)
	}
	return rate, nil
}

// parseNumber returns a number of ab's report, -1 if it is missing.
func parseNumber(what *regexp.Regexp, out []byte) float64 {
	m := what.FindSubmatch(out)
	if m == nil {
		return -1
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		return -1
	}
	return n
}
