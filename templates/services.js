// Searches and filters the list while the reader types, through /v1/services. Without this script the page's links lead
// to the lists that are files. Rows look as in the template. Text that services wrote is inserted as text, never as
// markup.
(() => {
	"use strict";
	const form = document.querySelector("form.find"), listing = document.querySelector(".listing");
	if (!form || !listing || !window.fetch) return;
	const body = listing.querySelector("tbody"), found = document.getElementById("found");
	const first = [...body.childNodes], foundFirst = found.textContent;
	const choices = document.querySelector("nav.choices");
	let pager = listing.querySelector(".pager");
	const pagerFirst = pager;
	const networks = new Map([...form.elements.network.options].map((o) => [o.value, o.textContent]));
	const categories = new Map([...form.elements.category.options].map((o) => [o.value, o.dataset.href]));
	const perPage = 50, initialSort = form.elements.sort.value;
	let page = 1, request = null, timer = 0;

	const { make, words, group, dollars, percent, millis, state, chips } = cells;
	const row = (s) => {
		const lead = make("th", { scope: "row", class: "lead" },
			make("a", { href: form.dataset.services.replace("_.html", encodeURIComponent(s.slug) + ".html") },
				make("bdi", {}, words(s.name, 100) || s.slug)), " ");
		const href = categories.get(s.category);
		lead.append(make(href ? "a" : "span", href ? { class: "tag", href } : { class: "tag" },
			make("bdi", {}, words(s.category, 32))));
		if (s.risk_reason) lead.append(" ", make("strong", { class: "risk risk-" + s.risk_level },
			s.risk_level + ": " + words(s.risk_reason, 100)));
		const blurb = words(s.description, 180);
		if (blurb) lead.append(make("span", { class: "blurb" }, make("bdi", {}, blurb)));
		const cell = (label, kind, value) =>
			make("td", kind ? { "data-label": label, class: kind } : { "data-label": label }, value);
		return make("tr", {}, lead, cell("Status", "", state(s.status)),
			cell("Price from", "num price", dollars(s.min_price_usd)),
			cell("Uptime, 24 hours", "num", percent(s.uptime_24h)),
			cell("Response time, 24 hours", "num", millis(s.avg_response_time_ms)),
			cell("Networks", "wide", chips(s.networks, networks)));
	};

	const wanted = () => {
		const w = new URLSearchParams();
		for (const [name, value] of new FormData(form))
			if (value.trim() && !(name === "sort" && value === "newest")) w.set(name, value.trim());
		if (page > 1) w.set("page", page);
		return w;
	};
	const untouched = () => {
		const w = wanted();
		return w.size === 0 && initialSort === "newest" || w.size === 1 && w.get("sort") === initialSort;
	};
	const show = (nodes, text, pages) => {
		body.replaceChildren(...nodes);
		found.textContent = text;
		if (pager) pager.remove();
		pager = pages;
		if (pager) listing.append(pager);
	};
	const pageButton = (label, to) => {
		const b = make("button", { type: "button" }, label);
		b.addEventListener("click", () => {
			page = to;
			load();
			listing.scrollIntoView();
		});
		return make("li", {}, b);
	};
	const load = async () => {
		if (request) request.abort();
		const w = wanted();
		history.replaceState(null, "", w.size ? "?" + w : location.pathname);
		choices.hidden = !untouched();
		if (untouched()) return show(first, foundFirst, pagerFirst);
		const call = request = new AbortController();
		w.set("per_page", perPage);
		try {
			const answer = await fetch(form.getAttribute("action") + "?" + w, { signal: call.signal });
			if (!answer.ok) throw new Error(answer.status);
			const { data, meta } = await answer.json();
			const from = (meta.page - 1) * meta.per_page;
			let pages = null;
			if (meta.total > meta.per_page) {
				const list = make("ul");
				if (meta.page > 1) list.append(pageButton("Previous", meta.page - 1));
				list.append(make("li", { class: "gap" }, meta.page + " of " + meta.total_pages));
				if (meta.page < meta.total_pages) list.append(pageButton("Next", meta.page + 1));
				pages = make("nav", { class: "pager", "aria-label": "Pages" }, list);
			}
			const text = meta.total === 0 ? "No services match. " :
				(data.length ? group(String(from + 1)) + "–" + group(String(from + data.length)) + " of "
					: "none of ") +
				group(String(meta.total)) + (meta.total === 1 ? " service" : " services");
			show(data.map(row), text, pages);
			if (meta.total === 0) found.append(make("a", { href: form.dataset.page }, "Clear filters"));
		} catch (e) {
			if (e.name === "AbortError") return;
			choices.hidden = false;
			show([], "Search is not available right now. Use the links above instead.", null);
		}
	};

	form.addEventListener("submit", (e) => {
		e.preventDefault();
		page = 1;
		load();
	});
	form.addEventListener("input", (e) => {
		page = 1;
		clearTimeout(timer);
		timer = setTimeout(load, e.target.name === "q" ? 150 : 0);
	});
	const given = new URLSearchParams(location.search);
	for (const e of form.elements) if (e.name && given.get(e.name)) e.value = given.get(e.name);
	for (const e of form.querySelectorAll("select")) if (e.selectedIndex < 0) e.selectedIndex = 0;
	form.hidden = false;
	if ([...form.elements].some((e) => e.name && given.get(e.name))) {
		page = Math.min(1000000, parseInt(given.get("page"), 10) || 1);
		load();
	}
})();
