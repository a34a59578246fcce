// Package templates holds what pages look like: HTML templates, the stylesheet and the icon, embedded. It has no logic;
// package render fills it, and nothing here may know where a value comes from.
package templates

import "embed"

// FS holds the files by their name: layout.html and parts.html belong to every page, each other .html file is a page
// and defines "main" (submitform.html is the part of submit.html that answers replace); site.css and favicon.svg are
// published as they are, and so is each page's script, services.js and compare.js with cells.js before them; pages/
// holds texts in Markdown.
//
//go:embed *.html *.js site.css favicon.svg pages/*.md
var FS embed.FS
