// Answers requests to /v1/search from the files of a snapshot, for hosts of plain files. It follows the scripts of
// package search, which precede it, with localTables from Go. Each file is read once, and only when a search needs it.
const localSearch = (files) => {
	"use strict";
	const maxEndpoints = 3, kept = new Map();
	const text = search.newText(localTables.text);
	const read = async (key) => {
		const answer = await fetch(files + key);
		if (!answer.ok) throw new Error(`${key}: status ${answer.status}`);
		return answer.text();
	};
	const load = (key, parse) => {
		if (!kept.has(key)) kept.set(key, read(key).then(parse));
		return kept.get(key);
	};

	// check throws a Problem if a value is not one that a parameter accepts, in the words of serve.
	const check = (p, value) => {
		const isDecimal = /^[0-9]+(\.[0-9]+)?$/.test(value), isWithin = value.split(".").every((part) => part.length <= 18);
		const needs = {
			choice: () => p.values.includes(value) ? "" : "one of " + p.values.join(", "),
			boolean: () => ["true", "false"].includes(value) ? "" : "true or false",
			integer: () => /^[0-9]+$/.test(value) && value >= (p.min ?? 0) && value <= p.max ? ""
				: `an integer from ${p.min ?? 0} to ${p.max}`,
			decimal: () => isDecimal && p.max && Number(value) > p.max ? `a number from 0 to ${p.max}`
				: isDecimal && isWithin ? ""
					: "a number such as 0.01, from 0 and with at most 18 digits before and after the point",
		}[p.kind]?.();
		if (needs) throw new directory.Problem(`parameter ${p.name}: must be ${needs}; got ${JSON.stringify(value)}`);
	};

	// offers returns the endpoints of a row that pass the filters, those that match the words first.
	const offers = (endpoints, value, matches) => {
		const network = value("network"), cap = value("max_price_usd"), method = value("method");
		const priceOf = (e) => e.prices_usd && network ? e.prices_usd[network] ?? null : e.price_usd;
		const passes = (e) => (!network || e.networks.includes(network)) && (!method || e.method === method) &&
			(!cap || priceOf(e) !== null && columns.decimals(columns.canonical(priceOf(e)), columns.canonical(cap)) <= 0);
		const fields = (e) => ["path", "description"].filter((name) => e[name] !== null && matches(e[name]));
		return endpoints.filter(passes).map((e) => ({ ...e, matched: fields(e) }))
			.sort((a, b) => b.matched.length - a.matched.length).slice(0, maxEndpoints);
	};


	return async (wanted) => {
		const n = (await load("v1/terms.json", (file) => JSON.parse(file).data)).services;
		const { params } = localTables, values = new Map();
		for (const p of params) {
			const value = wanted.getAll(p.name).find((v) => v !== "");
			if (value !== undefined) check(p, value);
			values.set(p.name, value ?? p.default ?? "");
		}
		const value = (name) => values.get(name) ?? "";
		const reader = columns.newReader(localTables, text, n, load);
		const request = { params: params.filter((p) => p.name !== "q"), value };
		const found = value("q") ? await reader.find(value("q")) : null;
		const all = found ? found.hits.map((hit) => hit.place) : [...Array(n).keys()];
		const pass = (without) => columns.filter({ params: request.params,
			value: (name) => name === without ? "" : value(name) }, all, reader.column);
		let places = await pass();
		const order = value("sort") === "relevance" && !found ? "newest" : value("sort");
		if (order !== "relevance") places = await reader.sorted(request, places, order);

		const page = Number(value("page")) || 1, perPage = Number(value("per_page")) || 25, total = places.length;
		const rows = await reader.rows(places.slice((page - 1) * perPage, page * perPage));
		const matches = found ? found.matches : () => false;
		const meta = {
			total, page, per_page: perPage, total_pages: Math.ceil(total / perPage), read_as: found?.readings ?? [],
		};
		if (value("include").includes("facets")) {
			meta.facets = {};
			for (const name of localTables.facets) {
				const c = await reader.column(params.find((p) => p.name === name).column), counts = {};
				meta.facets[name] = counts;
				for (const place of await pass(name))
					for (const v of columns.valuesAt(c, place)) counts[v] = (counts[v] ?? 0) + 1;
			}
		}
		if (total === 0) {
			meta.without = {};
			for (const p of request.params)
				if (p.column && value(p.name) !== "") meta.without[p.name] = (await pass(p.name)).length;
		}
		return {
			data: rows.map(({ item, endpoints }) => ({
				...JSON.parse("{" + item + "}"), endpoints: offers(JSON.parse(endpoints), value, matches),
			})),
			meta,
		};
	};
};
