// Package templates holds what pages look like: HTML templates, the stylesheet and the icon, embedded. Package
// render fills them; they have no logic and do not depend on the source of a value.
package templates

import "embed"

// FS contains the files by name:
//   - layout.html and parts.html are part of every page;
//   - each other .html file is a page and defines "main"; form.html has the parts of pages that the response to a form
//     replaces, and searchresults.html the part of search.html that serve fills;
//   - the .css files are one stylesheet, which begins with the tokens in site.css; cells.js, find.js, searchfield.js
//     and call.js are one script of all pages, submit.js, compare.js, search.js, chart.js, changes.js and request.js
//     those of some pages;
//   - markdown/ has text/templates of the pages that exist as Markdown too, and of llms.txt;
//   - pages/ has the guides in Markdown;
//   - proofs/ has the published figures as SQL;
//   - fonts/ has the typeface of headings and figures, the latin subset of one weight, with its licence.
//
//go:embed *.html *.js *.css favicon.svg pages/*.md pages/operations/*.md markdown/*.md proofs/*.sql fonts/*
var FS embed.FS
