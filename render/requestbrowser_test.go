package render_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/testgate"
)

// TestRequestInBrowser checks that the command and the programs of an endpoint follow what a reader types. A shell
// reads one request, whatever that is. A value of the wrong type is marked and left out. Declared examples are filled
// in, and programs that pay stop until each required field has a value.
func TestRequestInBrowser(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	s := world()
	l := &s.Services[0]
	e := &l.Detail.Endpoints[0]
	e.Method, e.Path = "POST", "/users/{id}/search"
	l.Terms = []site.Terms{{Payable: true, Fields: []site.RequestField{
		{Name: "id", In: site.InPath, Required: true}, {Name: "mode", In: site.InQuery, Choices: []string{"it's", "b"}},
		{Name: "limit", In: site.InQuery, Type: "integer", Example: "7", Value: "7"},
		{Name: "q", In: site.InBody, Type: "string", Required: true},
		{Name: "filter", In: site.InBody, Type: "object"},
	}}}
	type result struct {
		Before, After, Invalid, Marks, Missing, Filled string
		Guards                                         []int // programs that stop: before, without the body, after
		Programs                                       []string
	}
	got := browse[result](t, []task{{URL: serveDirectory(t, s) + "/services/acme.html", Width: 1000, Script: `
		const table = document.querySelector("table.request"), inside = table.closest(".inside");
		const curl = inside.querySelector(".command > code");
		const type = (name, value) => {
			const input = table.querySelector("tr[data-name='" + name + "']").querySelector("input, select, textarea");
			input.value = value;
			input.dispatchEvent(new Event("input", { bubbles: true }));
			return input;
		};
		const guards = () => [...inside.querySelectorAll(".tab .command > code")]
			.filter((c) => /^(throw new Error\(|raise SystemExit\(|\tlog\.Fatal\()"Fill in /m.test(c.textContent)).length;
		const said = { Before: curl.textContent, Guards: [guards()] };
		said.Missing = inside.querySelector(".missing").textContent;
		said.Filled = table.querySelector("tr[data-name='limit'] input").value;
		type("id", "a/../b?'; echo evil #");
		type("mode", "it's");
		said.Guards.push(guards());
		said.Missing += "; " + inside.querySelector(".missing").textContent;
		type("q", "it's \"é\" 😀 $(echo evil) \\ ` + "`" + `echo evil` + "`" + `");
		type("filter", "{\"a\": [1, \"'\"]}");
		type("limit", "5");
		said.After = curl.textContent;
		said.Guards.push(guards());
		if (inside.querySelector(".missing").checkVisibility()) said.Missing += "; still";
		said.Programs = [...inside.querySelectorAll(".tab .command > code")].map((c) => c.textContent)
			.filter((text) => text.includes("search"))
			.map((text) => text.match(/.*(?:stringify\(|data=|NewReader\().*/)?.[0] ?? "");
		const marks = [type("limit", "1.5"), type("filter", "[1]"), type("filter", "{")]
			.map((e) => e.getAttribute("aria-invalid"));
		said.Marks = marks.join(" ");
		said.Invalid = curl.textContent;
		return said;`}})[0]
	const place = "/users/a%2F..%2Fb%3F%27%3B%20echo%20evil%20%23/search?mode=it%27s"
	base := "https://api.acme.test"
	want := result{
		Before: "curl -i -g -X POST '" + base + "/users/{id}/search?limit=7' -H 'content-type: application/json' " +
			`-d '{"q":"<q>"}'`,
		Marks: "true true true", Missing: "id, q; q", Filled: "7", Guards: []int{3, 3, 0},
	}
	after, invalid := got.After, got.Invalid
	programs := got.Programs
	got.After, got.Invalid, got.Programs = "", "", nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const q = `"q":"it's \"é\" 😀 $(echo evil) \\ ` + "`echo evil`" + `"`
	for command, want := range map[string]string{
		after: base + place + "&limit=5><-H><content-type: application/json><-d><{" + q +
			`,"filter":{"a":[1,"'"]}}`,
		invalid: base + place + "><-H><content-type: application/json><-d><{" + q + "}",
	} {
		sh, err := exec.LookPath("sh")
		if err != nil {
			testgate.Missing(t, "no shell: %v", err)
		}
		out, err := exec.Command(sh, "-c", "curl() { for a; do printf '<%s>' \"$a\"; done; }; "+command).
			CombinedOutput()
		if diff := cmp.Diff("<-i><-X><POST><"+want+">", string(out)); err != nil || diff != "" {
			t.Errorf("the shell read %v (-want +got):\n%s", err, diff)
		}
	}
	for _, line := range programs {
		if strings.Contains(line, "{}") || strings.Contains(line, "😀") && !strings.Contains(line, "stringify") {
			t.Errorf("a program sends %s", line)
		}
	}
	if len(programs) != 4 {
		t.Errorf("%d programs have the path, want curl and three: %q", len(programs), programs)
	}
}
