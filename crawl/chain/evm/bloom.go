package evm

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"golang.org/x/crypto/sha3"

	"tollbook/crawl/chain"
)

// emptyBlocks returns blocks of the range without events: all of a short range, some of a long one, spread evenly.
func (r *rangeReader) emptyBlocks() (list []int64) {
	count := r.last - r.first + 1
	step := max(1, count/bloomChecks)
	for number := r.last; number >= r.first && len(list) < bloomChecks; number -= step {
		_, hit := slices.BinarySearchFunc(r.blocks, number,
			func(b blockEvents, n int64) int { return cmp.Compare(r.events[b.from].block, n) })
		if !hit {
			list = append(list, number)
		}
	}
	return list
}

// checkEmpty asks again for each block without events whose Bloom filter says that it might have some. A log that
// appears now was missing from the range's answer. This detects a node that truncates answers silently.
func (r *rangeReader) checkEmpty(ctx context.Context, blocks []int64) error {
	if len(blocks) == 0 || r.first == r.last {
		return nil
	}
	filters := []filter{{contracts: r.x.contracts, topics: r.ownTopics()}, contractEvents}
	q := chain.Question{Source: r.answeredBy}
	for _, number := range blocks {
		for i := range filters {
			q.Calls = append(q.Calls, chain.Call{Method: "eth_getLogs", Params: filters[i].params(number, number)})
		}
	}
	missing := false
	q.Read = func(from int, calls []chain.Call) error {
		for i := range calls {
			s := chain.NewScanner(calls[i].Result)
			list := readEvents(s, nil)
			if err := s.End(); err != nil {
				return err
			}
			for j := range list {
				number := blocks[(from+i)/len(filters)]
				if !filters[(from+i)%len(filters)].matches(&list[j], number, number) {
					return errors.New("the answer has a log outside the filter")
				}
			}
			missing = missing || len(list) > 0
		}
		return nil
	}
	if err := r.client.Ask(ctx, q); err != nil {
		return err
	}
	if missing {
		r.x.options.Metrics.Failure(r.x.network.ID, string(chain.KindLie))
		return errCut
	}
	return nil
}

// eventBlooms are the bits that events of some contracts set in Bloom filters.
type eventBlooms struct {
	topics, contracts []bloomBits
}

func newEventBlooms(f filter) (m eventBlooms) {
	for _, t := range f.topics {
		m.topics = append(m.topics, bloomOf(t[:]))
	}
	for _, c := range f.contracts {
		m.contracts = append(m.contracts, bloomOf(c[:]))
	}
	return m
}

func (m *eventBlooms) mayBeIn(bloom *[256]byte) bool {
	in := func(b bloomBits) bool { return b.in(bloom) }
	return slices.ContainsFunc(m.topics, in) && slices.ContainsFunc(m.contracts, in)
}

// mayContainEvents reports whether a block may contain an event that settles.
func (r *rangeReader) mayContainEvents(h *header) bool {
	return r.x.tokenBlooms.mayBeIn(&h.bloom) || r.x.contractBlooms.mayBeIn(&h.bloom) ||
		len(r.plan.marks) > 0 && r.x.memoBlooms.mayBeIn(&h.bloom)
}

func bloomOf(item []byte) (b bloomBits) {
	k := sha3.NewLegacyKeccak256()
	k.Write(item)
	sum := k.Sum(nil)
	for i := range b {
		b[i] = (uint16(sum[2*i])<<8 | uint16(sum[2*i+1])) & 2047
	}
	return b
}
