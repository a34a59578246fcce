// Package directory judges all services together: their statistics, the picks of each category, what public sources list,
// and what facilitators announce. Its functions are pure.
//
// It judges no single service, and must never know a database or a clock.
package directory
