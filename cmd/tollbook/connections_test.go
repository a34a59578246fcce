//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// largeFiles are paths of files of some hundred kilobytes that every snapshot has.
var largeFiles = []string{"/SHA256SUMS", "/reference.html", "/v1/openapi.json"}

// stalledReaders are connections that request large files unpacked and never read.
type stalledReaders struct {
	address string // of the server
	conns   []net.Conn
}

// open opens connection number i from the loopback address number from.
func (s *stalledReaders) open(i, from int) error {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, byte(1+from>>16), byte(from>>8), byte(from))}}
	c, err := d.Dial("tcp4", s.address)
	if err != nil {
		return err
	}
	s.conns = append(s.conns, c)
	_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", largeFiles[i%len(largeFiles)])
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return nil // the server refused the connection
	}
	return err
}

func (s *stalledReaders) close() {
	for _, c := range s.conns {
		c.Close()
	}
}

// readFresh returns how long a new reader waits for a whole large file.
func readFresh(base string, size int) (time.Duration, error) {
	began := time.Now()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	res, err := client.Get(base + largeFiles[0])
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || len(body) != size {
		return 0, fmt.Errorf("%d, %d bytes of %d, %w", res.StatusCode, len(body), size, err)
	}
	return time.Since(began), nil
}

// maxConnections returns most, or as many connections as the limit of open files allows a test to open.
func maxConnections(t *testing.T, most int) int {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	if files := int(min(uint64(l.Cur), 1<<20)) - 500; files < most {
		t.Logf("ulimit -n is %d: %d connections instead of %d", l.Cur, files, most)
		return files
	}
	return most
}

// TestReadersThatNeverRead opens many connections that never read: from one client, from a trusted proxy, and from many
// clients. The memory of serve stays below 300 MB. When all connections are open, a new reader gets its response within
// a second. While they are opened, which takes all processors, at most two of ten new readers are cut. With
// TOLLBOOK_TEST=all there are 10,000 connections and the default limits. Otherwise there are fewer of both, and a new
// reader may wait longer, because other tests run beside this one.
func TestReadersThatNeverRead(t *testing.T) {
	testgate.NotShort(t)
	const maxMemory = 300 // MiB
	n, patience, limits := 1200, 10*time.Second, []string{"--serve-max-connections", "400",
		"--serve-max-client-connections", "50", "--serve-sending-memory", "4"}
	if testgate.Everything() {
		n, patience, limits = maxConnections(t, 10_000), time.Second, nil
	}
	env, data := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}, memoryDir(t)
	ran(t, env, "services", "import", writeFile(t, "list.json", listOfServices(200, strings.Repeat("words ", 40))))
	ran(t, env, "build", "--data", data)
	for _, test := range []struct {
		name    string
		clients int
		more    []string
	}{
		{name: "one client", clients: 1},
		{name: "a trusted proxy", clients: 1, more: []string{"--serve-trusted-proxies", "127.0.0.0/8"}},
		{name: "40 clients", clients: 40},
		{name: "as many clients", clients: n},
	} {
		t.Run(test.name, func(t *testing.T) {
			args := []string{"serve", "--from", filepath.Join(data, "public"), "--serve-listen", "127.0.0.1:0"}
			server := command(t, []string{ownCollector}, append(append(args, limits...), test.more...)...).start(t)
			base := strings.TrimSuffix(strings.Fields(server.await(t, "Serving "))[2], "/")
			size := len(get(t, base+largeFiles[0]).body)
			before := memoryKiB(server.Process.Pid, "VmRSS:") >> 10
			readers := &stalledReaders{address: strings.TrimPrefix(base, "http://")}
			defer readers.close()
			began, during, cut := time.Now(), time.Duration(0), 0
			for i := range n {
				if err := readers.open(i, 2+i%test.clients); err != nil {
					t.Fatalf("connection %d: %v", i, err)
				}
				if i%(n/10) == 0 {
					took, err := readFresh(base, size)
					if err != nil {
						t.Logf("a new reader: %v", err)
						cut++
					}
					during = max(during, took)
				}
			}
			took := time.Since(began)
			after := make([]time.Duration, 5)
			for i := range after {
				var err error
				if after[i], err = readFresh(base, size); err != nil {
					t.Errorf("a new reader: %v", err)
				}
			}
			slices.Sort(after)
			most := memoryKiB(server.Process.Pid, "VmHWM:") >> 10
			t.Logf("figures: %d connections from %d addresses in %.1f s, each requests up to %d bytes and reads none: "+
				"memory of serve %d MiB before, %d at most; slowest new reader %s meanwhile, median %s afterwards", n,
				test.clients, took.Seconds(), size, before, most, during.Round(time.Millisecond),
				after[2].Round(time.Millisecond))
			if most > maxMemory {
				t.Errorf("serve uses %d MiB, at most %d are allowed", most, maxMemory)
			}
			if cut > 2 {
				t.Errorf("%d of 10 new readers got no whole response while the connections were opened", cut)
			}
			if after[2] > patience {
				t.Errorf("half of the new readers waited %s or more, at most %s are allowed", after[2], patience)
			}
			readers.close() // else the server waits for them before it ends
			server.interrupt(t, os.Interrupt)
		})
	}
}
