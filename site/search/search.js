// Reads queries over files of terms, in the steps that the comment of package search describes, for the worker and for
// the script of a page. Its tables come from Go (search.NewScriptTables). It knows neither where files are stored nor
// what a page is.
const search = (() => {
	"use strict";

	// ---- words ----

	// fold returns the form in which texts are compared: NFKD without marks, in lower case.
	const fold = (s) => {
		if (/^[\0-\x7f]*$/.test(s)) return s.toLowerCase();
		let out = "";
		for (const c of s.normalize("NFKD")) if (!/\p{M}/u.test(c)) out += c === "ς" ? "σ" : c.toLowerCase();
		return out;
	};

	const unspaced = /^[ー\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]$/u;
	const isUnspaced = (c) => c.codePointAt(0) >= 0x1100 && unspaced.test(c);

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
				const is = isUnspaced(c);
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

	// ---- terms ----

	// newText returns the functions that divide texts into terms by the tables.
	const newText = (tables) => {
		const stop = new Set(tables.stop), phrases = new Map(), nearStems = new Map();
		for (const { term, phrases: list } of tables.concepts)
			for (const phrase of list) {
				const stems = phrase.split("|");
				nearStems.set(term, [...(nearStems.get(term) ?? []), ...stems.map((s) => s.replace(/^to /, ""))]);
				phrases.set(stems[0], [...(phrases.get(stems[0]) ?? []), { stems, term }]);
			}
		for (const list of phrases.values()) list.sort((a, b) => b.stems.length - a.stems.length);

		const apply = (word, rule) => {
			let stem = word.slice(0, -rule.suffix.length);
			if (!word.endsWith(rule.suffix) || stem.length < rule.min) return null;
			if (rule.vowel && !/[aeiouy]/.test(stem)) return null;
			stem += rule.with;
			return rule.undouble && /([^aeiouylsz])\1$/.test(stem) ? stem.slice(0, -1) : stem;
		};
		// stem returns the part of a word that its plural, its verb and its other forms share.
		const stem = (word) => {
			if (/[^a-z]/.test(word)) return word;
			if (Object.hasOwn(tables.exceptions, word)) return tables.exceptions[word];
			for (const step of tables.rules)
				for (const rule of step) {
					const shorter = apply(word, rule);
					if (shorter === null) continue;
					word = shorter;
					break;
				}
			return word;
		};

		// split returns the words of a folded text without stop words, and the stop words.
		const split = (folded) => {
			const words = [], ignored = [], runs = wordsAndRuns(folded)[1];
			runs.forEach((run, i) => {
				const to = i > 0 && runs[i - 1] === "to", parts = [];
				for (const c of run) {
					const is = isUnspaced(c);
					if (parts.length === 0 || parts[parts.length - 1].is !== is) parts.push({ is, letters: [] });
					parts[parts.length - 1].letters.push(c);
				}
				for (const { is, letters } of parts) {
					const typed = letters.slice(0, tables.max_term).join("");
					if (stop.has(letters.join(""))) ignored.push(letters.join(""));
					else if (!is) words.push({ typed, stem: stem(typed), to });
					else letters.forEach((_, k) => {
						const pair = letters.slice(k, k + 2).join("");
						words.push({ typed: pair, stem: pair, to: false });
					});
				}
			});
			return [words, ignored];
		};

		// phrasesAt returns the phrases of concepts that begin at the word i, the longest first. skip is the place of a
		// word that is not part of the phrase, counted from i.
		const same = (w, s) => w !== undefined && s === (w.to ? "to " : "") + w.stem;
		const phrasesAt = (words, i) => (phrases.get(words[i].stem) ?? []).filter((p) =>
			p.stems.every((s, k) => k === 0 || same(words[i + k], s)));
		const spreadPhraseAt = (words, i) => (phrases.get(words[i].stem) ?? []).find((p) => p.stems.some((_, skip) =>
			skip > 0 && p.stems.every((s, k) => k === 0 || same(words[i + k + (k >= skip ? 1 : 0)], s))));

		// terms returns the terms of a text: stems of its words, and concepts of its phrases.
		const termsOf = (text) => {
			const words = split(fold(text))[0], list = words.map((w) => w.stem);
			for (let i = 0; i < words.length;) {
				const [longest] = phrasesAt(words, i), found = longest ?? spreadPhraseAt(words, i);
				if (found) list.push(found.term);
				i += longest ? longest.stems.length : 1;
			}
			return list;
		};
		const terms = (text) => {
			const list = termsOf(text);
			const parts = text.replace(/[a-z0-9](?=[A-Z])|[A-Z](?=[A-Z][a-z])/g, "$& ");
			return parts === text ? list : [...list, ...termsOf(parts).filter((t) => !list.includes(t))];
		};
		return { stem, split, phrases, phrasesAt, nearStems, terms, stop };
	};

	// ---- readings of a query ----

	const isTermLetter = (c) => c !== undefined && /[a-z0-9]/.test(c);
	// termShard returns the name of the file of several terms that a term without the mark of concepts belongs to.
	const termShard = (term) => {
		if (!isTermLetter(term[0])) return "_" + (term.codePointAt(0) & 0xff).toString(16).padStart(2, "0");
		return isTermLetter(term[1]) ? term.slice(0, 2) : term[0];
	};

	// parseTerms reads a file of terms of n services: their IDFs, places and weights.
	const parseTerms = (lines, n) => {
		const shard = new Map();
		for (const line of lines) {
			const { term, idf, gaps, weights } = JSON.parse(line), at = [];
			let place = 0, isGood = idf >= 1 && gaps.length === weights.length && !shard.has(term);
			gaps.forEach((gap, i) => {
				at.push(place += gap);
				isGood &&= place < n && gap >= (i > 0 ? 1 : 0) && weights[i] >= 1 && weights[i] <= 100;
			});
			if (!isGood) throw new Error(`the term ${term} has a wrong place or weight`);
			shard.set(term, { term, idf, at, weights });
		}
		return shard;
	};

	// edits returns every word that one edit makes of a word of the letters a-z.
	const edits = (w) => {
		const all = [];
		for (let i = 0; i <= w.length; i++) {
			if (i + 1 < w.length) all.push(w.slice(0, i) + w[i + 1] + w[i] + w.slice(i + 2));
			if (i < w.length) all.push(w.slice(0, i) + w.slice(i + 1));
			for (const c of "abcdefghijklmnopqrstuvwxyz") {
				if (i < w.length) all.push(w.slice(0, i) + c + w.slice(i + 1));
				all.push(w.slice(0, i) + c + w.slice(i));
			}
		}
		return all;
	};

	// newFind returns a function that reads a query and finds what matches it. index is the data of v1/terms.json, and
	// shard and vocabulary read the other files.
	const newFind = (text, tables, index, shard, vocabulary) => {
		const withoutMark = (term) => term.startsWith(tables.concept) ? term.slice(tables.concept.length) : term;
		const posting = async (term) => {
			const own = term.length > 2 && !/[^a-z0-9-]/.test(term) && Object.hasOwn(index.shards, term);
			const name = own ? term : termShard(withoutMark(term));
			return Object.hasOwn(index.shards, name) ? (await shard(name)).get(term) : undefined;
		};
		const postings = async (terms) => (await Promise.all(terms.map(posting))).filter((p) => p);
		const isWord = (term) => !term.includes("-");

		const readPrefix = async (prefix) => {
			if ([...prefix].length < 2) return [];
			const list = [], name = termShard(prefix), more = new Set();
			if (Object.hasOwn(index.shards, name))
				for (const p of (await shard(name)).values())
					if (p.term.startsWith(prefix) && isWord(p.term)) list.push(p);
			for (const name in index.shards)
				if (name.length > 2 && name.startsWith(prefix) && isWord(name)) more.add(name);
			for (const rule of tables.rules.flat())
				for (let n = 1; n < rule.suffix.length; n++)
					if (prefix.endsWith(rule.suffix.slice(0, n)))
						more.add(text.stem(prefix.slice(0, -n) + rule.suffix));
			for (const [first, all] of text.phrases)
				if (prefix.length > 2 && first.startsWith(prefix))
					for (const p of all) if (p.stems.length === 1) more.add(p.term);
			for (const p of await postings([...more].sort())) if (!list.some((q) => q.term === p.term)) list.push(p);
			return list;
		};

		const readWord = async (w, last) => {
			const p = await posting(w.stem);
			const list = p ? [p] : last ? await readPrefix(w.typed) : [];
			const as = p ? "exact" : list.length > 0 ? "prefix" : "unknown";
			return { reading: { words: w.typed, as }, postings: list, words: [] };
		};

		// readUnits divides words into units: the longest phrase whose concept some service has, or one word.
		const readUnits = async (words) => {
			const units = [];
			for (let i = 0; i < words.length;) {
				const phrases = text.phrasesAt(words, i);
				const found = await Promise.all(phrases.map((p) => posting(p.term)));
				const k = found.findIndex((p) => p), part = words.slice(i, i + (phrases[k]?.stems.length ?? 1));
				if (k < 0) units.push(await readWord(words[i], i === words.length - 1));
				else units.push({
					reading: { words: part.map((w) => w.typed).join(" "), as: "synonym",
						to: withoutMark(phrases[k].term).replaceAll("-", " ") },
					postings: [found[k]], words: await postings(part.map((w) => w.stem)),
				});
				i += part.length;
			}
			return units;
		};

		// correct returns the word that one edit makes of an unknown one, "" if there is none.
		const correct = (unknown, services) => {
			let best = { to: "" };
			for (const to of edits(unknown)) {
				const stem = text.stem(to), same = to[0] === unknown[0];
				const n = Object.hasOwn(services, stem) ? services[stem] : text.phrases.has(stem) ? 1 : 0;
				if (n === 0 || text.stop.has(to)) continue;
				const isBetter = same !== best.same ? same : n !== best.n ? n > best.n : to < best.to;
				if (best.to === "" || isBetter) best = { to, same, n };
			}
			return best.to;
		};

		// score adds what each service has of a unit to counts.
		const score = (t, u) => {
			const best = new Float64Array(t.n), shares = new Float64Array(t.n), named = new Float64Array(t.n);
			for (const p of u.postings)
				p.at.forEach((at, k) => { best[at] = Math.max(best[at], p.idf * p.weights[k]); });
			let all = 0;
			for (const p of u.words) {
				all += p.idf;
				p.at.forEach((at, k) => {
					shares[at] += p.idf * p.weights[k];
					named[at] += p.idf;
				});
			}
			const idf = Math.max(...u.postings.map((p) => p.idf));
			t.total += idf;
			t.ceiling += idf + Math.floor(all / 4);
			for (let i = 0; i < t.n; i++) {
				if (best[i] > 0) {
					t.scores[i] += best[i] + Math.floor(shares[i] / 4);
					t.matched[i] += 2 * idf;
					if (u.words.length > 0) t.concept[i] = 1;
				} else if (named[i] > 0 && 2 * named[i] >= all) {
					t.scores[i] += Math.floor(shares[i] / 4);
					t.matched[i] += idf;
				}
			}
		};

		// nearest returns the services that match any word of a text, or of the phrases of concepts that it names.
		const nearest = async (query, max) => {
			const [words] = text.split(fold(query)), scores = new Map(), stems = new Set();
			words.forEach((w, i) => {
				stems.add(w.stem);
				for (const { term } of text.phrasesAt(words, i))
					for (const s of text.nearStems.get(term)) stems.add(s);
			});
			for (const p of await postings([...stems]))
				p.at.forEach((at, k) => scores.set(at, (scores.get(at) ?? 0) + p.idf * p.weights[k]));
			return [...scores].sort(([a, x], [b, y]) => y - x || a - b).slice(0, max).map(([place]) => place);
		};

		// find returns how a query was read, the services that match it and its terms.
		const find = async (query) => {
			let [words, ignored] = text.split(fold(query));
			let units = await readUnits(words);
			const isWrong = ({ words, as }) =>
				as === "unknown" && !/[^a-z]/.test(words) && words.length >= tables.min_correct;
			const readings = [], unknown = new Set(units.map((u) => u.reading).filter(isWrong).map((r) => r.words));
			if (unknown.size > 0) {
				const { terms } = await vocabulary();
				words = words.map((w) => {
					const to = unknown.has(w.typed) ? correct(w.typed, terms) : "";
					if (to === "") return w;
					readings.push({ words: w.typed, as: "corrected", to });
					return { ...w, typed: to, stem: text.stem(to) };
				});
				if (readings.length > 0) units = await readUnits(words);
			}
			readings.push(...units.map((u) => u.reading), ...ignored.map((w) => ({ words: w, as: "ignored" })));
			const n = index.services, array = () => new Float64Array(n), terms = new Set(), seen = new Set(), hits = [];
			const t = { n, scores: array(), matched: array(), concept: array(), total: 0, ceiling: 0 };
			for (const u of units) {
				if (u.postings.length === 0 || seen.has(u.postings[0].term)) continue;
				seen.add(u.postings[0].term);
				score(t, u);
				for (const p of [...u.postings, ...u.words]) terms.add(p.term);
			}
			for (let place = 0; place < n; place++)
				if (t.scores[place] > 0 && (t.concept[place] || t.matched[place] >= t.total))
					hits.push({ place, score: t.scores[place] });
			hits.sort((a, b) => b.score - a.score || a.place - b.place);
			const contained = (s) => text.terms(s).filter((term) => terms.has(term));
			const matches = (s) => contained(s).length > 0;
			const count = (...texts) => new Set(texts.flatMap(contained)).size;
			const relevance = (score) => t.ceiling === 0 ? 0 : Math.floor(10 * score / t.ceiling);
			return { readings, hits, ceiling: 100 * t.ceiling, relevance, matches, count };
		};
		return Object.assign(find, { posting, nearest });
	};

	return { fold, wordsAndRuns, beginsAll, newText, parseTerms, edits, newFind };
})();
