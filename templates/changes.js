// Shows the changes of one service: the one that the address names, as /changes.html?service=acme does, or that the
// reader chooses. Without this script the page has all of them, and each service's page has its own.
(() => {
	"use strict";
	const select = document.querySelector(".by-service select");
	if (!select) return; // an empty directory, or a template of the operator's
	const show = (slug) => {
		for (const row of document.querySelectorAll("[data-of]")) row.hidden = slug !== "" && row.dataset.of !== slug;
		for (const day of document.querySelectorAll(".day"))
			day.hidden = !day.querySelector("[data-of]:not([hidden])");
	};
	const chosen = () => new URLSearchParams(location.search).get("service") ?? "";
	const read = () => {
		select.value = chosen();
		if (select.selectedIndex < 0) select.value = ""; // none of its changes is on the page
		show(select.value);
	};
	select.addEventListener("change", () => {
		const address = new URL(location.href);
		address.searchParams.delete("service");
		if (select.value) address.searchParams.set("service", select.value);
		history.replaceState(null, "", address);
		show(select.value);
	});
	addEventListener("pageshow", read);
	read();
})();
