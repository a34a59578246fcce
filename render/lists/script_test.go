package lists

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/testgate"
	"tollbook/templates"
)

// TestOrdersHaveWords checks that each order of a search has a label, and that each column that orders the list is one.
func TestOrdersHaveWords(t *testing.T) {
	t.Parallel()
	names := []string{site.OrderRelevance, site.OrderBest}
	for _, o := range site.SearchOrders {
		names = append(names, o.Name)
	}
	for _, name := range names {
		if i := slices.IndexFunc(orders, func(o order) bool { return o.Value == name }); i < 0 ||
			orders[i].Label == "" || orders[i].Text == "" {
			t.Errorf("the order %s has no label: add it to orders in render/lists/results.go", name)
		}
	}
	for _, h := range heads {
		if h.Sort != "" && !slices.Contains(names, h.Sort) {
			t.Errorf("a column sorts by %s, which /v1/search does not have", h.Sort)
		}
	}
}

// TestLocalCheck checks that the script of the search page accepts and refuses values of parameters in the words of the
// route table.
func TestLocalCheck(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		testgate.Missing(t, "node is missing; install Node.js 20 or newer (Debian: apt-get install nodejs)")
	}
	page, err := templates.FS.ReadFile("localsearch.js")
	if err != nil {
		t.Fatal(err)
	}
	script, err := LocalScript(page)
	if err != nil {
		t.Fatal(err)
	}
	route := routes.ByName("search")
	var calls [][2]string
	var want []string // messages; "" for values that are accepted
	for i := range route.Params {
		p := &route.Params[i]
		if p.Kind == routes.KindSet {
			continue // only the script itself sends sets
		}
		for _, value := range append([]string{"0", "1", "007", "-1", "1.", ".5", "0.010", "1e3", "100", "101", "100.5",
			"1000001", "1000000000", "1000000001", "123456789012345678.5", "1234567890123456789",
			"0.0000000000000000001", "true", "false", "True", "unknown", "a", "x y", "é", strings.Repeat("x", 100),
			strings.Repeat("é", 101), strings.Repeat("9", 50), "\"quoted\"", "a,b"}, p.Values...) {
			calls = append(calls, [2]string{p.Name, value})
			_, err := routes.ParseRequest(route.Pattern, url.Values{p.Name: {value}}.Encode())
			message := ""
			if refused := new(routes.ParamError); errors.As(err, &refused) {
				message = refused.Error()
			} else if err != nil {
				t.Fatal(err)
			}
			want = append(want, message)
		}
	}
	data, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	// A value that is accepted is followed by a request for a file.
	cmd := exec.CommandContext(t.Context(), node, "--input-type=module", "--eval", string(script)+`
import { readFileSync } from "node:fs";
globalThis.directory = { Problem: class extends Error {} };
const asked = new Error("asked for a file");
globalThis.fetch = async () => { throw asked; };
const messages = [];
for (const call of JSON.parse(readFileSync(0))) {
	try {
		await localSearch("/")(new URLSearchParams([call]));
	} catch (e) {
		if (e !== asked && !(e instanceof directory.Problem)) throw e;
		messages.push(e === asked ? "" : e.message);
	}
}
console.log(JSON.stringify(messages));`)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(data), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-go +javascript):\n%s", diff)
	}
}
