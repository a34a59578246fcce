package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// TestDownloadsOfOneClientAreLimited checks that a client whose download is refused gets an error, and can still send
// other requests.
func TestDownloadsOfOneClientAreLimited(t *testing.T) {
	t.Parallel()
	f, h, name, _ := flakyHandler(t, t.Output())
	get(h, "/v1/services") // opens the snapshot
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	under := make(chan struct{}, maxDownloads)
	f.get = func(ctx context.Context) {
		under <- struct{}{}
		<-ctx.Done()
	}
	var wg sync.WaitGroup
	for range maxDownloads {
		wg.Go(func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/"+name, nil))
		})
	}
	<-under
	of := h.(*handler).gate
	for of.downloads() < maxDownloads {
		time.Sleep(time.Millisecond)
	}
	got := get(h, "/"+name)
	var e struct{ Error struct{ Type string } }
	if err := json.Unmarshal(got.Body.Bytes(), &e); err != nil || got.Code != http.StatusTooManyRequests ||
		got.Header().Get("Retry-After") == "" || e.Error.Type != "rate_limited" {
		t.Errorf("one more: %d %v %s", got.Code, got.Header(), got.Body)
	}
	if got := get(h, "/v1/services"); got.Code != 200 {
		t.Errorf("a reader beside: %d", got.Code)
	}
	cancel()
	wg.Wait()
}
