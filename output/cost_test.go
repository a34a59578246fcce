package output

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"tollbook/output/objects"
	"tollbook/output/outputtest"
)

// requestCounts counts requests in the way that stores charge for them.
type requestCounts struct{ Writes, Reads, Deletes int }

// counter counts the requests between a publisher and its store.
type counter struct {
	mu sync.Mutex
	requestCounts
}

func (c *counter) count(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch q := r.URL.Query(); {
	case r.Method == http.MethodDelete || q.Has("delete"):
		c.Deletes++
	// a listing costs as much as a write
	case r.Method == http.MethodPut, r.Method == http.MethodPost, q.Has("list-type"), q.Has("uploads"),
		q.Has("uploadId"):
		c.Writes++
	default:
		c.Reads++
	}
}

// take returns the counts since the last call.
func (c *counter) take() requestCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.requestCounts
	c.requestCounts = requestCounts{}
	return was
}

// The requests of a publication, as the guide templates/pages/costs.md gives them. If they change, change the guide.
const (
	fixedWrites = 5  // three listings, the zip, the pointer
	listWrites  = 2  // expanded.sums.gz, before and after
	mostReads   = 10 // and in place of one, each part of a large zip
	packWrites  = 1  // of each new pack
	partWrites  = 3  // to look for, begin and complete a zip above 16 MB, instead of one; each part is one more
)

// TestPublishRequests checks the number of requests against a sum that an operator can work out. It counts those of a
// first publication, of one without changes, of the next one, of one without expanded objects, and of a zip that is
// sent in parts.
func TestPublishRequests(t *testing.T) {
	t.Parallel()
	server := outputtest.Versity(t)
	target, err := url.Parse("http://" + server.Address)
	if err != nil {
		t.Fatal(err)
	}
	counts := &counter{}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // the signature covers it
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counts.count(r)
		pass.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	open := func() objects.Store {
		s, err := objects.OpenStore(server.Bucket(t),
			objects.StoreOptions{Getenv: outputtest.Getenv(server.Env(strings.TrimPrefix(proxy.URL, "http://")))})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	store, reg, d := open(), &memoryRegister{}, openFolder(t, tempDir(t))
	none := func(o *PublishOptions) { o.Expand = nil }
	parts := 0 // of the zip that is read back
	step := func(about string, want int, change ...func(*PublishOptions)) {
		t.Helper()
		counts.take()
		p := mustPublishTo(t, store, reg, d, change...)
		got := counts.take()
		t.Logf("%s: %+v; %d objects, %d packs", about, got, p.Written, p.Packs)
		want += p.Written + p.Packs*packWrites
		counted := requestCounts{int(p.Traffic.Writes), int(p.Traffic.Reads), int(p.Traffic.Deletes)}
		if counted != got {
			t.Errorf("%s: the publisher counts %+v, the proxy %+v", about, counted, got)
		}
		if got.Writes != want || got.Reads > mostReads+parts || got.Deletes > 0 {
			t.Errorf("%s: %+v, want %d writes and %d reads at most", about, got, want, mostReads+parts)
		}
	}
	mustPublish(t, d, t0, tree(1))
	step("first", fixedWrites+listWrites)
	step("again", fixedWrites-2) // only the listings
	mustPublish(t, d, t0.Add(time.Minute), tree(2))
	step("next", fixedWrites+listWrites)
	store, reg = open(), &memoryRegister{}
	step("first without objects", fixedWrites, none)
	mustPublish(t, d, t0.Add(2*time.Minute), tree(1))
	step("next without objects", fixedWrites, none)
	mustPublish(t, d, t0.Add(3*time.Minute), largeTree())
	parts = 3
	step("in parts", fixedWrites-1+partWrites+parts, none)
}

// largeTree returns a tree whose zip is sent in three parts.
func largeTree() map[string]string {
	r, large := rand.NewChaCha8([32]byte{}), tree(2)
	for i := range 3 {
		data := make([]byte, 14<<20)
		r.Read(data)
		large[fmt.Sprintf("v1/large-%d.bin", i)] = string(data)
	}
	return large
}
