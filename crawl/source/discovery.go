package source

// readDiscovery reads a page of a facilitator's /discovery/resources.
func readDiscovery([]byte) (Page, error) { return Page{}, ErrShape }
