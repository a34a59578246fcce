package source

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fiveSources are made-up sources of five kinds. Each lists numbered resources in ranges, writes URLs in its own way,
// and has its own shape of answer.
var fiveSources = []struct {
	kind   string
	ranges [][2]int
	url    string // of a resource
	entry  string // of a resource, with its URL
	answer string // with the entries
}{
	{"x402-discovery", [][2]int{{0, 60}}, "https://api%d.example.com/r/%d",
		`{"resource":"%s","type":"http"}`, `{"items":[%s],"pagination":{"total":0}}`},
	{"b402", [][2]int{{40, 80}}, "https://API%d.Example.com:443/r/%d?key=1",
		`{"resource":{"url":"%s"}}`, `{"code":"000000","success":true,"data":{"items":[%s],"pagination":{"total":0}}}`},
	{"402index", [][2]int{{50, 100}}, "http://api%d.example.com/%%72/%d",
		`{"url":"%s","protocol":"x402","name":"Other name"}`, `{"services":[%s],"total":0}`},
	{"mpp-services", [][2]int{{90, 120}}, "https://api%d.example.com/x/../r/%d",
		`{"serviceUrl":"","endpoints":[{"path":"%s","payment":{"amount":"1"}}]}`, `{"version":1,"services":[%s]}`},
	{"json-list", [][2]int{{0, 10}, {110, 130}}, "https://api%d.example.com./r/%d#top", `"%s"`, `[%s]`},
}

// readFive reads the five sources without the resources that lost contains, and returns the identities of each.
func readFive(t *testing.T, lost map[int]bool) []map[Identity]bool {
	t.Helper()
	out := make([]map[Identity]bool, len(fiveSources))
	for i, s := range fiveSources {
		entries := ""
		for _, r := range s.ranges {
			for n := r[0]; n < r[1]; n++ {
				if i > 0 || !lost[n] {
					entry, _ := json.Marshal(fmt.Sprintf(s.url, n/10, n))
					entries += fmt.Sprintf(s.entry, entry[1:len(entry)-1]) + ","
					entries += fmt.Sprintf(s.entry, entry[1:len(entry)-1]) + "," // each is listed twice
				}
			}
		}
		got, err := walk(t, s.kind, nil, func(*url.URL) []byte {
			return fmt.Appendf(nil, s.answer, entries[:len(entries)-1])
		})
		if err != nil || !got.Complete() || len(got.Skipped) > 0 || got.Duplicates != len(got.Rows) {
			t.Fatalf("%s: %s, %d duplicates, skipped %v: %v", s.kind, got.End, got.Duplicates, got.Skipped, err)
		}
		out[i] = map[Identity]bool{}
		for j := range got.Rows {
			out[i][got.Rows[j].Identity()] = true
		}
	}
	return out
}

// TestUnionOfFiveKinds checks how many resources of five sources with a known overlap are new, how many another source
// listed before, and that a source that loses ten resources loses exactly those.
func TestUnionOfFiveKinds(t *testing.T) {
	t.Parallel()
	type counts struct{ New, Merged int }
	before := readFive(t, nil)
	union, got := map[Identity]bool{}, []counts{}
	for _, list := range before {
		c := counts{}
		for id := range list {
			if union[id] {
				c.Merged++
			} else {
				c.New++
			}
		}
		for id := range list {
			union[id] = true
		}
		got = append(got, c)
	}
	want := []counts{{60, 0}, {20, 20}, {20, 30}, {20, 10}, {10, 20}}
	if diff := cmp.Diff(want, got); diff != "" || len(union) != 130 {
		t.Errorf("%d resources in all, want 130 (-want +got):\n%s", len(union), diff)
	}
	lost := map[int]bool{}
	for _, n := range []int{3, 9, 20, 21, 22, 39, 41, 50, 58, 59} {
		lost[n] = true
	}
	after := readFive(t, lost)
	dropped := map[string]bool{}
	for i := range before {
		for id := range before[i] {
			if !after[i][id] {
				dropped[fmt.Sprint(i, " ", id.URL)] = true
			}
		}
		for id := range after[i] {
			if !before[i][id] {
				t.Errorf("%s lists %v only now", fiveSources[i].kind, id)
			}
		}
	}
	names := map[string]bool{}
	for n := range lost {
		names[fmt.Sprintf("0 api%d.example.com/r/%d", n/10, n)] = true
	}
	if diff := cmp.Diff(names, dropped); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}

// TestParameters checks that a placeholder and the parameter of a template are the same resource.
func TestParameters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		row  Row
		want string
	}{
		{Row{URL: "https://a.example.com/v1/jobs/{id}/x"}, "a.example.com/v1/jobs/:id/x"},
		{Row{URL: "https://a.example.com/v1/jobs/7/x", Template: "/v1/jobs/:id/x"}, "a.example.com/v1/jobs/:id/x"},
		{Row{URL: "https://a.example.com/%7bid%7d"}, "a.example.com/:id"},
		{Row{URL: "https://a.example.com/{}"}, "a.example.com/%7B%7D"},
		{Row{URL: "https://a.example.com/x{id}"}, "a.example.com/x%7Bid%7D"},
		{Row{URL: "https://a.example.com"}, "a.example.com/"},
	} {
		if got := c.row.Identity().URL; got != c.want {
			t.Errorf("%s has the identity %s, want %s", c.row.URL, got, c.want)
		}
	}
}
