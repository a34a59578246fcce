package run

import "time"

// Now is the clock of all commands. A test sets it before a command starts, so that a year passes within an hour.
// Durations of requests and pauses between them are of the machine's clock.
var Now = time.Now
