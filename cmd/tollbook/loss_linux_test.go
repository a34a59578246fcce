package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// lossyDatabase names the variable with the database URL that TestLossyNetwork passes to itself in a separate network.
const lossyDatabase = "TOLLBOOK_TEST_LOSSY_DATABASE"

// loss is the share of packets that are lost, in each direction.
const loss = 0.3

// TestLossyNetwork crawls through a network that loses three packets of ten. Each visit ends, and each service has its
// check in each round. The prices that were read are exact. After the loss ends, all services are online, and no false
// change is stored.
func TestLossyNetwork(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	if dsn := os.Getenv(lossyDatabase); dsn != "" {
		os.Unsetenv(lossyDatabase) // the program does not know this variable
		crawlThroughLoss(t, dsn)
		return
	}
	needPostgres(t)
	out := runInNetwork(t, lossyDatabase+"="+postgrestest.NewDatabase(t))
	for line := range strings.Lines(out) {
		if _, figures, ok := strings.Cut(line, "figures: "); ok {
			t.Logf("figures: %s", strings.TrimSpace(figures))
			return
		}
	}
	t.Errorf("the crawl through a lossy network says nothing:\n%s", out)
}

// runInNetwork runs the test again in a network namespace of its own, with a variable by which it knows that, and
// returns its output. It fails or skips the test if the other run does.
func runInNetwork(t *testing.T, variables ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variables...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	runtime.LockOSThread() // Pdeathsig is sent when the thread that started the process ends
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC):
		testgate.Missing(t,
			"a network of one's own (unshare --net) needs root with CAP_SYS_ADMIN, or user namespaces: %v", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	}
	return string(out)
}

// crawlThroughLoss runs the test within its own network.
func crawlThroughLoss(t *testing.T, dsn string) {
	n := newLossyNetwork(t)
	const shops, rounds = 12, 2
	padding := strings.Repeat("x", 8<<10) // a body of several packets
	var list []string
	for i := range shops {
		l, err := net.Listen("tcp", lossyHere+":0")
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusPaymentRequired)
			fmt.Fprintf(w,
				`{"x402Version":1,"error":%q,"accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"%d","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
				"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"resource":"http://x","description":"d","extra":{"name":"USD Coin","version":"2"}}]}`, padding, 1000+i)
		})}
		go server.Serve(l)
		t.Cleanup(func() { server.Close() })
		list = append(list,
			fmt.Sprintf(
				`{"service_name":"S%02d","description":"d","url":"http://%s:%d","category":"AI","endpoints":["GET /x"]}`, i, lossyThere, l.Addr().(*net.TCPAddr).Port))
	}
	env := []string{"DATABASE_URL=" + dsn}
	ran(t, env, "services", "import", writeFile(t, "list.json", []byte("["+strings.Join(list, ",")+"]")))
	round := func() {
		query(t, dsn, `UPDATE service_states SET next_check_at = now()`)
		ran(t, env, "crawl", "--once", "--crawl-allow-private", lossyThere, "--crawl-host-gap", "1ms")
	}
	for range rounds {
		round()
	}
	online := query(t, dsn, `SELECT count(*)::text FROM checks WHERE status = 'online'`)
	if online == "0" {
		t.Error("no visit came through")
	}
	lost, all := n.lost.Load(), n.packets.Load()
	if lost == 0 || lost == all {
		t.Errorf("%d packets of %d were lost", lost, all)
	}
	n.well.Store(true)
	round()
	for _, tt := range []struct{ what, sql, want string }{
		{"checks", `SELECT count(*)::text FROM checks`, fmt.Sprint((rounds + 1) * shops)},
		{"services with another number of checks than rounds",
			fmt.Sprintf(
				`SELECT count(*)::text FROM (SELECT FROM checks GROUP BY service_id HAVING count(*) <> %d) AS c`,
				rounds+1), "0"},
		{"services online when nothing is lost",
			`SELECT count(*)::text FROM service_states WHERE last_status = 'online'`, fmt.Sprint(shops)},
		{"prices", `SELECT count(*)::text FROM prices`, fmt.Sprint(shops)},
		{"prices that are not asked",
			`SELECT count(*)::text FROM prices p JOIN endpoints e ON e.id = p.endpoint_id JOIN services s ON ` +
				`s.id = e.service_id WHERE amount <> 1000 + substr(s.name, 2)::int`, "0"},
		{"changes", `SELECT count(*)::text FROM changes`, "0"},
	} {
		if got := query(t, dsn, tt.sql); got != tt.want {
			t.Errorf("%s %s, want %s", got, tt.what, tt.want)
		}
	}
	t.Logf(
		"figures: %d of %d packets lost; %d visits in %d rounds, each ended, %s found the service online; all %d "+
			"when nothing was lost any more; 0 wrong prices",
		lost, all, rounds*shops, rounds, online, shops)
}

// These are the addresses of the lossy network. A listener on lossyHere gets the requests to lossyThere.
const (
	lossyHere  = "10.64.0.1"
	lossyThere = "10.64.0.2"
)

// lossyNetwork is a device that returns packets with source and destination exchanged. A request to there is answered
// here. Some packets are lost.
type lossyNetwork struct {
	well          atomic.Bool // no packet is lost
	packets, lost atomic.Int64
}

func newLossyNetwork(t *testing.T) *lossyNetwork {
	t.Helper()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		testgate.Missing(t, "a network that loses packets needs /dev/net/tun: %v", err)
	}
	device := ifreq(t, "lossy0")
	device.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, device); err != nil {
		t.Fatalf("make a device: %v", err)
	}
	setDevice(t, "lo", unix.SIOCSIFFLAGS, deviceUp)
	setDevice(t, "lossy0", unix.SIOCSIFADDR, func(r *unix.Ifreq) error {
		return r.SetInet4Addr(net.ParseIP(lossyHere).To4())
	})
	setDevice(t, "lossy0", unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error {
		return r.SetInet4Addr([]byte{255, 255, 255, 0})
	})
	setDevice(t, "lossy0", unix.SIOCSIFFLAGS, deviceUp)
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	tun, n, over := os.NewFile(uintptr(fd), "/dev/net/tun"), &lossyNetwork{}, make(chan struct{})
	go func() {
		defer close(over)
		n.forward(tun)
	}()
	t.Cleanup(func() { tun.Close(); <-over })
	return n
}

// setDevice sends a request about a device of the network namespace.
func setDevice(t *testing.T, name string, request uint, fill func(*unix.Ifreq) error) {
	t.Helper()
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(s)
	r := ifreq(t, name)
	if err := errors.Join(fill(r), unix.IoctlIfreq(s, request, r)); err != nil {
		t.Fatalf("set up %s: %v", name, err)
	}
}

func deviceUp(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil }

func ifreq(t *testing.T, name string) *unix.Ifreq {
	t.Helper()
	r, err := unix.NewIfreq(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// forward returns packets, or drops them, until the device is closed. Checksums stay valid, because an exchange does
// not change the sum.
func (n *lossyNetwork) forward(tun *os.File) {
	packet := make([]byte, 64<<10)
	for {
		size, err := tun.Read(packet)
		if err != nil {
			return
		}
		if size < 20 || packet[0]>>4 != 4 {
			continue
		}
		n.packets.Add(1)
		if !n.well.Load() && rand.Float64() < loss {
			n.lost.Add(1)
			continue
		}
		for i := range 4 { // exchange source and destination
			packet[12+i], packet[16+i] = packet[16+i], packet[12+i]
		}
		_, _ = tun.Write(packet[:size])
	}
}
