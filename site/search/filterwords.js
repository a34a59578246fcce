// Reads words of a query as filters and as the order, as filterwords.go does. It needs search.js and columns.js.
const filterWords = (() => {
	"use strict";
	const isLetters = (w) => /^[a-z]+$/.test(w);
	const blank = (text, ...spans) => {
		for (const [from, to] of spans) text = text.slice(0, from) + " ".repeat(to - from) + text.slice(to);
		return text;
	};
	const trim = (s) => s.replace(/[ \t\r\n]+/g, " ").replace(/^ +| +$/g, "");
	const escape = (s) => s.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

	// shiftPoint moves the decimal point of a number by so many places to the right, or to the left.
	const shiftPoint = (number, places) => {
		let [whole, part = ""] = number.split(".");
		for (; places < 0; places++) {
			whole = "0" + whole;
			[whole, part] = [whole.slice(0, -1), whole.slice(-1) + part];
		}
		for (; places > 0; places--) {
			part += "0";
			[whole, part] = [whole + part[0], part.slice(1)];
		}
		return columns.canonical("0" + whole + "." + part);
	};

	// newRead returns the function that reads the text of a request. reader is the result of columns.newReader.
	const newRead = async (tables, request, reader) => {
		const { params, value } = request, finder = await reader.finder(), { text } = reader;
		const paramOf = (name) => params.find((p) => p.name === name);
		const connectors = new RegExp(tables.connectors, "iu"), fillers = new RegExp(tables.fillers, "iu");
		const join = (q) => {
			for (q = trim(q); connectors.test(q);) q = trim(q.replace(connectors, ""));
			return q;
		};
		const mask = (q) => q.replace(/"[^"]*"/g, (s) => "\0".repeat(s.length));
		const spelled = {}; // values of the directory by their spellings, by the parameter
		for (const [name, all] of Object.entries(tables.spellings)) {
			const { values } = await reader.column(paramOf(name).column);
			spelled[name] = Object.fromEntries(Object.entries(all).filter(([, v]) => values.includes(v)));
		}
		const isGiven = (p) => value(p.name) !== (p.default ?? "");

		const valueOf = (phrase, p, m) => {
			const v = phrase.value ?? m.slice(1).find((group) => group !== undefined) ?? "";
			if (phrase.upper) return v.toUpperCase();
			if (p.kind === "decimal" || p.kind === "integer") {
				const number = shiftPoint(v, phrase.shift ?? 0);
				return p.kind === "integer" ? number?.split(".")[0] ?? null : number;
			}
			if (p.kind === "choice") return p.values.find((of) => of.toLowerCase() === v.toLowerCase()) ?? null;
			return tables.spellings[p.name]?.[v.toLowerCase()] ?? v;
		};

		// correct returns the query with words of phrases in place of words that differ in one letter.
		const correct = async (q, readings) => {
			const known = new Set(tables.words), longEnough = (w) => isLetters(w) && w.length >= tables.min_correct;
			const names = Object.keys(spelled.network ?? {}), parts = new Set(names.flatMap((s) => s.match(/[a-z]+/giu) ?? []));
			for (const w of names) if (longEnough(w)) known.add(w);
			let corrected = "", from = 0;
			for (const m of mask(q).matchAll(/[a-z]+/giu)) {
				const w = m[0].toLowerCase();
				if (!longEnough(w) || known.has(w) || parts.has(w) || text.stop.has(w) || text.phrases.has(text.stem(w))) continue;
				let to = "";
				for (const edit of search.edits(w)) {
					if (!known.has(edit)) continue;
					const same = edit[0] === w[0], was = to !== "" && to[0] === w[0];
					if (to === "" || same && !was || same === was && edit < to) to = edit;
				}
				if (to === "" || await finder.posting(text.stem(w))) continue;
				corrected += q.slice(from, m.index) + to;
				from = m.index + m[0].length;
				readings.push({ words: w, as: "corrected", to });
			}
			return corrected + q.slice(from);
		};

		// describes reports whether the words of a match say what a service does.
		const describes = async (q, masked, span) => {
			const rest = join(blank(masked.replaceAll("\0", " "), span));
			const [own] = text.split(search.fold(q.slice(...span))), [words] = text.split(search.fold(q));
			if (rest === "" || fillers.test(rest) || own.length === 0) return false;
			for (let i = 0; i < words.length; i++)
				for (const { stems, term } of text.phrasesAt(words, i)) {
					const inside = words.slice(i, i + stems.length).some((w) => w.stem === own[0].stem);
					if (stems.length > 1 && inside && await finder.posting(term)) return true;
				}
			const posting = await finder.posting(own[0].stem);
			if (!posting) return false;
			const { hits } = await finder(rest), has = new Set(posting.at);
			return hits.some(({ place }) => has.has(place));
		};

		// read returns the filters of a text and the rest of it. Without allowWeak, phrases that may also say what a service
		// does are left in the text.
		return async (given, allowWeak) => {
			const f = { rest: "", filters: [], readings: [], weak: false }, read = {}, spans = [];
			const q = await correct(trim(given), f.readings);
			let masked = mask(q);
			for (const phrase of tables.phrases) {
				const p = paramOf(phrase.name);
				if (read[p.name] || phrase.weak && !allowWeak && p.column) continue;
				let { expression } = phrase;
				if (expression.includes("%s")) {
					const names = Object.keys(spelled[p.name])
						.filter((s) => !phrase.weak || new TextEncoder().encode(s).length >= tables.min_weak)
						.sort((a, b) => new TextEncoder().encode(b).length - new TextEncoder().encode(a).length || columns.order(a, b));
					if (names.length === 0) continue;
					expression = expression.replace("%s", () => names.map(escape).join("|"));
				}
				const m = new RegExp(expression, phrase.exact ? "u" : "iu").exec(masked);
				const v = m && valueOf(phrase, p, m);
				if (v === null || v === undefined) continue;
				const span = [m.index, m.index + m[0].length];
				if (phrase.weak) {
					if (await describes(q, masked, span)) continue;
					f.weak ||= Boolean(p.column);
				}
				spans.push(span);
				masked = blank(masked, span);
				if (isGiven(p)) continue; // the request says otherwise
				read[p.name] = { words: q.slice(...span).replace(/^[ ,;.!?()]+|[ ,;.!?()]+$/g, ""), name: p.name, value: v,
					without: join(blank(q, span)) };
			}
			f.rest = join(blank(q, ...spans));
			if (spans.length > 0 && fillers.test(f.rest)) f.rest = "";
			f.filters = params.map((p) => read[p.name]).filter((r) => r);
			return f;
		};
	};

	return { newRead };
})();
