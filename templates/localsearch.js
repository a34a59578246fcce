// Answers requests to /v1/search from the files of a snapshot, for hosts of plain files. It follows the scripts of
// package search, which precede it, with localTables from Go. Each file is read once, and only when a search needs it.
const localSearch = (files) => {
	"use strict";
	const { omit, params, limits, spelled } = localTables, kept = new Map(), text = search.newText(localTables.text);
	const read = async (key) => {
		const answer = await fetch(files + key);
		if (!answer.ok) throw new Error(`${key}: status ${answer.status}`);
		return answer.text();
	};
	const load = (key, parse) => {
		if (!kept.has(key)) kept.set(key, read(key).then(parse));
		return kept.get(key);
	};

	const built = () => load("checkpoint.json", (file) => Date.parse(JSON.parse(file).built_at));

	// needs returns, by the kind of a parameter, what its values must be if a value is not, in the words of serve.
	const isOther = (p, v) => Object.hasOwn(spelled[p.name] ?? {}, v);
	const isLong = (digits) => digits.length > limits.max_digits;
	const needs = {
		choice: (p, v) => !p.values.includes(v) && !isOther(p, v) &&
			"one of " + [...p.values, ...Object.keys(spelled[p.name] ?? {})].join(", "),
		boolean: (p, v) => v !== "true" && v !== "false" && "true or false",
		integer: (p, v) => !(/^[0-9]+$/.test(v) && Number(v) >= (p.min ?? 0) && Number(v) <= p.max) &&
			`an integer from ${p.min ?? 0} to ${p.max}`,
		decimal: (p, v) => {
			const number = columns.canonical(v), max = String(p.max ?? "");
			if (number !== null && max && columns.decimals(number, max) > 0) return "a number from 0 to " + max;
			return (number === null || v.split(".").some(isLong)) && "a number such as 0.01, from 0 and with at most " +
				limits.max_digits + " digits before and after the point";
		},
	};
	const quote = (v) => JSON.stringify([...v].length > 40 ? [...v].slice(0, 40).join("") + "…" : v);

	// check returns the canonical form of a value, or throws a Problem if the parameter does not accept it.
	const check = (p, v) => {
		const must = needs[p.kind]?.(p, v), length = [...v].length, max = p.max || limits.max_text;
		if (must) throw new directory.Problem(`parameter ${p.name}: must be ${must}; got ${quote(v)}`);
		if (p.kind === "text" && length > max)
			throw new directory.Problem(`parameter ${p.name}: must have at most ${max} characters; got ${length}`);
		return p.kind === "decimal" ? columns.canonical(v) : p.kind === "integer" ? String(Number(v))
			: isOther(p, v) ? spelled[p.name][v] : v;
	};

	return async (wanted) => {
		const values = new Map(params.map((p) => {
			const v = wanted.getAll(p.name).find((v) => v !== "");
			return [p.name, v === undefined ? p.default ?? "" : check(p, v)];
		}));
		const n = (await load("v1/terms.json", (file) => JSON.parse(file).data)).services;
		const reader = columns.newReader(localTables, text, n, load, { built });
		const request = { omit, params, value: (name) => values.get(name) };
		const { rows, meta } = await results.page(localTables, request, reader);
		return { data: rows.map((row) => JSON.parse(row)), meta: JSON.parse(meta) };
	};
};
