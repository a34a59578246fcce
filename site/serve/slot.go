package serve

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// maxMaking is how many responses a handler makes at the same time: reads from files, cuts out of them and compresses.
// Each takes several times the memory of a file, which holdMemory counts only once the response is made. More at
// once would make none of them earlier, because making is work for the processor.
const maxMaking = 16

// makingPatience is how long a request waits until it may make its response.
const makingPatience = 10 * time.Second

// slot is the right of a request to make its response. The request keeps it until holdMemory has counted the
// response, so that responses that wait for memory are limited, too. A nil slot limits nothing.
type slot struct {
	of   *semaphore.Weighted
	ctx  context.Context
	held bool
}

// take waits for a slot unless the request has one. It returns errSending after makingPatience.
func (s *slot) take() error {
	if s == nil || s.held {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, makingPatience)
	defer cancel()
	if s.of.Acquire(ctx, 1) != nil {
		return errSending
	}
	s.held = true
	return nil
}

// release gives the slot back.
func (s *slot) release() {
	if s.held {
		s.of.Release(1)
		s.held = false
	}
}

// makeBody is getCachedBody for a request with a slot.
func (h *handler) makeBody(s *slot, key cacheKey, make func() (*body, error)) (*body, error) {
	return getCachedBody(h.cache, key, func() (*body, error) {
		if err := s.take(); err != nil {
			return nil, err
		}
		return make()
	})
}
