package outputtest

import (
	"io"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// CuttingProxy is a line to a server that cuts some of its connections.
type CuttingProxy struct {
	Address string       // host:port on loopback
	Opened  atomic.Int64 // connections
	Cut     atomic.Int64 // connections that were cut

	target   string
	share    float64
	silent   bool
	listener net.Listener
	conns    sync.WaitGroup

	mu     sync.Mutex
	random *rand.Rand
}

// maxCut is the largest number of bytes, in both directions together, after which a connection is cut.
const maxCut = 64 << 20

// Cut says how a connection is cut.
type Cut int

const (
	CutClosed Cut = iota // half of the connections are reset, the others are closed in order
	CutSilent            // nothing arrives any more, and nobody says so
)

// NewCuttingProxy starts a proxy to the server that cuts the given share of connections. Each is cut after a random
// number of bytes: as often within the first hundred bytes as between one and a hundred kilobytes. The same seed draws
// the same cuts.
func (s *Server) NewCuttingProxy(t testing.TB, how Cut, share float64, seed uint64) *CuttingProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &CuttingProxy{Address: l.Addr().String(), target: s.Address, share: share, silent: how == CutSilent,
		listener: l, random: rand.New(rand.NewPCG(seed, 0))}
	p.conns.Go(p.run)
	t.Cleanup(func() {
		l.Close()
		p.conns.Wait()
	})
	return p
}

func (p *CuttingProxy) run() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.Opened.Add(1)
		allowed, reset := p.draw()
		p.conns.Go(func() { p.forward(conn.(*net.TCPConn), allowed, reset) })
	}
}

// draw returns the number of bytes after which a connection is cut, and whether by a reset.
func (p *CuttingProxy) draw() (allowed int64, reset bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	doomed, size, reset := p.random.Float64() < p.share, p.random.Float64(), p.random.IntN(2) == 0
	if !doomed {
		return math.MaxInt64, false
	}
	return int64(math.Pow(maxCut, size)), reset
}

// forward copies bytes in both directions until one side closes the connection or the allowed bytes are used up.
func (p *CuttingProxy) forward(client *net.TCPConn, allowed int64, reset bool) {
	defer client.Close()
	conn, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	server := conn.(*net.TCPConn)
	defer server.Close()
	var rest atomic.Int64
	rest.Store(allowed)
	var once sync.Once
	cut := func() {
		p.Cut.Add(1)
		if reset {
			_, _ = client.SetLinger(0), server.SetLinger(0)
		}
		client.Close()
		server.Close()
	}
	var both sync.WaitGroup
	for _, d := range []struct{ to, from *net.TCPConn }{{server, client}, {client, server}} {
		both.Go(func() {
			buf := make([]byte, 32<<10)
			for {
				n, err := d.from.Read(buf)
				left := rest.Add(-int64(n))
				if left <= 0 {
					n = max(0, n+int(left))
				}
				if _, writeErr := d.to.Write(buf[:n]); writeErr != nil && err == nil {
					err = io.EOF
				}
				if left <= 0 && p.silent {
					once.Do(func() { p.Cut.Add(1) })
					_, _ = io.Copy(io.Discard, d.from) // until that side gives up
					d.to.Close()
					return
				}
				if left <= 0 {
					once.Do(cut)
					return
				}
				if err != nil {
					_ = d.to.CloseWrite()
					return
				}
			}
		})
	}
	both.Wait()
}
