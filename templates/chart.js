// Reads charts: a pointer, a finger or the arrow keys choose a day or a month, and its row of the table below is shown.
// It also writes that table as CSV. Without this script the table has the same numbers.
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

	// read makes charts of days or of months readable. all has the attributes of their table.
	const read = (group, all, plots, unit) => {
		const table = document.getElementById(all.dataset.table), out = group.querySelector(".read");
		if (!table || !out || plots.length === 0) return;
		const heads = [...table.tHead.rows[0].cells].map(words), isDay = unit === "days";
		const rows = [...table.tBodies[0].rows]
			.map((row) => ({ row, slot: row.querySelector("time").dateTime.slice(0, isDay ? 10 : 7) }));
		const last = new Date(plots[0].dataset.last + "T00:00:00Z"), slots = Number(plots[0].dataset[unit]);
		const date = (i) => new Date(Date.UTC(last.getUTCFullYear(), last.getUTCMonth() - (isDay ? 0 : slots - 1 - i),
			last.getUTCDate() - (isDay ? slots - 1 - i : 0)));
		const shown = () => !isDay ? slots
			: Math.min(slots, Number(group.querySelector(".ranges input:checked")?.value ?? slots));
		let chosen = -1;

		// about returns what the table says of a slot; a table may leave out days that are like the day before.
		const about = (i, columns) => {
			const at = date(i), slot = at.toISOString().slice(0, isDay ? 10 : 7), { empty, since } = group.dataset;
			const carry = isDay ? group.dataset.carry : undefined;
			const name = (isDay ? at.getUTCDate() + " " : "") + months[at.getUTCMonth()] + " " + at.getUTCFullYear();
			const found = rows.findLast((r) => carry === undefined ? r.slot === slot : r.slot <= slot);
			if (since && !found && slot < since.slice(0, slot.length)) return name + ": not measured";
			if (!found) return name + ": " + empty;
			const cells = [...found.row.cells];
			if (cells.length < heads.length) return name + ": " + words(cells[1]);
			return name + ": " + cells.map((cell, n) => heads[n] + " " + words(cell))
				.filter((_, n) => n > 0 && (columns === null || columns.includes(n)) && !(carry !== undefined &&
					found.slot !== slot && ["Changes", "New", "Dropped"].includes(heads[n]))).join(", ");
		};
		const choose = (i, columns) => {
			chosen = Math.max(slots - shown(), Math.min(slots - 1, i));
			const text = about(chosen, columns);
			out.textContent = text;
			const x = (100 * (chosen + .5) / slots).toFixed(2) + "%";
			for (const plot of plots) {
				plot.querySelector(".chosen-day")?.remove();
				plot.querySelector(".x").append(svgLine(x));
				const pane = plot.querySelector(".pane");
				pane.setAttribute("aria-valuemin", slots - shown() + 1);
				pane.setAttribute("aria-valuenow", chosen + 1);
				pane.setAttribute("aria-valuetext", text);
			}
		};
		const clear = () => {
			chosen = -1;
			out.textContent = "";
			for (const plot of plots) plot.querySelector(".chosen-day")?.remove();
		};
		for (const plot of plots) {
			const pane = plot.querySelector(".pane"), marks = plot.querySelector(".marks");
			const named = plot.closest("[data-columns]");
			const columns = named && named.dataset.columns.split(" ").map(Number);
			// Screen readers say the value of a slider when it changes, once and after what they are saying.
			for (const [name, value] of Object.entries({ role: "slider", tabindex: 0, "aria-valuemin": 1,
				"aria-valuemax": slots, "aria-valuenow": slots,
				"aria-valuetext": isDay ? "no day chosen" : "no month chosen",
				"aria-label": plot.previousElementSibling.textContent + (isDay ? ", by day" : "") }))
				pane.setAttribute(name, value);
			const point = (e) => {
				const box = marks.getBoundingClientRect();
				choose(Math.floor((e.clientX - box.left) / box.width * slots), columns);
			};
			pane.addEventListener("pointerdown", point);
			pane.addEventListener("pointermove", point);
			pane.addEventListener("pointerleave", (e) => { if (e.pointerType === "mouse") clear(); });
			pane.addEventListener("keydown", (e) => {
				const from = chosen < 0 ? slots - 1 : chosen, page = isDay ? 7 : 12;
				const to = { ArrowLeft: from - 1, ArrowDown: from - 1, ArrowRight: from + 1, ArrowUp: from + 1,
					PageDown: from - page, PageUp: from + page, Home: 0, End: slots - 1 }[e.key];
				if (e.key === "Escape") clear();
				if (to === undefined || e.ctrlKey || e.altKey || e.metaKey) return;
				e.preventDefault();
				choose(chosen < 0 && e.key.startsWith("Arrow") ? from : to, columns);
			});
			pane.addEventListener("focus", () => { if (chosen < 0) choose(slots - 1, columns); });
		}
		for (const input of group.querySelectorAll(".ranges input")) input.addEventListener("change", clear);
		addSave(table, heads, rows);
	};

	// addSave adds a button that saves a table.
	const addSave = (table, heads, rows) => {
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
			link.download = table.id + ".csv";
			link.click();
			setTimeout(() => URL.revokeObjectURL(link.href), 1000);
		});
		table.closest(".scroll").before(save);
	};

	for (const group of document.querySelectorAll(".ranged")) {
		const monthly = group.querySelector(".by-month");
		read(group, group, [...group.querySelectorAll(".plot")].filter((plot) => !plot.closest(".by-month")), "days");
		if (monthly) read(group, monthly, [...monthly.querySelectorAll(".plot")], "months");
	}
})();
