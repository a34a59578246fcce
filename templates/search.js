// Fills the search page where no server did: on a host of plain files, and behind a worker. It makes the same markup as
// package results; a test compares both. Each filter, order and page is a link or a field of the form at the head, so
// the address says everything. Text that services wrote is inserted as text, never as markup.
(() => {
	"use strict";
	const part = document.getElementById("results");
	if (!part || part.dataset.filled || !window.fetch) return;
	const settings = JSON.parse(part.dataset.settings);
	const { make, words, count, dollars, percent, millis, state, unknown } = cells;
	const perPage = 10, maxChoices = 12; // few rows are in few files

	// ---- the address ----

	// The parameters of a search in the order of its addresses.
	const parameters = ["q", "category", "network", "status", "protocol", "max_price_usd", "min_uptime_30d", "verified",
		"payment_ready", "max_response_ms", "min_grade", "grade", "method", "source", "signable", "sort", "page"];
	const isFilter = (name) => !["q", "sort", "page"].includes(name);
	const given = new URLSearchParams(location.search), values = {};
	for (const name of parameters) {
		const value = given.getAll(name).find((v) => v !== "");
		if (value !== undefined) values[name] = value;
	}
	const href = (of) => {
		const w = new URLSearchParams();
		for (const name of parameters) if (of[name] && !(name === "page" && of[name] === "1")) w.set(name, of[name]);
		return settings.search + (w.size ? "?" + w : "");
	};
	const withValue = (name, value) => href({ ...values, page: "", [name]: value });

	// ---- words ----

	const plural = (n, one, many) => count(n) + "\u00a0" + (n === 1 ? one : many);
	const valueText = (name, value) => name === "network" && settings.networks[value]?.name || words(value, 32);
	const texts = {
		category: ["in ", ""], network: ["on ", ""], status: ["", ""], protocol: ["protocol ", ""],
		max_price_usd: ["at most $", ""], min_uptime_30d: ["uptime ", "% or more"], verified: ["verified: ", ""],
		payment_ready: ["payment ready: ", ""], max_response_ms: ["response within ", " ms"],
		min_grade: ["grade ", " or better"], grade: ["grade ", ""], method: ["method ", ""], source: ["source ", ""],
		signable: ["signable: ", ""],
	};
	const describe = (name, value) => {
		if (name === "verified" && value === "true") return "verified";
		if (name === "payment_ready" && value === "true") return "payment ready";
		return texts[name][0] + valueText(name, value) + texts[name][1];
	};
	const names = {
		max_price_usd: "price cap", min_uptime_30d: "minimum uptime", verified: "filter for verified services",
		payment_ready: "filter for payment-ready services", max_response_ms: "limit of the response time",
		min_grade: "minimum grade", signable: "filter for signable payments",
	};

	// ---- words that stand for filters, as in results.ReadIntent ----

	const price = new RegExp(String.raw`(?:^|[\s,;])(?:for\s+)?(?:under|below|less than|at most|up to|max|for)\s+` +
		String.raw`(?:\$(\d{1,9}(?:\.\d{1,9})?)|(\d{1,9}(?:\.\d{1,9})?)\s*(?:usdc?|dollars?)|(\d{1,9}\.\d{1,9}))` +
		String.raw`(?:$|[\s,;.])`, "i");
	const reliable = /(?:^|[\s,;])(?:reliable|reliably|high uptime)(?:$|[\s,;])/i;
	const separators = /(?:^|\s)(?:and|with)\s*$|[\s,;]+$|^[\s,;]+/;
	const quote = (s) => s.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
	const intent = () => {
		let q = words(values.q ?? "", 100);
		const found = {};
		const take = (name, expression, value) => {
			const m = expression.exec(q);
			if (!m || values[name] || found[name]) return;
			found[name] = value(m);
			q = q.slice(0, m.index) + " " + q.slice(m.index + m[0].length);
		};
		take("max_price_usd", price, (m) => m[1] ?? m[2] ?? m[3]);
		const length = (code) => [...settings.networks[code].name].length; // "Base Sepolia" before "Base"
		for (const code of Object.keys(settings.networks).sort((a, b) => length(b) - length(a) || (a < b ? -1 : 1))) {
			const name = quote(settings.networks[code].name) + "|" + quote(code);
			take("network", new RegExp(`(?:^|[\\s,;])(?:on|via)\\s+(?:${name})(?:$|[\\s,;])`, "i"), () => code);
		}
		take("min_uptime_30d", reliable, () => "99");
		if (Object.keys(found).length === 0) return [];
		while (separators.test(q)) q = q.replace(separators, "");
		q = q.replace(/\s+/g, " ").trim();
		const label = parameters.filter((name) => found[name]).map((name) => describe(name, found[name]));
		if (q) label.unshift("“" + q + "”");
		return [make("p", { class: "intent" },
			make("a", { href: href({ ...values, q, page: "", ...found }) }, "Search for " + label.join(", ")))];
	};

	// ---- filters ----

	const orders = [["", values.q ? "Relevance" : "Newest", values.q ? "best match first" : "newest first"],
		["price", "Price", "lowest price first"], ["uptime", "Uptime, 30 days", "highest uptime of 30 days first"],
		["speed", "Speed", "fastest first"], ["volume", "Volume", "largest volume first"]];
	const sort = values.sort === "relevance" ? "" : values.sort ?? "";
	const choice = (label, to, current, n) => {
		const a = make("a", current ? { href: to, "aria-current": "true" } : { href: to });
		if (n === undefined) a.append(label);
		else {
			if (current) a.title = "Remove this filter";
			a.append(make("bdi", {}, label), " ", make("small", {}, count(n)));
		}
		return [a, " "];
	};
	const line = (label, inside) => make("div", {}, make("dt", {}, label), make("dd", {}, ...inside));
	const facetLabels = { category: "Category", network: "Network", status: "Status", protocol: "Protocol" };
	const facet = (name, label, counts) => {
		const chosen = values[name], all = Object.keys(counts);
		if (chosen && !(chosen in counts)) all.push(chosen);
		all.sort((a, b) => (counts[b] ?? 0) - (counts[a] ?? 0) || (a < b ? -1 : 1));
		const at = all.indexOf(chosen);
		if (at >= maxChoices) all[maxChoices - 1] = chosen;
		if (all.length === 0) return [];
		return [line(label, all.slice(0, maxChoices).flatMap((value) => choice(valueText(name, value),
			withValue(name, value === chosen ? "" : value), value === chosen, counts[value] ?? 0)))];
	};
	const filters = (facets) => {
		const uptimes = ["90", "95", "99", "99.9"];
		if (values.min_uptime_30d && !uptimes.includes(values.min_uptime_30d)) uptimes.push(values.min_uptime_30d);
		const option = (value, label) => {
			const o = make("option", { value }, label);
			if (value && value === values.min_uptime_30d) o.setAttribute("selected", "");
			return o;
		};
		const check = (name, label) => {
			const box = make("input", { type: "checkbox", name, value: "true", form: "search" });
			if (values[name] === "true") box.setAttribute("checked", "");
			return make("label", { class: "check" }, box, " " + label);
		};
		const seen = ["q", "max_price_usd", "min_uptime_30d", "verified", "payment_ready", "page"];
		const hidden = parameters.filter((name) => values[name] && !seen.includes(name))
			.map((name) => make("input", { type: "hidden", name, value: values[name], form: "search" }));
		const fields = make("div", { class: "fields" },
			make("label", {}, "Maximum price, USD ", make("input", {
				type: "text", name: "max_price_usd", form: "search", inputmode: "decimal", maxlength: "30",
				autocomplete: "off", placeholder: "0.01", value: values.max_price_usd ?? "",
			})),
			make("label", {}, "Minimum uptime, 30 days ", make("select", { name: "min_uptime_30d", form: "search" },
				option("", "Any"), ...uptimes.map((u) => option(u, u + "%")))),
			check("verified", "Verified"), check("payment_ready", "Payment ready"),
			make("button", { type: "submit", class: "button", form: "search" }, "Apply"), ...hidden);
		const lists = [line("Sort by", orders.flatMap(([value, label]) =>
			choice(label, withValue("sort", value), value === sort)))];
		for (const [name, label] of Object.entries(facetLabels))
			lists.push(...facet(name, label, facets?.[name] ?? {}));
		return [fields, make("nav", { class: "choices", "aria-label": "Filters" }, make("dl", {}, ...lists))];
	};

	// ---- results ----

	const chip = (code) => {
		const n = settings.networks[code];
		return make("li", { title: words(code, 32) }, n?.href ? make("a", { href: n.href }, n.name)
			: make("bdi", {}, n?.name || words(code, 32)));
	};
	const networkChips = (codes) =>
		codes.length === 0 ? unknown() : make("ul", { class: "chips" }, ...codes.map(chip));
	const offer = (e) => {
		const item = make("li", {}, make("code", {}, make("bdi", {}, words(e.method, 32) + " " + words(e.path, 300))));
		const split = values.network && e.prices_usd;
		const usd = split ? e.prices_usd[values.network] ?? null : e.price_usd;
		if (usd !== null) item.append(" ", make("strong", {}, dollars(usd)));
		const on = (split ? [values.network] : e.networks).map((code) => valueText("network", code)).join(", ");
		if (on) item.append(" ", make("span", { class: "on" }, "on ", make("bdi", {}, on)));
		const about = words(e.description ?? "", 180);
		if (about) item.append(" ", make("span", { class: "quiet" }, make("bdi", {}, about)));
		return item;
	};
	const row = (s) => {
		const page = settings.service.replace("_", s.slug);
		const lead = make("th", { scope: "row", class: "lead" },
			make("a", { href: page }, make("bdi", {}, words(s.name, 100) || "(no name)")), " ");
		const to = settings.categories[s.category];
		lead.append(make(to ? "a" : "span", to ? { class: "tag", href: to } : { class: "tag" },
			make("bdi", {}, words(s.category, 32))));
		lead.append(" ", make("strong", { class: "advice advice-" + words(s.advice_level, 32) },
			cells.advice(s.advice_level)
			+ (s.advice_reason === null ? "" : ": " + words(s.advice_reason, 300))));
		const blurb = words(s.description, 180);
		if (blurb) lead.append(make("span", { class: "blurb" }, make("bdi", {}, blurb)));
		// No row recommends a payment that would be lost.
		if (s.risk_level !== "danger" && s.endpoints.length > 0)
			lead.append(make("ul", { class: "offers" }, ...s.endpoints.map(offer)));
		const cell = (label, kind, value) =>
			make("td", kind ? { "data-label": label, class: kind } : { "data-label": label }, value);
		return make("tr", {}, lead, cell("Status", "", state(s.status)),
			cell("Price from", "num price", dollars(s.min_price_usd)),
			cell("Uptime, 30 days", "num", percent(s.assessment.reliability_uptime_30d)),
			cell("Response time, 24 hours", "num", millis(s.avg_response_time_ms)),
			cell("Networks", "wide", networkChips(s.networks)));
	};
	const heads = [["Service"], ["Status"], ["Price from", "price", "ascending"],
		["Uptime, 30 days", "uptime", "descending"], ["Response time, 24 hours", "speed", "ascending"], ["Networks"]];
	const table = (rows) => make("table", { class: "stack services" },
		make("caption", { class: "hidden" }, "Search results"),
		make("thead", {}, make("tr", {}, ...heads.map(([label, order, direction]) => {
			const th = make("th", { scope: "col" },
				order ? make("a", { href: withValue("sort", order) }, label) : label);
			if (order !== undefined) th.className = "num";
			if (order && order === sort) th.setAttribute("aria-sort", direction);
			return th;
		}))),
		make("tbody", {}, ...rows.map(row)));
	const pager = (meta) => {
		if (meta.page <= 1 && meta.page >= meta.total_pages) return [];
		const list = make("ul");
		const to = (page) => href({ ...values, page: String(page) });
		if (meta.page > 1) list.append(make("li", {},
			make("a", { rel: "prev", href: to(Math.min(meta.page - 1, meta.total_pages)) }, "Previous")));
		list.append(make("li", { class: "gap" }, count(meta.page) + " of " + count(meta.total_pages)));
		if (meta.page < meta.total_pages)
			list.append(make("li", {}, make("a", { rel: "next", href: to(meta.page + 1) }, "Next")));
		return [make("nav", { class: "pager", "aria-label": "Pages" }, list)];
	};
	const under = (...inside) => make("div", { class: "under" }, ...inside);
	const summary = ({ data, meta }) => {
		const found = make("p", { id: "found", role: "status" });
		const first = (meta.page - 1) * meta.per_page + 1, of = plural(meta.total, "service", "services");
		const order = orders.find(([value]) => value === sort)?.[2] ?? "";
		if (data.length > 0) found.append(`${count(first)}–${count(first + data.length - 1)} of ${of}, ${order}`);
		else found.append(meta.total > 0 ? `This page does not exist; there are ${of}.` : "Nothing matches.");
		const isNew = (r) => r.words.split(" ").some((word) => !r.to.split(" ").includes(word));
		for (const r of meta.read_as ?? []) if (r.as === "corrected" || r.as === "synonym" && isNew(r))
			found.append(" ", make("span", { class: "reading" }, "“", make("bdi", {}, words(r.words, 100)),
				"”, read as “", make("bdi", {}, words(r.to, 100)), "”."));
		for (const name of parameters) {
			const n = meta.without?.[name];
			if (!(n > 0 && isFilter(name))) continue;
			const match = plural(n, "service", "services") + (n === 1 ? " matches" : " match");
			const text = `${match} without the ${names[name] ?? name}`;
			found.append(" ", make("a", { href: withValue(name, "") }, text), ".");
		}
		return under(found, ...(data.length > 0 ? [make("label", { class: "view" },
			make("input", { type: "checkbox", id: "as-cards" }), " Show as cards")] : []));
	};
	const chosen = () => {
		const on = parameters.filter((name) => values[name] && isFilter(name));
		if (on.length === 0) return [];
		return [make("p", { class: "chosen" }, ...on.flatMap((name) => [make("a", { href: withValue(name, "") },
			make("span", { class: "hidden" }, "Remove: "), make("bdi", {}, describe(name, values[name])), " ",
			make("span", { "aria-hidden": "true" }, "×")), " "]),
		make("a", { href: href({ q: values.q, sort: values.sort }) }, "Clear filters"))];
	};
	const show = (answer) => part.replaceChildren(...filters(answer.meta.facets),
		make("div", { class: "listing" }, ...intent(), summary(answer), ...chosen(),
			...(answer.data.length > 0 ? [table(answer.data)] : []), ...pager(answer.meta)));
	const fail = (text) => part.replaceChildren(...filters({}), make("div", { class: "listing" },
		under(make("p", { id: "found", role: "status" }, text)), ...chosen()));

	const field = document.getElementById("search").elements.q;
	if (values.q) {
		field.value = values.q;
		document.title = words(values.q, 100) + " · " + document.title;
	}
	const wanted = new URLSearchParams({ include: "assessment,facets", per_page: perPage });
	for (const [name, value] of Object.entries(values)) wanted.set(name, value);
	directory.find(wanted).then(show, (e) => fail(e instanceof directory.Problem ? e.message
		: "The search does not work right now. The lists of services do."));
})();
