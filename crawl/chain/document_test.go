package chain

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDocuments asks for a document by GET. The node's own path and query must stay in the URL; only a problem document
// that says so means that the node has no such thing.
func TestDocuments(t *testing.T) {
	t.Parallel()
	const missing = `{"type":"https://stellar.org/horizon-errors/not_found","title":"Resource Missing"}`
	for _, c := range []struct {
		status int
		body   string
		want   string // the document, else the kind of the fault
	}{
		{200, `{"a":1}`, `{"a":1}`},
		{404, missing, "null"},
		{404, `{"error":"no such route"}`, string(KindRefused)},
		{404, "<html>", string(KindRefused)},
		{200, "null", string(kindMalformed)},
		{200, "[]", string(kindMalformed)},
		{200, `{"a":`, string(kindMalformed)},
		{200, "", string(kindMalformed)},
		{500, missing, string(KindServer)},
		{429, `{"title":"Rate Limit Exceeded"}`, string(KindRate)},
	} {
		var requests []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests = append(requests, r.Method+" "+r.URL.String())
			if r.URL.Path == "/key/" {
				fmt.Fprint(w, `{"network":"eip155:1"}`)
				return
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		client, err := NewClient(Network{ID: "eip155:1", RPC: []string{server.URL + "/key?apikey=s"}},
			Identity{Call{Path: "/"}, func([]byte) (string, error) { return "eip155:1", nil }},
			Options{Backoff: time.Microsecond, HTTP: server.Client()}.WithDefaults())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		err = client.askNode(t.Context(), client.nodes[0], Question{Calls: []Call{{Path: "/things/a%20b?limit=2"}},
			Read: func(_ int, calls []Call) error { got = string(calls[0].Result); return nil }}, 0, 1)
		var f *NodeFault
		if errors.As(err, &f) {
			got = string(f.Kind)
		}
		if got != c.want {
			t.Errorf("%d %s: %s, %v; want %s", c.status, c.body, got, err, c.want)
		}
		want := []string{"GET /key/?apikey=s", "GET /key/things/a%20b?apikey=s&limit=2"}
		if diff := cmp.Diff(want, requests); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		server.Close()
	}
}
