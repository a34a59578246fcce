// The reading half of packages site/columns and site/search, for the worker and for the script of a page. It must pick,
// order and write the same as they do. tables comes from Go (search.Tables), files are read by a function of the caller:
// load(key, parse) returns a promise of parse(text) for a file of the snapshot.
const search = (() => {
	"use strict";
	const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

	// ---- words ----

	// fold returns the form in which texts are compared: NFKD without marks, in lower case.
	const fold = (s) => {
		if (/^[\0-\x7f]*$/.test(s)) return s.toLowerCase();
		let out = "";
		for (const c of s.normalize("NFKD")) if (!/\p{M}/u.test(c)) out += c === "ς" ? "σ" : c.toLowerCase();
		return out;
	};

	const unspaced = /^(?:ー|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])$/u;

	// wordsAndRuns returns all words of a folded text, and its runs: the words that are not part of a longer word.
	const wordsAndRuns = (folded) => {
		const words = [], runs = [];
		let start = -1, begins = [], before = false, i = 0;
		const end = (at) => {
			if (start >= 0) runs.push(folded.slice(start, at));
			for (const b of begins) words.push(folded.slice(b, at));
			[start, begins, before] = [-1, [], false];
		};
		for (const c of folded) {
			if (!/^[\p{L}\p{N}]$/u.test(c)) end(i);
			else {
				const is = c.codePointAt(0) >= 0x1100 && unspaced.test(c);
				if (start < 0 || is || before) begins.push(i);
				if (start < 0) start = i;
				before = is;
			}
			i += c.length;
		}
		end(folded.length);
		return [words, runs];
	};

	// beginsAll reports whether every word of a query begins some word of a name.
	const beginsAll = (query, name) => {
		const runs = wordsAndRuns(fold(query))[1], words = wordsAndRuns(fold(name))[0];
		return runs.length > 0 && runs.every((run) => words.some((w) => w.startsWith(run)));
	};

	// ---- columns ----

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

	// parseColumn reads the file of a column of n services. Place i has the codes from starts[i] up to starts[i+1]; a code
	// is an index of values, which are distinct and ascending. keys are the networks of the codes of prices.
	const parseColumn = (type, file, n) => {
		const { data } = JSON.parse(file);
		if (!Array.isArray(data) || data.length !== n) throw new Error(`a column has ${data?.length} values, not ${n}`);
		const all = data.map((v) => forms[type](v));
		const total = all.reduce((sum, list) => sum + list.length, 0);
		const c = { compare: ["number", "money", "prices"].includes(type) ? decimals : order, values: [], keys: [],
			starts: new Int32Array(n + 1), codes: new Int32Array(total) };
		c.values = [...new Set(all.flatMap((list) => list.map(([, v]) => v)))].sort(c.compare);
		if (all.includes(false) || c.values.some((v) => typeof v !== "string")) throw new Error(`a column is not ${type}`);
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

	// passing returns for each value of a column whether it passes the filter p.
	const passing = (c, p, value) => {
		const rank = (v) => p.values.indexOf(v);
		const passes = {
			is: (v) => v === value,
			has: (v) => v === value,
			at_most: (v) => c.compare(v, value) <= 0,
			at_least: p.kind === "choice" ? (v) => rank(v) >= 0 && rank(v) <= rank(value) : (v) => c.compare(v, value) >= 0,
			words: (v) => beginsAll(value, v),
		}[p.compare];
		return c.values.map(passes);
	};

	// newReader returns the functions that read a snapshot of n services. A request is { params, value }: the parameters
	// of its route, and a function from the name of a parameter to its effective value.
	const newReader = (tables, n, load) => {
		const column = (name) =>
			load(`v1/columns/${name}.json`, (file) => parseColumn(tables.columns[name], file, n));

		// filter returns the places that pass every filter of a request that names a column, in their order.
		const filter = async (request, places) => {
			for (const p of request.params) {
				const value = p.column ? request.value(p.name) : "";
				if (value === "") continue;
				const c = await column(p.column), passes = passing(c, p, value);
				const network = p.within ? request.value(p.within) : "";
				places = places.filter((place) => codesAt(c, place, network).some((code) => passes[code]));
			}
			return places;
		};

		// sort returns places in an order: nulls are last, ties are in the order of slugs.
		const sort = async (request, places, name) => {
			const by = tables.orders.find((o) => o.name === name);
			const c = await column(by.column), network = by.within ? request.value(by.within) : "";
			const key = (place) => {
				const codes = codesAt(c, place, network);
				return codes.length === 0 ? Infinity : by.descending ? -Math.min(...codes) : Math.min(...codes);
			};
			const keys = new Map(places.map((place) => [place, key(place)]));
			return [...places].sort((a, b) => order(keys.get(a), keys.get(b)) || a - b);
		};

		// rows returns the parts of the rows at places, as JSON: the members of a row of /v1/services without braces, the
		// assessment and the endpoints.
		const rows = (places) => Promise.all(places.map(async (place) => {
			const block = Math.floor(place / tables.rows_per_block);
			const lines = await load(`v1/rows/${block}.json`, (file) => splitRows(file, n - block * tables.rows_per_block));
			return lines[place % tables.rows_per_block];
		}));
	};

	return { fold, wordsAndRuns, canonical, decimals, nullsLast, order };
})();
