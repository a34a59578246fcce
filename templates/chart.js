// Reads charts: a pointer, a finger or the arrow keys choose a day, and its row of the table below is shown. It also
// writes that table as CSV. Without this script the table has the same numbers.
(() => {
	"use strict";
	const svgLine = (x) => {
		const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
		for (const [name, value] of Object.entries({ class: "chosen-day", x1: x, x2: x, y2: "100%" }))
			line.setAttribute(name, value);
		return line;
	};
	const words = (e) => (e.querySelector(".hidden") || e).textContent.trim().replace(/\s+/g, " ");
	const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

	for (const group of document.querySelectorAll(".ranged")) {
		const table = document.getElementById(group.dataset.table), read = group.querySelector(".read");
		const plots = [...group.querySelectorAll(".plot")];
		if (!table || !read || plots.length === 0) continue;
		const heads = [...table.tHead.rows[0].cells].map(words);
		const rows = [...table.tBodies[0].rows]
			.map((row) => ({ row, day: row.querySelector("time").dateTime.slice(0, 10) }));
		const last = new Date(plots[0].dataset.last + "T00:00:00Z"), days = Number(plots[0].dataset.days);
		const date = (i) => new Date(last.getTime() - (days - 1 - i) * 86400000);
		const shown = () => Math.min(days, Number(group.querySelector(".ranges input:checked")?.value ?? days));
		let chosen = -1;

		// about returns what the table says of a day; a table may leave out days that are like the day before.
		const about = (i, columns) => {
			const day = date(i).toISOString().slice(0, 10), { empty, since, carry } = group.dataset;
			const name = date(i).getUTCDate() + " " + months[date(i).getUTCMonth()] + " " + date(i).getUTCFullYear();
			const at = rows.findLast((r) => carry === undefined ? r.day === day : r.day <= day);
			if (since && day < since) return name + ": not measured";
			if (!at) return name + ": " + empty;
			const cells = [...at.row.cells];
			if (cells.length < heads.length) return name + ": " + words(cells[1]);
			return name + ": " + cells.map((cell, n) => heads[n] + " " + words(cell))
				.filter((_, n) => n > 0 && (columns === null || columns.includes(n)) && !(carry !== undefined &&
					at.day !== day && ["Changes", "New", "Dropped"].includes(heads[n]))).join(", ");
		};
		const choose = (i, columns) => {
			chosen = Math.max(days - shown(), Math.min(days - 1, i));
			const text = about(chosen, columns);
			read.textContent = text;
			const x = (100 * (chosen + .5) / days).toFixed(2) + "%";
			for (const plot of plots) {
				plot.querySelector(".chosen-day")?.remove();
				plot.querySelector(".x").append(svgLine(x));
				const pane = plot.querySelector(".pane");
				pane.setAttribute("aria-valuemin", days - shown() + 1);
				pane.setAttribute("aria-valuenow", chosen + 1);
				pane.setAttribute("aria-valuetext", text);
			}
		};
		const clear = () => {
			chosen = -1;
			read.textContent = "";
			for (const plot of plots) plot.querySelector(".chosen-day")?.remove();
		};
		for (const plot of plots) {
			const pane = plot.querySelector(".pane"), marks = plot.querySelector(".marks");
			const named = plot.closest("[data-columns]");
			const columns = named && named.dataset.columns.split(" ").map(Number);
			// Screen readers say the value of a slider when it changes, once and after what they are saying.
			for (const [name, value] of Object.entries({ role: "slider", tabindex: 0, "aria-valuemin": 1,
				"aria-valuemax": days, "aria-valuenow": days, "aria-valuetext": "no day chosen",
				"aria-label": plot.previousElementSibling.textContent + ", by day" })) pane.setAttribute(name, value);
			const point = (e) => {
				const box = marks.getBoundingClientRect();
				choose(Math.floor((e.clientX - box.left) / box.width * days), columns);
			};
			pane.addEventListener("pointerdown", point);
			pane.addEventListener("pointermove", point);
			pane.addEventListener("pointerleave", (e) => { if (e.pointerType === "mouse") clear(); });
			pane.addEventListener("keydown", (e) => {
				const from = chosen < 0 ? days - 1 : chosen;
				const to = { ArrowLeft: from - 1, ArrowDown: from - 1, ArrowRight: from + 1, ArrowUp: from + 1,
					PageDown: from - 7, PageUp: from + 7, Home: 0, End: days - 1 }[e.key];
				if (e.key === "Escape") clear();
				if (to === undefined || e.ctrlKey || e.altKey || e.metaKey) return;
				e.preventDefault();
				choose(chosen < 0 && e.key.startsWith("Arrow") ? from : to, columns);
			});
			pane.addEventListener("focus", () => { if (chosen < 0) choose(days - 1, columns); });
		}
		for (const input of group.querySelectorAll(".ranges input")) input.addEventListener("change", clear);

		const save = document.createElement("button");
		save.className = "button csv";
		save.type = "button";
		save.textContent = "Save as CSV";
		save.addEventListener("click", () => {
			const quote = (s) => /[",\n]/.test(s) ? '"' + s.replaceAll('"', '""') + '"' : s;
			const value = (cell, n) => n === 0 ? cell.querySelector("time").dateTime.slice(0, 10)
				: cell.querySelector(".none, .quiet") || cell.matches(".quiet") ? "" : words(cell);
			const lines = [heads, ...rows.map(({ row }) => [...row.cells].map(value))];
			const link = document.createElement("a");
			link.href = URL.createObjectURL(new Blob([lines.map((l) => l.map(quote).join(",") + "\r\n").join("")],
				{ type: "text/csv" }));
			link.download = group.dataset.table + ".csv";
			link.click();
			setTimeout(() => URL.revokeObjectURL(link.href), 1000);
		});
		table.closest(".scroll").before(save);
	}
})();
