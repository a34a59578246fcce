// Fills the search page where no server did: on a host of plain files, and behind a worker. It makes the same markup as
// package results, with its filters, orders and words, which precede the script as searchTables; a test compares both.
// Each filter, order and page is a link or a field of the form at the head, so the address says everything. Text that
// services wrote is inserted as text, never as markup.
(() => {
	"use strict";
	const part = document.getElementById("results");
	if (!part || part.dataset.filled || !window.fetch) return;
	const settings = JSON.parse(part.dataset.settings);
	const { make, words, count, condition, dollars, percent, millis, state, unknown } = cells;
	const perPage = 10; // few rows are in few files
	const { filters: table, newest, heads, max_choices: maxChoices } = searchTables;

	// ---- the address ----

	// The parameters of a search in the order of its addresses.
	const parameters = ["q", ...table.map((filter) => filter.name), "sort", "page"];
	// typed returns the value of a decimal that a text in a field means, as $0.01 and 0.5 cents.
	const amount = new RegExp(searchTables.amount, "iu");
	const typed = (name, text) => {
		const [, number = "", isCents] = table.find((f) => f.name === name)?.kind === "decimal" && amount.exec(text) || [];
		if (!/\d/.test(number)) return text;
		let [whole, part = ""] = number.split(".");
		if (isCents) [whole, part] = [whole.padStart(3, "0").slice(0, -2), whole.padStart(2, "0").slice(-2) + part];
		return whole.replace(/^0+/, "").padStart(1, "0") + ("." + part).replace(/\.?0*$/, "");
	};
	const given = new URLSearchParams(location.search), values = {};
	for (const name of parameters) {
		const value = given.getAll(name).find((v) => v !== "");
		const spellings = settings.spellings[name] ?? {}, spelling = value?.toLowerCase();
		if (value !== undefined) values[name] = Object.hasOwn(spellings, spelling) ? spellings[spelling] : typed(name, value);
	}
	const href = (of) => {
		const w = new URLSearchParams();
		for (const name of parameters) if (of[name] && !(name === "page" && of[name] === "1")) w.set(name, of[name]);
		return settings.search + (w.size ? "?" + w : "");
	};
	const withValue = (name, value) => href({ ...values, page: "", [name]: value });

	// ---- words ----

	const plural = (n, one, many) => count(n) + "\u00a0" + (n === 1 ? one : many);
	const valueText = (name, value) => name === "network" && settings.networks[value]?.name ||
		name === "verdict" && cells.isLevel(value) && cells.advice(value) || words(value, 32);
	const describe = (filter, value) => value === "true" && filter.true ||
		filter.chip.replace("%s", () => valueText(filter.name, value));

	// ---- words that stand for filters ----

	let read = {}; // by the parameter
	const effective = (name) => read[name]?.value ?? values[name];
	const withoutValue = (name) => read[name] ? withValue("q", read[name].without) : withValue(name, "");
	const asWords = () => Object.keys(read).length === 0 ? []
		: [" ", make("a", { href: withValue("q", '"' + words(values.q, 98).replaceAll('"', "") + '"') }, "Search for all words")];

	// ---- filters ----

	const relevance = "relevance";
	const sort = () => effective("sort") === relevance ? "" : effective("sort") ?? "";
	const orders = searchTables.orders.map((order) => order.value !== relevance ? order
		: values.q ? { ...order, value: "" } : newest).filter((o) => o === newest || values.q || o.label !== newest.label);
	const choice = (label, to, current, n) => {
		const a = make("a", current ? { href: to, "aria-current": "true" } : { href: to });
		if (n === undefined) a.append(label);
		else {
			if (current) a.title = "Remove this filter";
			a.append(make("bdi", {}, label), " ", make("small", {}, count(n)));
		}
		return a;
	};
	const line = (label, inside) => make("details", { name: "choice" }, make("summary", {}, label),
		make("ul", {}, ...inside.map((a) => make("li", {}, a))));
	const facet = ({ name, facet: label }, counts) => {
		const chosen = effective(name), all = Object.keys(counts);
		if (chosen && !(chosen in counts)) all.push(chosen);
		all.sort((a, b) => (counts[b] ?? 0) - (counts[a] ?? 0) || (a < b ? -1 : 1));
		const at = all.indexOf(chosen);
		if (at >= maxChoices) all[maxChoices - 1] = chosen;
		if (all.length === 0) return [];
		return [line(label, all.slice(0, maxChoices).map((value) => choice(valueText(name, value),
			value === chosen ? withoutValue(name) : withValue(name, value), value === chosen, counts[value] ?? 0)))];
	};
	const filters = (facets) => {
		const field = ({ name, kind, field: { label, placeholder = "", options = [], suffix = "" } }) => {
			const value = values[name] ?? "";
			if (kind === "boolean") {
				const box = make("input", { type: "checkbox", name, value: "true", form: "search" });
				if (value === "true") box.setAttribute("checked", "");
				return make("label", { class: "check" }, box, " " + label);
			}
			if (options.length > 0) {
				const option = (of, text) => {
					const o = make("option", { value: of }, text);
					if (of && of === value) o.setAttribute("selected", "");
					return o;
				};
				const all = value && !options.includes(value) ? [...options, value] : options;
				return make("label", {}, label + " ", make("select", { name, form: "search" }, option("", "Any"),
					...all.map((of) => option(of, of + suffix))));
			}
			const isNumber = ["decimal", "integer"].includes(kind);
			return make("label", {}, label + " ", make("input", {
				type: "text", name, form: "search", ...(isNumber ? { inputmode: "decimal" } : {}), maxlength: "30",
				autocomplete: "off", placeholder, value,
			}));
		};
		const hidden = [...table.filter((filter) => !filter.field).map(({ name }) => name), "sort"]
			.filter((name) => values[name])
			.map((name) => make("input", { type: "hidden", name, value: values[name], form: "search" }));
		const fields = make("div", { class: "fields" }, ...table.filter((filter) => filter.field).map(field),
			make("button", { type: "submit", class: "button", form: "search" }, "Apply"), ...hidden);
		const lists = [line("Sort by", orders.map(({ value, label }) =>
			choice(label, withValue("sort", value), value === sort())))];
		for (const filter of table) if (filter.facet) lists.push(...facet(filter, facets?.[filter.name] ?? {}));
		lists.push(make("details", { name: "choice", class: "amounts" }, make("summary", {}, "Price, uptime, grade"), fields));
		return [make("details", { class: "filters" }, make("summary", {}, "Filters"),
			make("nav", { class: "choices", "aria-label": "Filters" }, ...lists))];
	};

	// ---- results ----

	const chip = (code) => {
		const n = settings.networks[code];
		return make("li", { title: words(code, 32) }, n?.href ? make("a", { href: n.href }, n.name)
			: make("bdi", {}, n?.name || words(code, 32)));
	};
	const networkChips = (codes) =>
		codes.length === 0 ? unknown() : make("ul", { class: "chips" }, ...codes.map(chip));
	const offer = (e, level) => {
		const item = make("li", {}, make("code", {}, make("bdi", {}, words(e.method, 32) + " " + words(e.path, 300))));
		const network = effective("network"), split = network && e.prices_usd;
		const usd = split ? e.prices_usd[network] ?? null : e.price_usd;
		const needs = network ? e.price_conditions?.[network] : e.price_condition;
		if (usd !== null) item.append(" ", make("strong", {}, dollars(usd)), ...condition(needs));
		const on = (split ? [network] : e.networks).map((code) => valueText("network", code)).join(", ");
		if (on) item.append(" ", make("span", { class: "on" }, "on ", make("bdi", {}, on)));
		item.append(" ", cells.adviceMark(e.verdict ?? level));
		const about = words(e.description ?? "", 180);
		if (about) item.append(" ", make("span", { class: "quiet" }, make("bdi", {}, about)));
		return item;
	};
	// why returns the figures behind a recommendation that no column has.
	const why = ({ compliance_grade: grade, checks_30d: checks, traction }) => {
		const parts = [], month = [], buyers = traction?.organic_buyers_30d ?? null;
		if (/^[A-F]$/.test(grade)) parts.push("Grade " + grade);
		if (checks > 0) month.push(plural(checks, "check", "checks"));
		if (buyers !== null) month.push(plural(buyers, "buyer", "buyers"));
		if (month.length > 0) parts.push(month.join(" and ") + " in 30 days");
		return parts.join(", ");
	};
	const row = (s) => {
		const page = settings.service.replace("_", s.slug), name = words(s.name, 100) || "(no name)";
		const lead = make("th", { scope: "row", class: "lead", "aria-label": name },
			make("a", { href: page }, make("bdi", {}, name)), " ");
		const to = settings.categories[s.category];
		lead.append(make(to ? "a" : "span", to ? { class: "tag", href: to } : { class: "tag" },
			make("bdi", {}, words(s.category, 32))));
		lead.append(" ", cells.adviceMark(s.advice_level, s.advice_reason));
		const blurb = words(s.description, 180);
		if (blurb) lead.append(make("span", { class: "blurb" }, make("bdi", {}, blurb)));
		// No row recommends a payment that would be lost.
		const reasons = s.why ?? (cells.isAdvised(s.advice_level) ? why(s.assessment) : "");
		if (reasons) lead.append(make("span", { class: "blurb why" }, reasons));
		if (cells.isAdvised(s.advice_level) && s.endpoints.length > 0)
			lead.append(make("ul", { class: "offers" }, ...s.endpoints.map((e) => offer(e, s.advice_level))));
		const cell = (label, kind, value) =>
			make("td", kind ? { "data-label": label, class: kind } : { "data-label": label }, ...[value].flat());
		return make("tr", {}, lead, cell("Status", "", state(s.status)),
			cell("Price from", "num price", [dollars(s.min_price_usd), ...condition(s.price_condition)]),
			cell("Uptime, 30 days", "num", percent(s.assessment.reliability_uptime_30d)),
			cell("Response time, 24 hours", "num", millis(s.avg_response_time_ms)),
			cell("Networks", "wide", networkChips(s.networks)));
	};
	const tableOf = (rows) => make("table", { class: "stack services" },
		make("caption", { class: "hidden" }, "Search results"),
		make("thead", {}, make("tr", {}, ...heads.map(({ label, num, sort: order, aria }) => {
			const th = make("th", { scope: "col" },
				order ? make("a", { href: withValue("sort", order) }, label) : label);
			if (num) th.className = "num";
			if (order && order === sort()) th.setAttribute("aria-sort", aria);
			return th;
		}))),
		make("tbody", {}, ...rows.map(row)));
	const pager = (meta) => {
		if (meta.page <= 1 && meta.page >= meta.total_pages) return [];
		const list = make("ul");
		const to = (page) => href({ ...values, page: String(page) });
		if (meta.page > 1) list.append(make("li", {},
			make("a", { rel: "prev", href: to(Math.min(meta.page - 1, Math.max(1, meta.total_pages))) },
				meta.page > meta.total_pages ? "Last page" : "Previous")));
		if (meta.page <= meta.total_pages)
			list.append(make("li", { class: "gap" }, count(meta.page) + " of " + count(meta.total_pages)));
		if (meta.page < meta.total_pages)
			list.append(make("li", {}, make("a", { rel: "next", href: to(meta.page + 1) }, "Next")));
		return [make("nav", { class: "pager", "aria-label": "Pages" }, list)];
	};
	const under = (...inside) => make("div", { class: "under" }, ...inside);
	const summary = ({ data, meta }) => {
		const found = make("p", { id: "found", role: "status" });
		const first = (meta.page - 1) * meta.per_page + 1, of = plural(meta.total, "service", "services");
		const order = orders.find(({ value }) => value === sort())?.text ?? "";
		if (meta.nearest) found.append("Nothing matches. These services are nearest.");
		else if (data.length > 0) found.append(`${count(first)}–${count(first + data.length - 1)} of ${of}, ${order}.`);
		else found.append(meta.total > 0 ? `This page does not exist; there are ${of}.` : "Nothing matches.");
		for (const filter of table) {
			const n = meta.without?.[filter.name];
			if (!(n > 0)) continue;
			const match = plural(n, "service", "services") + (n === 1 ? " matches" : " match");
			const text = `${match} without the ${filter.without}`;
			found.append(" ", make("a", { href: withoutValue(filter.name) }, text), ".");
		}
		return under(found, ...chosen(meta), ...(data.length > 0 ? [make("label", { class: "view" },
			make("input", { type: "checkbox", id: "as-cards" }), " Show as cards")] : []));
	};
	const readings = (meta) => {
		const isNew = (r) => r.words.split(" ").some((word) => !r.to.split(" ").includes(word));
		return (meta.read_as ?? []).filter((r) => r.as === "corrected" || r.as === "synonym" && isNew(r))
			.flatMap((r) => [make("span", { class: "reading" }, ...(r.as === "corrected"
				? ["“", make("bdi", {}, words(r.words, 100)), "” was read as “"] : ["Showing results for “"]),
			make("bdi", {}, words(r.to, 100)), "”."), " "]);
	};
	const chosen = (meta) => {
		const on = table.filter(({ name }) => effective(name))
			.map((filter) => [filter.name, describe(filter, effective(filter.name))]);
		if (read.sort) on.push(["sort", orders.find(({ value }) => value === sort()).text]);
		const chips = on.flatMap(([name, label]) => [make("a", { href: withoutValue(name) },
			make("span", { class: "hidden" }, "Remove: "), make("bdi", {}, label), " ",
			make("span", { "aria-hidden": "true" }, "×")), " "]);
		if (on.length > 0) chips.push(make("a", { href: href({ q: meta.text ?? values.q, sort: values.sort }) }, "Clear filters"),
			...asWords(), " ");
		const all = [...chips, ...readings(meta)];
		return all.length === 0 ? [] : [make("p", { class: "chosen" }, ...all)];
	};
	const nearest = (meta) => meta.total > 0 ? [] : [make("p", { class: "nearest" }, "Categories: ",
		...Object.keys(settings.categories).sort(byCodePoints).flatMap((name) =>
			[make("a", { href: settings.categories[name] }, make("bdi", {}, words(name, 32))), " "]))];
	const byCodePoints = (a, b) => {
		const [x, y] = [[...a], [...b]], i = x.findIndex((c, k) => c !== y[k]);
		return i < 0 ? x.length - y.length : x[i].codePointAt(0) - (y[i]?.codePointAt(0) ?? -1);
	};
	const show = (answer) => {
		const { meta } = answer;
		read = Object.fromEntries((meta.filters ?? []).filter(({ name }) => !values[name]).map((f) => [f.name, f]));
		part.replaceChildren(...filters(meta.facets), make("div", { class: "listing" }, summary(answer),
			...(answer.data.length > 0 ? [tableOf(answer.data)] : []), ...nearest(meta), ...pager(meta)));
	};
	const fail = (text) => part.replaceChildren(...filters({}), make("div", { class: "listing" },
		under(make("p", { id: "found", role: "status" }, text), ...chosen({}))));

	const field = document.getElementById("search").elements.q;
	if (values.q) {
		field.value = values.q;
		document.title = words(values.q, 100) + " · " + document.title;
	}
	const wanted = new URLSearchParams({ include: "assessment,facets", per_page: perPage, read_filters: "true" });
	for (const [name, value] of Object.entries(values)) wanted.set(name, value);
	directory.find(wanted).then(show, (e) => fail(e instanceof directory.Problem ? e.message
		: "The search does not work right now. The lists of services do."));
})();
