package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"tollbook/site/testgate"
)

// TestChartsInBrowser checks that a pointer, a finger and the keys read the days and months of a chart. A range needs
// no script of ours to be shown. The tables are saved as CSV.
func TestChartsInBrowser(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	base := serveDirectory(t, world())
	type result struct {
		Pointer, Touch, Keys, End, Bound, Cleared, Role string
		Wide                                            []int // widths of the chart in widths of its pane, by range
		Ticks                                           []int // visible dated ticks, by range
		CSV                                             string
		Month, FirstMonth, Shown, MonthCSV              string // of the range "all"
	}
	got := browse[result](t, []task{{URL: base + "/services/acme.html", Width: 1000, Script: `
		const group = document.querySelector("[data-table=uptime-by-day]"), pane = group.querySelector(".pane");
		const marks = group.querySelector(".marks"), read = group.querySelector(".read");
		const at = (type, share, pointerType) => {
			const r = marks.getBoundingClientRect();
			pane.dispatchEvent(new PointerEvent(type, { clientX: r.left + r.width * share, clientY: r.top + 3, pointerType,
				bubbles: true }));
			return read.textContent;
		};
		const press = (...keys) => {
			for (const key of keys) pane.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
			return pane.getAttribute("aria-valuetext");
		};
		const said = { Pointer: at("pointermove", .999, "mouse"), Touch: at("pointerdown", .995, "touch") };
		pane.dispatchEvent(new PointerEvent("pointerleave", { pointerType: "mouse" }));
		said.Cleared = read.textContent;
		pane.focus();
		said.Keys = press("ArrowLeft", "PageDown", "ArrowRight");
		said.End = press("End");
		said.Role = pane.getAttribute("role") + " " + pane.getAttribute("aria-valuenow") + " " + pane.tabIndex;
		said.Wide = []; said.Ticks = [];
		for (const days of ["90", "30", "7"]) {
			group.querySelector("input[value='" + days + "']").click();
			said.Wide.push(Math.round(10 * marks.getBoundingClientRect().width / pane.getBoundingClientRect().width));
			said.Ticks.push([...pane.querySelectorAll(".x svg")].filter((e) => getComputedStyle(e).display !== "none").length);
		}
		said.Bound = press("Home");
		let file;
		URL.createObjectURL = (blob) => { file = blob; return "#"; };
		document.querySelector("#uptime-by-day").closest("details").querySelector(".csv").click();
		said.CSV = (await file.text()).split("\r\n").slice(0, 2).join("|");
		group.querySelector("input[value=all]").click();
		const monthly = group.querySelector(".by-month .pane");
		monthly.focus();
		said.Month = read.textContent;
		monthly.dispatchEvent(new KeyboardEvent("keydown", { key: "Home", bubbles: true, cancelable: true }));
		said.FirstMonth = monthly.getAttribute("aria-valuetext");
		said.Shown = [...group.querySelectorAll(".plot")].map((e) => e.checkVisibility() ? "shown" : "hidden").join(" ");
		document.querySelector("#uptime-by-month").closest("section").previousElementSibling.click();
		said.MonthCSV = (await file.text()).split("\r\n").slice(0, 1).join("|");
		return said;`}})[0]
	if !strings.HasPrefix(got.CSV, "Day,Uptime,Checks,Response time|2026-08-23,") {
		t.Errorf("CSV begins with %q", got.CSV)
	}
	day := func(text string) string {
		date, rest, _ := strings.Cut(text, ": ")
		if !strings.Contains(rest, "Uptime ") && rest != "no checks" {
			t.Errorf("read-out is %q", text)
		}
		return date
	}
	want := result{Pointer: "20 Nov 2026", Touch: "20 Nov 2026", Keys: "13 Nov 2026", End: "20 Nov 2026",
		Bound: "14 Nov 2026", Role: "slider 90 0", Wide: []int{10, 30, 129}, Ticks: []int{3, 4, 3},
		Month: "Nov 2026: Mean of days 50%, Lowest day 0%, Days checked 2", FirstMonth: "Dec 2025: no checks",
		Shown: "hidden shown hidden", MonthCSV: "Month,Mean of days,Lowest day,Days checked"}
	for _, text := range []*string{&got.Pointer, &got.Touch, &got.Keys, &got.End, &got.Bound} {
		*text = day(*text)
	}
	got.CSV = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reading a chart (-want +got):\n%s", diff)
	}
}
