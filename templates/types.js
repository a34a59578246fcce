// Opens the type that the address names. On the page of all types, it goes on to the page with its fields.
(() => {
	"use strict";
	const open = () => {
		const part = document.getElementById(decodeURIComponent(location.hash.slice(1)));
		if (part?.matches(".type-list a")) location.replace(part.href);
		if (part?.matches("details")) {
			part.open = true;
			part.scrollIntoView();
		}
	};
	addEventListener("hashchange", open);
	open();
})();
