package render_test

import (
	"fmt"
	"testing"
	"tollbook/site/testgate"
)

// TestStatusStripsInBrowser checks that no text of the status page overlaps a strip, and that no strip leaves its cell.
func TestStatusStripsInBrowser(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	s := world()
	for i := range s.Services {
		for day := range s.Services[i].Days {
			s.Services[i].Days[day] = uint8(101 - (i+day)%9*10)
		}
	}
	base := serveDirectory(t, s)
	var tasks []task
	for _, width := range []int{320, 480, 639, 640, 703, 704, 720, 768, 800, 820, 834, 860, 895, 896, 1280} {
		tasks = append(tasks, task{URL: base + "/status.html", Width: width, Script: `
			const found = [];
			let strips = 0;
			for (const row of document.querySelectorAll(".strips tbody tr")) {
				const strip = row.querySelector(".marks");
				if (!strip) continue;
				strips++;
				const s = strip.getBoundingClientRect(), cell = strip.closest("td").getBoundingClientRect();
				if (s.left < cell.left - 1 || s.right > cell.right + 1) found.push("a strip leaves its cell");
				const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
				for (let text = texts.nextNode(); text; text = texts.nextNode()) {
					const range = document.createRange();
					range.selectNodeContents(text);
					for (const box of range.getClientRects())
						if (text.data.trim() && box.width > 1 && box.left < s.right - 1 && box.right > s.left + 1 &&
							box.top < s.bottom - 1 && box.bottom > s.top + 1) found.push(text.data.trim() + " is on a strip");
				}
			}
			return strips ? [...new Set(found)] : ["no strip"];`})
	}
	for i, found := range browse[[]string](t, tasks) {
		if len(found) > 0 {
			t.Errorf("at %d pixels: %s", tasks[i].Width, fmt.Sprint(found))
		}
	}
}
