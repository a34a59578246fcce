// Ranks services for one need as package search does, for the worker and for the script of a page. It needs search.js and
// columns.js. Terms and scores are tenths, all numbers are whole and below 2^53.
const newRanking = (tables) => {
	"use strict";
	const { formula } = tables;

	// factOf returns the value of a column as a fact; null for a number or text that is not known.
	function factOf(type, value) {
		if (type === "boolean") return value === "true";
		return value !== null && type === "number" ? Number(value) : value;
	}

	// candidateOf returns the name of a row's service and its endpoints, with the number of words that each matches.
	function candidateOf(row, found) {
		const { name, base_url } = JSON.parse(`{${row.item}}`);
		const endpoints = JSON.parse(row.endpoints).map((e) => ({
			...e,
			url: base_url + e.path,
			prices: e.prices_usd ?? (e.price_usd === null ? {} : Object.fromEntries(e.networks.map((n) => [n, e.price_usd]))),
			matches: found ? found.count(e.path, e.description ?? "") : 0,
		}));
		return { name, endpoints };
	}

	// rank ranks the services that match a request. Facts and endpoints have the members of rankingFacts and rankingEndpoint
	// of package search. read returns the name and the endpoints of services.
	async function rank(wanted, facts, now, read) {
		const r = { wanted, now, weights: formula.weights[wanted.prefer], median: null, votes: 0, next: 0 };
		Object.assign(r, { candidates: [], excluded: [], found: [] });
		for (const f of facts) {
			const [code, reason] = excludeFacts(f, wanted, now);
			if (code) r.excluded.push({ f, code, reason });
			else r.candidates.push({ f, price: f.dearest_usd });
		}
		const votes = new Map();
		for (const { f, price } of r.candidates) {
			if (price === null || columns.decimals(price, formula.least_plausible_usd) < 0) continue;
			const operator = f.operator || f.slug;
			if (!votes.has(operator) || columns.decimals(price, votes.get(operator)) > 0) votes.set(operator, price);
		}
		r.votes = votes.size;
		if (r.votes > 0) r.median = medianOf([...votes.values()].sort(columns.decimals));
		for (const c of r.candidates) Object.assign(c, scoreOf(r, c.f, termsOf(r, c.f, c.price)));
		r.candidates.sort(byScore);
		for (;;) {
			const to = Math.min(r.candidates.length, formula.max_read, r.next + 2 * wanted.limit - r.found.length);
			if (to <= r.next) break;
			const batch = r.candidates.slice(r.next, to);
			const services = await read(batch.map((c) => c.f));
			batch.forEach((c, i) => addCandidate(r, c, services[i]));
			r.next = to;
		}
		r.found.sort(byScore);
		r.excluded.sort((a, b) => b.f.relevance - a.f.relevance || columns.order(a.f.slug, b.f.slug));
		return r;
	}

	// recommend returns the recommendations of a ranking, and the meta of the response of /v1/best.
	const recommend = (r) => [r.found.slice(0, r.wanted.limit).map((f) => recommendation(r, f)), rankingMeta(r)];

	// readFacts returns the facts of the services at places. found is what their texts match, null without a text.
	async function readFacts(reader, wanted, places, found) {
		const facts = places.map((place) => ({ place, slug: reader.slugAt(place), relevance: 0 }));
		for (const name of formula.fact_columns) {
			const column = await reader.column(name);
			for (const f of facts) f[name] = factOf(tables.columns[name], columns.valueAt(column, f.place));
		}
		const prices = await reader.column("prices_usd");
		const dearest = await reader.column("dearest_usd");
		const relevance = new Map(found?.hits.map(({ place, score }) => [place, found.relevance(score)]));
		for (const f of facts) {
			f.price = columns.valueAt(prices, f.place, wanted.network);
			f.dearest_usd = columns.highestAt(dearest, f.place, wanted.network);
			f.checks_30d ??= 0;
			f.relevance = relevance.get(f.place) ?? 0;
		}
		return facts;
	}

	// rankPlaces ranks the services at places.
	async function rankPlaces(reader, wanted, places, found) {
		wanted = { ...wanted, full_relevance: found ? formula.complete_match : 0 };
		const facts = await readFacts(reader, wanted, places, found);
		return rank(wanted, facts, await reader.built(), async (batch) =>
			(await reader.rows(batch.map((f) => f.place))).map((row) => candidateOf(row, found)),
		);
	}

	// orderOf returns the places of all services of a ranking: those that it recommends, those whose endpoints it did not
	// read, and those that it excludes.
	const orderOf = (r) => [...r.found, ...r.candidates.slice(r.next), ...r.excluded].map(({ f }) => f.place);

	// reasonOf returns why a service has its place. row is the row of the service.
	function reasonOf(r, place, row, found) {
		const unread = r.candidates.slice(r.next).find(({ f }) => f.place === place);
		if (unread) addCandidate(r, unread, candidateOf(row, found));
		const match = r.found.find(({ f }) => f.place === place);
		if (match) return whyOf(r, match);
		return `Not recommended: ${r.excluded.find(({ f }) => f.place === place).reason}.`;
	}

	const comparePrices = (a, b) => columns.nullsLast(a, b, columns.decimals);
	const byScore = (a, b) =>
		b.score - a.score || b.uncapped - a.uncapped || comparePrices(a.price, b.price) || columns.order(a.f.slug, b.f.slug);

	// ---- exclusions ----

	function excludeFacts(f, w, now) {
		if (f.risk_level === "danger") return ["danger", "its risk level is danger"];
		if (f.status === "offline") return ["offline", "it is offline"];
		if (f.status === "unknown") return ["stale", "its status is unknown: no recent check was conclusive"];
		if (f.last_success_at === null) return ["stale", "it never answered with usable payment terms"];
		if (now - Date.parse(f.last_success_at) >= formula.stale_after_ms)
			return ["stale", "its last usable payment terms are 7 days old or older"];
		if (!f.payment_ready) return ["unpayable", "it is not payment ready: a payment might be lost"];
		if (w.require_verified && !f.verified) return ["unverified", "it is not verified now, which the request requires"];
		return excludePrice(f.price, w, "it", "costs at least");
	}

	function excludePrice(price, w, subject, costs) {
		const most = w.max_price_usd;
		if (most === null) return ["", ""];
		if (price === null) return ["no_price", `${subject} has no known price in dollars${onNetwork(w.network)}`];
		if (columns.decimals(price, most) <= 0) return ["", ""];
		return ["too_expensive", `${subject} ${costs} $${price}${onNetwork(w.network)}, above $${most}`];
	}

	const onNetwork = (network) => (network === "" ? "" : " on " + network);

	// conditionOf returns what a buyer needs first for the price of a choice, null for nothing.
	const conditionOf = ({ endpoint, price, network }) => price === null ? null : endpoint.price_conditions?.[network] ?? null;

	// compareDearest orders the highest price first, of equal prices those without a condition, and unknown prices last.
	const compareDearest = (a, b) =>
		a.price === null || b.price === null
			? comparePrices(a.price, b.price)
			: columns.decimals(b.price, a.price) || (conditionOf(a) !== null) - (conditionOf(b) !== null);

	// addCandidate recommends the dearest endpoint of those that match the request best, or excludes the candidate.
	function addCandidate(r, c, { name, endpoints }) {
		const most = Math.max(0, ...endpoints.map((e) => e.matches));
		const f = { f: c.f, name, endpoint: null, price: null, network: "" };
		let furthest = -1;
		let [code, reason] = ["unpayable", "it has no active endpoint"];
		const passed = formula.endpoint_codes.length;
		for (const e of endpoints.filter((e) => e.matches === most)) {
			const [price, network] = lowestPrice(e, r.wanted.network);
			const [is, why] = excludeEndpoint(e, price, r.wanted);
			const step = is === "" ? passed : formula.endpoint_codes.indexOf(is);
			const chosen = { endpoint: e, price, network };
			if (step === passed && (furthest < passed || compareDearest(chosen, f) < 0)) Object.assign(f, chosen);
			if (step > furthest) [furthest, code, reason] = [step, is, why];
		}
		if (code !== "") {
			r.excluded.push({ f: c.f, code, reason });
			return;
		}
		const terms = termsOf(r, c.f, f.price);
		if (r.wanted.full_relevance > 0 && f.endpoint.matches === 0 && endpoints.length > 1)
			terms.relevance = divide(terms.relevance * formula.general_match, 100);
		r.found.push(Object.assign(f, scoreOf(r, c.f, terms)));
	}

	function excludeEndpoint(e, price, w) {
		const endpoint = "its endpoint for this";
		if (w.network !== "" && !e.networks.includes(w.network))
			return ["other_network", `${endpoint} does not accept payment on ${w.network}`];
		if (w.network === "" && e.testnet) return ["other_network", endpoint + " accepts payment on test networks only"];
		if (w.method !== "" && e.method !== w.method)
			return ["other_method", `${endpoint} does not have the method ${w.method}`];
		if (!e.payable) return ["unpayable", endpoint + " cannot be paid by a standard client"];
		return excludePrice(price, w, endpoint, "costs");
	}

	function lowestPrice(e, network) {
		if (network !== "") return [Object.hasOwn(e.prices, network) ? e.prices[network] : null, network];
		const needs = (of) => (e.price_conditions?.[of] ? 1 : 0);
		const [first] = Object.entries(e.prices).sort(
			([a, p], [b, q]) =>
				needs(a) - needs(b) || columns.decimals(p, q) || columns.order(a, b),
		);
		return first ? [first[1], first[0]] : [null, e.networks[0] ?? ""];
	}

	// ---- scores ----

	// divide returns a/b rounded to a whole number, halves up.
	const divide = (a, b) => Math.floor((2 * a + b) / (2 * b));
	const tenths = (n) => n / 10;
	const limited = (n, least, most) => Math.min(Math.max(n, least), most);

	// ageOf returns the minutes since the last usable payment terms.
	const ageOf = (f, now) =>
		f.last_success_at === null
			? formula.recency_window
			: Math.floor(Math.max(now - Date.parse(f.last_success_at), 0) / 60000);

	function termsOf(r, f, price) {
		const full = formula.full;
		const complete = r.wanted.full_relevance;
		return {
			relevance: complete <= 0 ? full : Math.min(divide(full * f.relevance, complete), full),
			reliability: reliabilityTerm(f, r.weights.speed_share),
			compliance: formula.grade_term[f.grade] ?? 0,
			price: priceTerm(price, r.median),
			traction: tractionTerm(f),
			recency: full - divide(full * Math.min(ageOf(f, r.now), formula.recency_window), formula.recency_window),
		};
	}

	function scoreOf(r, f, terms) {
		let measured = 0;
		for (const [name, term] of Object.entries(terms)) measured += (r.weights[name] ?? 0) * term;
		const uncapped = divide(measured * terms.relevance, 100 * formula.full);
		const score = Math.min(uncapped, formula.grade_cap[f.grade] ?? 0, formula.risk_cap[f.risk_level] ?? 0);
		return { terms, score, uncapped };
	}

	function reliabilityTerm(f, speedShare) {
		let [uptime, speed] = [0, 0];
		if (f.uptime_30d !== null) {
			const checks = Math.min(f.checks_30d, 1000000);
			uptime = limited(Math.round(f.uptime_30d * 100) - formula.uptime_zero, 0, formula.full);
			uptime = divide(uptime * checks, checks + formula.uptime_doubt);
		}
		if (f.response_p95_ms !== null)
			speed = divide(formula.full * formula.speed_half, formula.speed_half + limited(f.response_p95_ms, 0, 1000000));
		return divide(uptime * (100 - speedShare) + speed * speedShare, 100);
	}

	// medianOf returns the price in the middle of sorted ones, of an even number the mean of the two in the middle, as
	// site.Median does.
	function medianOf(prices) {
		const [low, high] = [prices[Math.floor((prices.length - 1) / 2)], prices[Math.floor(prices.length / 2)]];
		if (low === high) return low;
		const fraction = (price) => price.split(".")[1] ?? "";
		const decimals = Math.max(fraction(low).length, fraction(high).length);
		const units = (price) => BigInt(price.split(".")[0] + fraction(price).padEnd(decimals, "0"));
		const half = String((units(low) + units(high)) * 5n).padStart(decimals + 2, "0");
		const [whole, rest] = [half.slice(0, -decimals - 1), half.slice(-decimals - 1).replace(/0+$/, "")];
		return rest === "" ? whole : whole + "." + rest;
	}

	function priceTerm(price, median) {
		if (price === null || median === null) return 0;
		const [p, m] = [nanoDollars(price), nanoDollars(median)];
		return p === 0 ? formula.full : divide(formula.full * m, m + p);
	}

	// nanoDollars returns a price in billionths of a dollar, cut, with a limit.
	function nanoDollars(price) {
		let [whole, fraction = ""] = price.split(".");
		if (Number(whole) >= formula.max_dollars) [whole, fraction] = [String(formula.max_dollars), ""];
		return Number(whole + fraction.padEnd(formula.nano_dollars, "0").slice(0, formula.nano_dollars));
	}

	function tractionTerm(f) {
		if (f.organic_buyers_30d === null || f.organic_volume_usd_30d === null) return 0;
		const buyers = limited(f.organic_buyers_30d, 0, formula.buyers_full);
		const dollars = Math.min(Number(f.organic_volume_usd_30d.split(".")[0]), formula.dollars_full);
		const share = (n, full) => Math.floor((n * formula.full) / full);
		return Math.min(share(buyers, formula.buyers_full), share(dollars, formula.dollars_full));
	}

	// ---- the response ----

	function recommendation(r, f) {
		const { method, path, url, description } = f.endpoint;
		const terms = Object.fromEntries(Object.entries(f.terms).map(([name, n]) => [name, tenths(n)]));
		return {
			slug: f.f.slug,
			name: f.name,
			endpoint: { method, path, url, description },
			price_usd: f.price,
			price_condition: conditionOf(f),
			network: f.network,
			score: tenths(f.score),
			terms,
			why: whyOf(r, f),
		};
	}

	function rankingMeta(r) {
		const excluded = r.excluded.slice(0, formula.max_excluded);
		return {
			ranking_version: formula.version,
			prefer: r.wanted.prefer,
			weights: r.weights,
			read_as: [],
			candidates: r.candidates.length,
			median_price_usd: r.median,
			excluded_count: r.excluded.length,
			excluded: excluded.map(({ f, code, reason }) => ({ slug: f.slug, code, reason })),
		};
	}

	const countOf = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

	// whyOf returns one sentence of the figures behind a recommendation.
	function whyOf(r, found) {
		const { f, terms } = found;
		const parts = [];
		if (r.wanted.full_relevance > 0) parts.push(`matches ${tenths(terms.relevance)}% of the request`);
		if (f.uptime_30d === null) parts.push("no uptime measured yet");
		else parts.push(`${f.uptime_30d}% uptime over 30 days (${countOf(f.checks_30d, "check")})`);
		if (f.response_p95_ms !== null) parts.push(`p95 of ${f.response_p95_ms} ms`);
		parts.push("grade " + f.grade, whyPrice(r, found));
		if (f.organic_buyers_30d !== null) parts.push(countOf(f.organic_buyers_30d, "organic buyer") + " in 30 days");
		parts.push(`usable payment terms ${ageText(ageOf(f, r.now))} ago`);
		if (f.status === "degraded") parts.push("degraded now");
		const s = parts.join(", ") + whyCapped(found);
		return s[0].toUpperCase() + s.slice(1) + ".";
	}

	function whyCapped({ f, score, uncapped }) {
		if (score === uncapped) return "";
		const what = score === formula.grade_cap[f.grade] ? "the grade" : "the risk level " + f.risk_level;
		return `; ${what} limits the score to ${Math.floor(score / 10)}`;
	}

	function whyPrice(r, found) {
		const { price, network } = found;
		if (price === null) return "no known price in dollars" + onNetwork(network);
		const median = r.votes > 1 ? ` (median of ${r.votes} operators: $${r.median})` : "";
		return "$" + price + onNetwork(network) + median + (conditionOf(found) === null ? "" : " and a condition");
	}

	function ageText(minutes) {
		if (minutes < 1) return "less than a minute";
		if (minutes < 120) return countOf(minutes, "minute");
		if (minutes < 48 * 60) return countOf(Math.floor(minutes / 60), "hour");
		return countOf(Math.floor(minutes / (24 * 60)), "day");
	}

	return { rank, recommend, rankPlaces, orderOf, reasonOf };
};
