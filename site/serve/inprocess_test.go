package serve_test

import (
	"io"
	"net/http"
	"testing"

	"tollbook/site/serve"
)

func TestAsk(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.RequestURI {
		case "/twice?a=b":
			w.WriteHeader(http.StatusTeapot)
			w.WriteHeader(http.StatusOK)
			_, _ = io.WriteString(w, "1234")
			_, _ = io.WriteString(w, "5678")
		case "/text":
			w.Header().Set("X-Text", "yes")
			_, _ = io.WriteString(w, "1234")
		}
	})
	for _, test := range []struct {
		target, body string
		limit, code  int
		isOver       bool
	}{
		{"/text", "1234", 0, http.StatusOK, false},
		{"/text", "1234", 4, http.StatusOK, false},
		{"/text", "", 3, http.StatusOK, true},
		{"/twice?a=b", "12345678", 8, http.StatusTeapot, false},
		{"/twice?a=b", "1234", 7, http.StatusTeapot, true},
		{"/nothing", "", 0, http.StatusOK, false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, test.target, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := serve.Ask(h, r, test.limit)
		if got.Code != test.code || got.Body.String() != test.body || got.IsOver != test.isOver ||
			(got.Header.Get("X-Text") != "") != (test.target == "/text") {
			t.Errorf("%s with limit %d: %+v", test.target, test.limit, got)
		}
		response, err := serve.InProcessTransport{Handler: h}.RoundTrip(r)
		if err != nil || response.StatusCode != test.code {
			t.Errorf("%s: %+v, %v", test.target, response, err)
		}
	}
}
