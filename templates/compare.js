// Shows two to four services side by side, from /v1/services/{slug}. The URL names them: ?a=slug&b=slug&c=slug&d=slug,
// ?services=slug,slug, or ?services[]=slug&services[]=slug, as the rows of a list that a reader ticked. In each row a
// word marks the best value.
(() => {
	"use strict";
	const { make, words, group, count, unknown, dollars, condition, percent, millis, state, chips } = cells;
	const form = document.querySelector("form.pick"), out = document.querySelector(".compared");
	const summary = document.getElementById("summary");
	if (!form || !out || !window.fetch) return;
	const most = 4, letters = ["a", "b", "c", "d"];
	const networks = new Map([...document.querySelectorAll("#networks option")].map((o) => [o.value, o.textContent]));
	const space = document.querySelector(".versus-space"), title = document.title;
	const sets = document.querySelector(".sets");
	const lists = document.querySelectorAll(".versus-space > [aria-labelledby]");
	const name = form.elements.q, found = form.querySelector(".found");
	const records = new Map(); // by slug: a service, null if it is not listed, undefined if it has not been requested
	let slugs = [], dropped = 0, timer = 0, request = null;

	const list = (v) => v || [];
	const known = (v) => v === null || v === undefined ? null : v;
	const oneOf = (v, say) => known(v) === null ? unknown() : say(v);
	const share = (v) => oneOf(v, (v) => percent(v * 100));
	const text = (s, limit) => make("bdi", {}, words(s, limit));
	const day = (at) => oneOf(at, (at) => make("time", { datetime: at },
		new Date(at).toLocaleDateString("en-GB",
			{ day: "numeric", month: "short", year: "numeric", timeZone: "UTC" })));
	const cents = (v) => oneOf(v, (v) => v === 0 || v >= .01
		? "$" + group(v.toFixed(2).split(".")[0]) + "." + v.toFixed(2).split(".")[1] : dollars(v));
	const measured = (s, v) => s.assessment.traction.status === "measured" ? known(v) : null;
	const facts = (s) => s.assessment.site;
	const yes = {
		homepage: "home page", pricing: "pricing page", terms: "terms", openapi: "OpenAPI", llms_txt: "llms.txt",
		robots: "robots.txt",
	};
	const offered = (s) => Object.entries(yes).filter(([k]) => facts(s)[k] === true).map(([, label]) => label);
	const assets = (s) => [...new Set(list(s.endpoints).flatMap((e) => list(e.pricing)
		.map((p) => p.asset_name === "UNKNOWN" ? "unrecognised token" : p.asset_name)))].sort();

	// A row has a label and a function that formats its value. If values can be better or worse, three more follow: a
	// function that returns the number to compare, a direction (-1: lowest is best, 1: highest is best) and the word
	// for the best value.
	const rows = [
		["Risk", [
			["Should I pay?", (s) => cells.adviceMark(s.assessment.advice.level,
				list(s.assessment.advice.reasons).map((r) => words(r.text, 100)).join("; "))],
			["Flags", (s) => list(s.assessment.risk.flags).length
				? make("ul", {}, ...list(s.assessment.risk.flags)
					.map((f) => make("li", {}, words(f.level, 32) + ": " + words(f.title, 100))))
				: s.assessment.risk.level === "clean" ? "no flags" : unknown(),
			(s) => s.assessment.risk.level === "clean" || list(s.assessment.risk.flags).length
				? siteTables.risks.indexOf(s.assessment.risk.level) : null, -1, "lowest risk"],
		]],
		["Availability", [
			["Status", (s) => state(s.status)],
			["Uptime, 24 hours", (s) => percent(known(s.uptime["24h"])), (s) => s.uptime["24h"], 1, "highest"],
			["Uptime, 7 days", (s) => percent(known(s.uptime["7d"])), (s) => s.uptime["7d"], 1, "highest"],
			["Uptime, 30 days", (s) => percent(known(s.uptime["30d"])), (s) => s.uptime["30d"], 1, "highest"],
			["Uptime, 90 days", (s) => percent(known(s.uptime["90d"])), (s) => s.uptime["90d"], 1, "highest"],
			["Days checked of 90", (s) => count(s.uptime.coverage["90d"].daysCovered),
				(s) => s.uptime.coverage["90d"].daysCovered, 1, "most"],
			["Average response, 24 hours", (s) => millis(known(s.avg_response_time_ms)),
				(s) => s.avg_response_time_ms, -1, "fastest"],
			["p95 response, 7 days", (s) => millis(known(s.assessment.reliability.response_p95_ms)),
				(s) => s.assessment.reliability.response_p95_ms, -1, "fastest"],
		]],
		["Price", [
			["Price from", (s) => make("span", {}, dollars(known(s.min_price_usd)), ...condition(s.price_condition)),
				(s) => s.price_condition ? null : s.min_price_usd, -1, "lowest"],
			["Price up to", (s) => dollars(known(s.assessment.economics.price_max_usd)),
				(s) => s.assessment.economics.price_max_usd, -1, "lowest"],
			["Pricing model", (s) => words(s.assessment.economics.model, 32)],
			["Price stability, 30 days", (s) => share(s.assessment.economics.stability),
				(s) => s.assessment.economics.stability, 1, "most stable"],
			["Endpoints", (s) => count(s.endpoint_count)],
			["Networks", (s) => chips(list(s.networks), networks)],
			["Assets", (s) => assets(s).length ? text(assets(s).join(", "), 100) : unknown()],
		]],
		["Trust", [
			["Conformance", (s) => list(s.assessment.compliance.checks).length
				? text(s.assessment.compliance.grade_reason.replaceAll("`", ""), 300) : unknown(),
			(s) => { const rank = "ABCDF".indexOf(s.assessment.compliance.grade); return rank < 0 ? null : rank; },
				-1, "best grade"],
			["Recipient changes, 90 days", (s) => count(list(s.pay_to_changes).length),
				(s) => list(s.pay_to_changes).length, -1, "fewest"],
			["Owner verified", (s) => s.verified ? "yes" : "no"],
			["Domain age", (s) => oneOf(s.assessment.domain.age_days, (n) => count(n) + (n === 1 ? " day" : " days")),
				(s) => s.assessment.domain.age_days, 1, "oldest"],
			["Website documents", (s) => facts(s).checked_at ? offered(s).join(", ") || "none" : unknown(),
				(s) => facts(s).checked_at ? offered(s).length : null, 1, "most"],
		]],
		["Settlements, 30 days", [
			["Volume", (s) => cents(measured(s, s.assessment.traction.volume_usd_30d)),
				(s) => measured(s, s.assessment.traction.volume_usd_30d), 1, "most"],
			["Settlements", (s) => oneOf(measured(s, s.assessment.traction.tx_count_30d), count),
				(s) => measured(s, s.assessment.traction.tx_count_30d), 1, "most"],
			["Buyers", (s) => oneOf(measured(s, s.assessment.traction.unique_buyers_30d), count),
				(s) => measured(s, s.assessment.traction.unique_buyers_30d), 1, "most"],
			["Organic volume", (s) => cents(measured(s, s.assessment.traction.organic_volume_usd_30d)),
				(s) => measured(s, s.assessment.traction.organic_volume_usd_30d), 1, "most"],
			["Organic buyers", (s) => oneOf(measured(s, s.assessment.traction.organic_buyers_30d), count),
				(s) => measured(s, s.assessment.traction.organic_buyers_30d), 1, "most"],
			["Largest buyer's share", (s) => share(measured(s, s.assessment.traction.top_buyer_share_30d)),
				(s) => measured(s, s.assessment.traction.top_buyer_share_30d), -1, "least"],
		]],
		["Listing", [
			["Listed", (s) => day(s.created_at)],
			["Last checked", (s) => day(s.last_checked_at)],
		]],
	];

	// best returns for each value whether it is the best. No value is the best if fewer than two are known or all are
	// equal.
	const best = (values, way) => {
		const there = values.filter((v) => known(v) !== null);
		const top = way < 0 ? Math.min(...there) : Math.max(...there);
		const some = there.length > 1 && there.some((v) => v !== top);
		return values.map((v) => some && v === top);
	};
	const pageOf = (slug) => form.dataset.pages.replace("_.html", encodeURIComponent(slug) + ".html");
	// label writes what is selected, before the services are loaded.
	const label = () => {
		const left = most - slugs.length;
		form.querySelector("label").firstChild.data = slugs.length === 0 ? "Add a service by name "
			: left ? "Add another service by name "
			: "Four services are the maximum. Remove one to add another. ";
		name.disabled = left === 0;
		summary.textContent = slugs.length === 0 ? ""
			: slugs.length === 1 ? "One service selected. Add another to compare."
			: "Comparing " + count(slugs.length) + " services.";
	};
	// tell adds to the summary what was asked for and cannot be shown.
	const tell = () => {
		const absent = slugs.filter((slug) => records.get(slug) === null);
		const shown = slugs.length - absent.length;
		const lines = absent.map((slug) => "No service has the address “" + words(slug, 80) + "”.");
		if (dropped > 0) lines.unshift("Four services are the maximum; the others are left out.");
		if (shown === 1) lines.unshift("One service selected. Add another to compare.");
		else if (shown > 1) lines.unshift("Comparing " + count(shown) + " services.");
		summary.textContent = lines.join(" ");
	};
	const draw = () => {
		const shown = slugs.map((slug) => [slug, records.get(slug)]).filter(([, s]) => s !== null);
		tell();
		const services = shown.filter(([, s]) => s);
		const head = make("tr", { role: "row" }, make("td", { role: "cell", class: "corner" }));
		for (const [slug, s] of shown) {
			const drop = make("button", { type: "button" }, "Remove",
				make("span", { class: "hidden" }, " " + (s ? words(s.name, 100) || slug : slug)));
			drop.addEventListener("click", () => choose(slugs.filter((other) => other !== slug)));
			const lead = s ? make("a", { href: pageOf(slug) }, text(s.name, 100)) : make("bdi", {}, slug);
			if (s && !lead.textContent) lead.append(slug);
			const category = s ? text(s.category, 32) : "not available right now";
			head.append(make("th", { role: "columnheader", scope: "col" }, lead,
				make("span", { class: "quiet" }, category), drop));
		}
		const table = make("table", { role: "table", class: "versus versus-" + shown.length },
			make("caption", { class: "hidden" }, "Services side by side"),
			make("thead", { role: "rowgroup" }, head));
		for (const [heading, lines] of services.length ? rows : []) {
			const part = { role: "rowheader", scope: "rowgroup", colspan: shown.length + 1, class: "part" };
			const body = make("tbody", { role: "rowgroup" }, make("tr", { role: "row" }, make("th", part, heading)));
			for (const [label, say, value, way, word] of lines) {
				const marks = value ? best(shown.map(([, s]) => s ? value(s) : null), way) : [];
				const line = make("tr", { role: "row" }, make("th", { role: "rowheader", scope: "row" }, label));
				shown.forEach(([, s], i) => {
					const cell = make("td", { role: "cell" }, s ? say(s) : unknown());
					if (marks[i]) {
						cell.classList.add("won");
						cell.append(" ", make("span", { class: "best" }, word));
					}
					line.append(cell);
				});
				body.append(line);
			}
			table.append(body);
		}
		out.replaceChildren(...(shown.length ? [table] : []));
		out.hidden = shown.length === 0;
		for (const e of lists) e.hidden = e === sets && shown.length > 0;
		document.title = services.length
			? services.map(([slug, s]) => words(s.name, 48) || slug).join(", ") + " compared" : title;
	};
	const read = async (slug) => {
		try {
			const answer = await fetch(form.dataset.records.replace("_.json", encodeURIComponent(slug) + ".json"));
			if (answer.status === 404) records.set(slug, null);
			else if (answer.ok) records.set(slug, (await answer.json()).data);
		} catch {
			// The record stays unknown; the next choice requests it again.
		}
	};
	const choose = async (wanted, keep) => {
		const all = [...new Set(wanted)];
		slugs = all.slice(0, most);
		dropped = all.length - slugs.length;
		const query = slugs.map((slug, i) => letters[i] + "=" + encodeURIComponent(slug)).join("&");
		if (!keep) history.replaceState(null, "", query ? "?" + query : location.pathname);
		const now = slugs;
		label();
		await Promise.all(now.filter((slug) => !records.get(slug)).map(read));
		if (now === slugs) draw();
	};

	const add = async (slug) => {
		name.value = "";
		found.replaceChildren();
		await choose([...slugs, slug]);
		name.focus();
	};
	// search offers the services that match, or adds the one that is meant: that of this name, or the first.
	const search = async (isMeant) => {
		if (request) request.abort();
		const q = name.value.trim(), call = request = new AbortController();
		if (!q) return found.replaceChildren();
		try {
			const query = new URLSearchParams({ q, per_page: 8 });
			const answer = await fetch(form.getAttribute("action") + "?" + query, { signal: call.signal });
			if (!answer.ok) throw new Error(answer.status);
			const { data } = await answer.json();
			const others = data.filter((s) => !slugs.includes(s.slug));
			const meant = others.find((s) => s.name.toLowerCase() === q.toLowerCase() || s.slug === q) ?? others[0];
			if (isMeant && meant) return await add(meant.slug);
			const offers = others.map((s) => {
				const button = make("button", { type: "button" }, text(s.name, 100), " ",
					make("small", {}, text(s.category, 32)));
				button.addEventListener("click", () => add(s.slug));
				return make("li", {}, button);
			});
			if (offers.length === 0) offers.push(make("li", { class: "quiet" }, "No other services match."));
			found.replaceChildren(...offers);
		} catch (e) {
			if (e.name === "AbortError") return;
			found.replaceChildren(make("li", { class: "quiet" },
				"Search is not available right now. Open a service's page and use its compare link."));
		}
	};
	form.addEventListener("submit", (e) => {
		e.preventDefault();
		clearTimeout(timer);
		search(true);
	});
	name.addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(() => search(false), 150);
	});
	for (const link of document.querySelectorAll(".sets a")) {
		link.addEventListener("click", (e) => {
			if (e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
			e.preventDefault();
			choose([...new URL(link.href).searchParams.values()]);
			scrollTo(0, 0);
		});
	}
	const given = new URLSearchParams(location.search);
	const asks = [...letters.flatMap((l) => given.getAll(l)), ...given.getAll("services").join(",").split(","),
		...given.getAll("services[]")]
		.map((slug) => slug.trim());
	for (const e of document.querySelectorAll(".scripted")) e.hidden = false;
	document.querySelector(".unscripted").hidden = true;
	// The lists below the table are hidden until it is complete, so that it does not move them.
	if (space && asks.some(Boolean)) {
		space.dataset.asked = "";
		for (const e of lists) e.hidden = true;
	}
	choose(asks.filter((slug) => /^[a-z0-9]([a-z0-9-]{0,78}[a-z0-9])?$/.test(slug)), true);
})();
