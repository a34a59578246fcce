package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestLimitHoldsAnotherHandler(t *testing.T) {
	t.Parallel()
	at := now
	calls := 0
	h := Limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { calls++ }),
		Options{RateLimit: 2, Now: func() time.Time { return at }})
	ask := func(from string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/anything", strings.NewReader("{}"))
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for i, want := range []int{200, 200, 429} {
		if w := ask("192.0.2.1:5"); w.Code != want || w.Header().Get("RateLimit") == "" {
			t.Errorf("request %d: %d %v, want %d", i, w.Code, w.Header(), want)
		}
	}
	if w := ask("192.0.2.1:6"); w.Header().Get("Retry-After") != "60" ||
		!strings.Contains(w.Body.String(), `"type":"rate_limited"`) {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	if w := ask("192.0.2.2:5"); w.Code != 200 {
		t.Errorf("another client: %d", w.Code)
	}
	at = at.Add(time.Minute)
	if w := ask("192.0.2.1:5"); w.Code != 200 {
		t.Errorf("a minute later: %d", w.Code)
	}
	if calls != 4 {
		t.Errorf("the handler was called %d times, want 4", calls)
	}
}
