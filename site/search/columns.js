// Picks and orders services by the columns of a snapshot, as package columns does, for the worker and for the script of
// a page. It needs search.js. It reads files with a function of the caller: load(key, parse) returns a promise of
// parse(text) for a file that the snapshot must have.
const columns = (() => {
	"use strict";
	const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

	// canonical returns the canonical form of plain decimal digits, or null.
	const canonical = (s) => {
		const m = /^0*([0-9]+)(?:\.([0-9]*))?$/.exec(s);
		if (!m) return null;
		const part = (m[2] ?? "").replace(/0+$/, "");
		return part ? m[1] + "." + part : m[1];
	};

	// decimals compares two decimals in canonical form.
	const decimals = (a, b) => {
		const [aw, af = ""] = a.split("."), [bw, bf = ""] = b.split(".");
		return order(aw.length, bw.length) || order(aw, bw) || order(af, bf);
	};
	const nullsLast = (a, b, compare) => (a === null ? (b === null ? 0 : 1) : b === null ? -1 : compare(a, b));

	// The values at a place by the type of its column, as [network, text] pairs; false for another form.
	const one = (type, text = (v) => v) => (v) => v === null ? [] : typeof v === type && [["", text(v)]];
	const forms = {
		text: one("string"), words: one("string"), boolean: one("boolean", String),
		number: one("number", (v) => canonical(String(v))), money: one("string", canonical),
		set: (v) => v === null ? [] : Array.isArray(v) && v.map((s) => ["", s]),
		prices: (v) => Object.entries(v ?? {}).map(([network, price]) => [network, canonical(price)]),
	};

	// parseColumn reads the file of a column of n services. Place i has the codes from starts[i] up to starts[i+1]. A
	// code is an index of values, which are distinct and ascending. keys are the networks of the codes of prices.
	const parseColumn = (type, file, n) => {
		const { data } = JSON.parse(file);
		if (!Array.isArray(data) || data.length !== n) throw new Error(`a column has ${data?.length} values, not ${n}`);
		const all = data.map((v) => forms[type](v));
		if (all.includes(false)) throw new Error(`a column is not ${type}`);
		const total = all.reduce((sum, list) => sum + list.length, 0);
		const compare = ["number", "money", "prices"].includes(type) ? decimals : order;
		const c = { compare, values: [], keys: [], starts: new Int32Array(n + 1), codes: new Int32Array(total) };
		c.values = [...new Set(all.flatMap((list) => list.map(([, v]) => v)))].sort(c.compare);
		if (c.values.some((v) => typeof v !== "string")) throw new Error(`a column is not ${type}`);
		const code = new Map(c.values.map((v, i) => [v, i]));
		let at = 0;
		all.forEach((list, place) => {
			for (const [network, v] of list) {
				c.codes[at++] = code.get(v);
				if (type === "prices") c.keys.push(network);
			}
			c.starts[place + 1] = at;
		});
		return c;
	};

	// codesAt returns the codes at a place; of prices, only those on a network, unless network is "".
	const codesAt = (c, place, network) => {
		const list = [];
		for (let i = c.starts[place]; i < c.starts[place + 1]; i++)
			if (network === "" || c.keys.length === 0 || c.keys[i] === network) list.push(c.codes[i]);
		return list;
	};
	const valuesAt = (c, place, network = "") => codesAt(c, place, network).map((code) => c.values[code]);
	const valueAt = (c, place, network = "") => {
		const codes = codesAt(c, place, network);
		return codes.length > 0 ? c.values[Math.min(...codes)] : null;
	};
	const highestAt = (c, place, network = "") => {
		const codes = codesAt(c, place, network);
		return codes.length > 0 ? c.values[Math.max(...codes)] : null;
	};

	// passing returns for each value of a column whether it passes the filter p.
	const passing = (c, p, value) => {
		const rank = (v) => p.values.indexOf(v);
		const passes = {
			is: (v) => v === value,
			has: (v) => v === value,
			at_most: (v) => c.compare(v, value) <= 0,
			at_least: p.kind !== "choice" ? (v) => c.compare(v, value) >= 0
				: (v) => rank(v) >= 0 && rank(v) <= rank(value),
			words: (v) => search.beginsAll(value, v),
		}[p.compare];
		return c.values.map(passes);
	};

	// ---- rows ----

	// cutMeta returns the meta of the last line of a framed list, without the provenance that may follow it.
	const cutMeta = (line, tail) => {
		const end = line.lastIndexOf(',"provenance":');
		return line.startsWith(tail) ? line.slice(tail.length, end < 0 ? line.length : end) : "";
	};

	// splitFrame returns the rows and the meta of a framed list. head and tail are the text around the rows.
	const splitFrame = (file, head = '{"data":[\n', tail = '],"meta":') => {
		const lines = file.slice(head.length, -2).split("\n"), meta = cutMeta(lines.pop(), tail);
		if (!file.startsWith(head) || !file.endsWith("}\n") || meta === "") throw new Error("not a framed list");
		return [lines.map((line, i) => {
			const end = i < lines.length - 1 ? -1 : line.length;
			if (line === "" || line.endsWith(",") !== (end === -1)) throw new Error(`line ${i + 2} of a framed list`);
			return line.slice(0, end);
		}), meta];
	};

	// splitRow returns the parts of a row as JSON: the members of a row of /v1/services without braces, the assessment
	// and the endpoints.
	const splitRow = (row) => {
		const at = row.indexOf(',"assessment":{'), end = row.lastIndexOf(',"endpoints":[');
		if (at < 0 || end < at || row[0] !== "{" || !row.endsWith("}")) throw new Error("not a row");
		return { item: row.slice(1, at), assessment: row.slice(at + 14, end), endpoints: row.slice(end + 13, -1) };
	};

	// A request is { omit, params, value }. omit and params are those of its route, and value returns the effective
	// value of a parameter. column returns a promise of a column by its name.

	// filter returns the places that a request does not omit and that pass every filter of it that names a column, in
	// their order. One entry of a place must pass all filters with the same entry.
	const filter = async (request, places, column) => {
		const { omit, params, value } = request, include = params.some((p) => p.name === "include") && value("include");
		if (omit && !(include || "").split(",").includes(omit)) {
			const c = await column(omit);
			places = places.filter((place) => valueAt(c, place) !== "true");
		}
		const groups = new Map();
		for (const p of request.params)
			if (p.column && request.value(p.name) !== "") {
				const name = p.entry ?? "parameter " + p.name;
				groups.set(name, [...(groups.get(name) ?? []), p]);
			}
		for (const group of groups.values()) {
			const tests = await Promise.all(group.map(async (p) => {
				const c = await column(p.column), network = p.within ? request.value(p.within) : "";
				return { c, network, passing: passing(c, p, request.value(p.name)) };
			}));
			const { starts } = tests[0].c;
			for (const { c } of tests)
				if (c.starts.some((start, i) => start !== starts[i])) throw new Error("columns of different entries");
			const isOn = (c, i, network) => network === "" || c.keys.length === 0 || c.keys[i] === network;
			const passes = (i) => tests.every((t) => t.passing[t.c.codes[i]] && isOn(t.c, i, t.network));
			places = places.filter((place) => {
				for (let i = starts[place]; i < starts[place + 1]; i++) if (passes(i)) return true;
				return false;
			});
		}
		return places;
	};

	// sort returns places in an order: nulls are last, ties are in the order of slugs.
	const sort = async (request, places, by, column) => {
		const c = await column(by.column), network = by.within ? request.value(by.within) : "";
		const keys = new Map(places.map((place) => {
			const codes = codesAt(c, place, network);
			return [place, codes.length === 0 ? Infinity : (by.descending ? -1 : 1) * Math.min(...codes)];
		}));
		return [...places].sort((a, b) => order(keys.get(a), keys.get(b)) || a - b);
	};

	// newReader returns the functions that read the n services of a snapshot by their places. text is the result of
	// search.newText. slugs are those of all services, if they are known. built returns when the snapshot was built.
	const newReader = (tables, text, n, load, { slugs, built } = {}) => {
		const column = (name) =>
			load(`v1/columns/${name}.json`, (file) => parseColumn(tables.columns[name], file, n));
		const all = Array.from({ length: n }, (_, place) => place);
		const select = (request) => filter(request, all, column);
		const sorted = (request, places, name) =>
			sort(request, places, tables.orders.find((o) => o.name === name), column);

		// rows returns the parts of the rows at places, or the rows of another folder as split reads them.
		const size = tables.rows_per_block;
		const splitBlock = (block, split) => (file) => {
			const rows = splitFrame(file)[0];
			if (rows.length !== Math.min(size, n - block * size)) throw new Error(`a block of ${rows.length} rows`);
			rows.forEach((row, i) => {
				const slug = slugs?.[block * size + i];
				if (slug !== undefined && !row.startsWith(`{"slug":"${slug}"`)) throw new Error(`no row of ${slug}`);
			});
			return rows.map(split);
		};
		const rows = (places, folder = "v1/rows/", split = splitRow) => Promise.all(places.map(async (place) => {
			const block = Math.floor(place / size);
			return (await load(`${folder}${block}.json`, splitBlock(block, split)))[place % size];
		}));

		const termIndex = () => load("v1/terms.json", (file) => {
			const { data } = JSON.parse(file);
			if (data.services !== n) throw new Error(`terms of ${data.services} services, not ${n}`);
			return data;
		});

		// finder returns the function that finds what matches a text; see search.newFind.
		const finder = async () => {
			const index = await termIndex(), shard = (name) => load(`v1/terms/${name}.json`, (file) => {
				const terms = search.parseTerms(splitFrame(file)[0], n);
				if (terms.size !== index.shards[name]) throw new Error(`${terms.size} terms`);
				return terms;
			});
			const vocabulary = () => load("v1/vocabulary.json", (file) => JSON.parse(file).data);
			return search.newFind(text, tables.text, index, shard, vocabulary);
		};
		const find = async (query) => (await finder())(query);
		// slugAt returns the slug of the service at a place, or a text that is sorted as it is.
		const slugAt = (place) => slugs?.[place] ?? String(place).padStart(9, "0");
		return { all, column, select, sorted, rows, termIndex, text, finder, find, slugAt, built };
	};

	return {
		order, decimals, canonical, nullsLast, parseColumn, valuesAt, valueAt, highestAt, filter, sort, cutMeta, splitFrame,
		newReader,
	};
})();
