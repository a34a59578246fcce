// Formats table cells as package render does, for the scripts of pages. Text that services wrote is inserted as text,
// never as markup.
const cells = (() => {
	"use strict";
	const make = (tag, attributes = {}, ...inside) => {
		const e = document.createElement(tag);
		for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
		e.append(...inside);
		return e;
	};
	// words removes invisible characters and those that reverse text, as display.Line does.
	const words = (text, limit) => {
		const all = [...String(text)
			.replace(/\s+/g, " ")
			.replace(/[\p{Cc}\p{Co}\p{Cn}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu, "")
			.trim()];
		return all.length > limit ? all.slice(0, limit).join("").trimEnd() + "…" : all.join("");
	};
	const group = (digits) => digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
	const count = (n) => group(String(n));
	const unknown = () => make("span", { class: "none", title: "not known" },
		make("span", { "aria-hidden": "true" }, "—"), make("span", { class: "hidden" }, "not known"));
	// decimal writes a number without an exponent, whatever its size: 1e-7 is 0.0000001.
	const decimal = (n) => {
		const [digits, exponent] = String(n).split("e");
		if (exponent === undefined) return digits;
		const [whole, frac = ""] = digits.split(".");
		const point = whole.length + Number(exponent), all = whole + frac;
		if (point <= 0) return "0." + "0".repeat(-point) + all;
		return point >= all.length ? all + "0".repeat(point - all.length)
			: all.slice(0, point) + "." + all.slice(point);
	};
	const dollars = (price) => {
		if (price === null) return unknown();
		const [whole, frac] = decimal(price).split(".");
		return "$" + group(whole) + (frac === undefined ? "" : "." + frac.padEnd(2, "0"));
	};
	// condition returns what to add to a price that needs more.
	const condition = (text) => text ? [" ", make("small", {}, words(text, 300))] : [];
	const percent = (p) => {
		if (p === null) return unknown();
		const two = Math.round(p * 100) / 100;
		return (two >= 100 && p < 100 ? 99.99 : two) + "%";
	};
	const millis = (ms) => ms === null ? unknown()
		: ms < 10000 ? group(String(ms)) + "\u00a0ms" : (ms / 1000).toFixed(1) + "\u00a0s";
	const state = (status) => {
		const known = siteTables.statuses.includes(status) ? status : siteTables.unknown;
		const mark = document.createElementNS("http://www.w3.org/2000/svg", "svg");
		mark.setAttribute("class", "mark");
		mark.setAttribute("aria-hidden", "true");
		mark.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "use"))
			.setAttribute("href", "#mark-" + known);
		return make("span", { class: "state state-" + known }, mark, known);
	};
	// verdict returns how a level of the advice is shown. Only the tables before the script know levels and their words.
	const verdict = (level) =>
		siteTables.verdicts[Object.hasOwn(siteTables.verdicts, level) ? level : siteTables.unknown];
	const isLevel = (level) => Object.hasOwn(siteTables.verdicts, level);
	// advice is display.Advice.
	const advice = (level, reason) => verdict(level).words + (reason ? ": " + words(reason, 300) : "");
	const isAdvised = (level) => verdict(level).advised;
	const adviceMark = (level, reason) =>
		make("strong", { class: "advice advice-" + words(level, 32) }, advice(level, reason));
	const chips = (codes, names) => codes.length === 0 ? unknown() :
		make("ul", { class: "chips" }, ...codes.map((code) => make("li", { title: code }, names.get(code) || code)));
	return {
		make, words, group, count, unknown, decimal, dollars, condition, percent, millis, state, advice, adviceMark,
		isAdvised, isLevel, chips,
	};
})();
