// Writes the response of /v1/search as package results does, for the worker and for the script of a page. It needs
// search.js and columns.js.
const results = (() => {
	"use strict";

	// rowJSON escapes as package encode does in rows: it leaves <, > and &, and escapes invisible characters.
	const invisible = /(?![\u200c\u200d])[\p{Cf}\p{Co}\p{Zl}\p{Zp}\x7f-\x9f\u115f\u1160\u3164\uffa0]/gu;
	const unit = (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0");
	const rowJSON = (v) => JSON.stringify(v).replace(invisible, (c) => c.split("").map(unit).join(""));

	// metaJSON escapes as package serve does in meta.
	const metaJSON = (v) => rowJSON(v).replace(/[<>&]/g, unit);

	// object returns a JSON object of JSON values with its keys in the order of Go: by code points.
	const codePoints = (s) => Array.from(s, (c) => c.codePointAt(0));
	const byCodePoints = (a, b) => {
		const x = codePoints(a), y = codePoints(b), i = x.findIndex((c, i) => c !== y[i]);
		return i < 0 ? x.length - y.length : x[i] - (y[i] ?? -1);
	};
	const object = (values) => "{" + Object.keys(values).sort(byCodePoints)
		.map((key) => metaJSON(key) + ":" + values[key]).join(",") + "}";

	// elements returns the JSON of each element of a compact JSON array.
	const elements = (array) => {
		const list = [];
		let depth = 0, inText = false, start = 1;
		for (let i = 0; i < array.length; i++) {
			const c = array[i];
			if (inText) {
				if (c === "\\") i++;
				else inText = c !== '"';
			} else if (c === '"') inText = true;
			else if (c === "[" || c === "{") depth++;
			else if (c === "," && depth === 1 || c === "]" && depth === 1) {
				if (i > start) list.push(array.slice(start, i));
				start = i + 1;
			}
			if (!inText && (c === "]" || c === "}")) depth--;
		}
		return list;
	};

	// passes reports whether an endpoint passes the filters that concern endpoints.
	const passes = (e, value) => {
		const network = value("network"), method = value("method"), limit = value("max_price_usd");
		if (network !== "" && !e.networks.includes(network) || method !== "" && e.method !== method) return false;
		const price = e.prices_usd && network !== "" ? e.prices_usd[network] ?? null : e.price_usd;
		return limit === "" || price !== null && columns.decimals(price, limit) <= 0;
	};

	// endpoints returns the JSON of the endpoints to show, and whether any endpoint of the row matches.
	const endpoints = (row, value, matches, max) => {
		const all = elements(row.endpoints).map((raw) => {
			const e = JSON.parse(raw), matched = [];
			if (matches(e.path)) matched.push("path");
			if (e.description !== null && matches(e.description)) matched.push("description");
			return { raw: `${raw.slice(0, -1)},"matched":${JSON.stringify(matched)}}`, e, matched };
		});
		const shown = all.filter(({ e }) => passes(e, value)).sort((a, b) => b.matched.length - a.matched.length);
		return [shown.slice(0, max).map(({ raw }) => raw), all.some(({ matched }) => matched.length > 0)];
	};

	const includes = (value, what) => value("include").split(",").includes(what);

	// result returns the JSON of a row of the response.
	const result = (row, score, why, value, matches, tables) => {
		const { name, category, description } = JSON.parse(`{${row.item}}`);
		const texts = { name: [name], tags: JSON.parse(row.assessment).capability_tags ?? [], category: [category],
			description: [description] };
		const [shown, isMatched] = endpoints(row, value, matches, tables.max_endpoints);
		const matched = tables.fields.filter((field) => field === "endpoints" ? isMatched : texts[field].some(matches));
		const more = (why === "" ? "" : `,"why":${rowJSON(why)}`) +
			(includes(value, "assessment") ? `,"assessment":${row.assessment}` : "");
		return `{${row.item},"score":${score},"matched":${JSON.stringify(matched)},"endpoints":[${shown.join(",")}]` +
			`${more}}`;
	};

	// page returns the rows of the response to a request and its meta, as JSON. tables are ScriptTables, reader is the result of
	// columns.newReader.
	const page = async ({ results: tables, ...others }, request, reader) => {
		const ranking = newRanking(others);
		const { params } = request, asked = request.value, reads = asked("read_filters") === "true" && asked("q") !== "";
		const passing = (places, value) => columns.filter({ omit: request.omit, params, value }, places, reader.column);
		let value = asked, query = asked("q"), found, all, places, ranked = null, read = null, near = [];
		const list = async () => {
			found = query === "" ? null : await reader.find(query);
			all = found ? found.hits.map((hit) => hit.place) : await reader.sorted(request, reader.all, "newest");
			places = await passing(all, value);
			ranked = null;
			if (value("sort") === tables.best) {
				const wanted = { network: value("network"), method: value("method"),
					max_price_usd: value("max_price_usd") || null, require_verified: false, ...tables.wanted };
				ranked = await ranking.rankPlaces(reader, wanted, places, found);
				places = ranking.orderOf(ranked);
			}
			const order = tables.orders.find((o) => o.name === value("sort"));
			if (order) places = await columns.sort({ ...request, value }, places, order, reader.column);
		};
		// putLast returns places with services whose verdict is not to pay them at the end, and before them, in an order
		// that words stood for, services that match less than half as well as the best.
		const putLast = async (places) => {
			const verdicts = await reader.column(tables.advice), sorted = value("sort") !== "relevance";
			const scores = new Map(found?.hits.map(({ place, score }) => [place, found.relevance(score)]));
			const best = sorted ? Math.max(0, ...scores.values()) : 0;
			const rank = (place) => columns.valueAt(verdicts, place) === tables.do_not_pay ? 2
				: 2 * (scores.get(place) ?? 0) < best ? 1 : 0;
			return [...places].sort((a, b) => rank(a) - rank(b));
		};
		if (reads) {
			const readWords = await filterWords.newRead(tables.words, request, reader);
			for (const allowWeak of [true, false]) {
				read = await readWords(asked("q"), allowWeak);
				const values = new Map(read.filters.map((f) => [f.name, f.value]));
				value = (name) => values.get(name) ?? asked(name);
				query = read.rest;
				await list();
				if (places.length > 0 || !read.weak) break;
			}
			if (places.length === 0) {
				const any = all.length > 0 ? all : await (await reader.finder()).nearest(query, tables.max_nearest);
				const isFilter = new Set(params.filter((p) => p.column).map((p) => p.name));
				near = await putLast(await passing([...any], (name) => isFilter.has(name) ? "" : asked(name)));
				near = near.slice(0, tables.max_nearest);
			} else if (asked("sort") === "relevance" && !ranked) places = await putLast(places);
		} else await list();
		const pass = (without) => passing(all, (name) => name === without ? "" : value(name));

		const total = places.length, number = Number(value("page")), size = Number(value("per_page"));
		const meta = { total, page: number, per_page: size, total_pages: Math.floor((total + size - 1) / size) };
		let rest = `,"read_as":${metaJSON([...read?.readings ?? [], ...found?.readings ?? []])}`;
		if (read?.filters.length > 0) rest += `,"filters":${metaJSON(read.filters)},"text":${metaJSON(read.rest)}`;
		if (near.length > 0) rest += `,"nearest":true`;
		const filters = params.filter((p) => p.column && value(p.name) !== "");
		if (total === 0 && filters.length > 0) {
			const without = {};
			for (const p of filters) without[p.name] = (await pass(p.name)).length;
			rest += `,"without":${object(without)}`;
		}
		if (includes(value, "facets")) {
			const facets = {};
			for (const name of tables.facets) {
				const c = await reader.column(params.find((p) => p.name === name).column), counts = new Map();
				for (const place of await pass(name))
					for (const v of columns.valuesAt(c, place)) counts.set(v, (counts.get(v) ?? 0) + 1);
				facets[name] = object(Object.fromEntries(counts));
			}
			rest += `,"facets":${object(facets)}`;
		}
		if (near.length > 0) places = near;
		const shown = places.slice((number - 1) * size, number * size), rows = await reader.rows(shown);
		const scores = new Map(found?.hits.map(({ place, score }) => [place, found.relevance(score)]));
		const matches = found ? found.matches : () => false;
		const why = (row, place) => ranked && near.length === 0 ? ranking.reasonOf(ranked, place, row, found) : "";
		return {
			rows: rows.map((row, i) => result(row, scores.get(shown[i]) ?? 0, why(row, shown[i]), value, matches, tables)),
			meta: JSON.stringify(meta).slice(0, -1) + rest + "}",
			total,
		};
	};

	return { elements, rowJSON, page };
})();
