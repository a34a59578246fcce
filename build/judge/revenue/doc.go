// Package revenue judges what settlements say: who pays whom over which network and facilitator, and what follows from a
// facilitator's sums. Its functions are pure.
//
// It must never know how settlements are read or summed, or how the revenue of a shared recipient is divided.
package revenue
