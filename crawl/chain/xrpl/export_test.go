package xrpl

// LimitPages changes how many pages of one recipient a round reads.
func (x *Reader) LimitPages(n int) { x.pages = n }
