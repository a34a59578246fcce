// The search fields of a page. Without this script they are forms like any other. With it, services and categories are
// suggested while the reader types, in a combobox as the ARIA practices describe it; and empty fields are left out of
// the address of a search. Text that services wrote is inserted as text, never as markup.
(() => {
	"use strict";
	const { make, words } = cells;
	const maxSuggestions = 5, maxCategories = 3, pause = 150;
	const main = document.getElementById("search");
	if (!main) return; // a template of the operator's without it
	const { service } = main.dataset;

	// suggest returns the suggestions for a text: categories that begin with it, then the services that match best.
	const suggest = async (text, form, signal) => {
		const wanted = new URLSearchParams({ q: text, per_page: maxSuggestions, include: "facets", read_filters: "true" });
		const { data, meta } = await directory.find(wanted, signal);
		const begins = (name) => name.toLowerCase().split(/[^\p{L}\p{N}]+/u)
			.some((word) => word.startsWith(text.toLowerCase()));
		const categories = Object.keys(meta.facets?.category ?? {}).filter(begins).slice(0, maxCategories);
		return [
			...categories.map((name) => ({
				text: words(name, 32), kind: "category",
				href: form.getAttribute("action") + "?" + new URLSearchParams({ category: name }),
			})),
			...data.map((s) => ({
				text: words(s.name, 100) || s.slug, kind: words(s.category, 32),
				level: cells.isAdvised(s.advice_level) ? s.endpoints[0]?.verdict ?? s.advice_level : s.advice_level,
				price: cells.isAdvised(s.advice_level) && s.endpoints[0] ? s.endpoints[0].price_usd : null,
				href: service.replace("_.html", encodeURIComponent(s.slug) + ".html"),
			})),
		].slice(0, maxSuggestions);
	};

	const addSuggestions = (form) => {
		const input = form.elements.q, id = input.id + "-list";
		const list = make("ul", { id, role: "listbox", "aria-label": "Suggestions", class: "suggestions", hidden: "" });
		const said = make("span", { class: "hidden", role: "status" });
		for (const [name, value] of Object.entries({
			role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": id,
		})) input.setAttribute(name, value);
		form.append(list, said);
		let timer = 0, call = null, active = -1;

		const options = () => [...list.children];
		const activate = (at) => {
			active = at;
			options().forEach((o, i) => o.setAttribute("aria-selected", String(i === at)));
			if (at < 0) input.removeAttribute("aria-activedescendant");
			else {
				input.setAttribute("aria-activedescendant", options()[at].id);
				options()[at].scrollIntoView({ block: "nearest" });
			}
		};
		const show = (found) => {
			list.replaceChildren(...found.map(({ text, kind, level, price, href }, i) => {
				const option = make("li", {
					id: id + "-" + i, role: "option", "aria-selected": "false", "data-href": href,
				}, make("bdi", {}, text), " ", make("small", {}, make("bdi", {}, kind)));
				if (typeof price === "string") option.append(" ", make("strong", {}, cells.dollars(price)));
				if (level) option.append(" ", cells.adviceMark(level));
				option.addEventListener("mousedown", (e) => e.preventDefault()); // the field stays focused
				option.addEventListener("click", () => location.assign(href));
				return option;
			}));
			list.hidden = found.length === 0;
			input.setAttribute("aria-expanded", String(!list.hidden));
			said.textContent = found.length === 0 ? ""
				: found.length + (found.length === 1 ? " suggestion" : " suggestions");
			activate(-1);
		};
		const close = () => {
			clearTimeout(timer);
			call?.abort();
			show([]);
		};
		const load = async () => {
			const text = input.value.trim();
			if ([...text].length < 2) return close();
			const mine = call = new AbortController();
			try {
				const found = await suggest(text, form, mine.signal);
				if (call === mine && !mine.signal.aborted) show(found);
			} catch {
				if (call === mine) show([]); // the field still works as a form
			}
		};
		input.addEventListener("input", () => {
			clearTimeout(timer);
			call?.abort();
			timer = setTimeout(load, pause);
		});
		input.addEventListener("keydown", (e) => {
			const n = list.hidden ? 0 : list.children.length;
			if (e.key === "Escape" && n > 0) close();
			else if (e.key === "Enter" && active >= 0) location.assign(options()[active].dataset.href);
			else if (e.key === "ArrowDown" && n > 0) activate(active + 1 < n ? active + 1 : -1);
			else if (e.key === "ArrowUp" && n > 0) activate(active < 0 ? n - 1 : active - 1);
			else return;
			e.preventDefault();
		});
		input.addEventListener("blur", close);
	};

	for (const form of document.querySelectorAll("form.search")) {
		addSuggestions(form);
		form.addEventListener("formdata", (e) => {
			for (const [name, value] of [...e.formData]) if (value.trim() === "") e.formData.delete(name);
		});
	}

	// The key "/" goes to the search field, unless the reader writes somewhere.
	document.addEventListener("keydown", (e) => {
		if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea")) return;
		e.preventDefault();
		document.getElementById("search-words").focus();
	});
})();
