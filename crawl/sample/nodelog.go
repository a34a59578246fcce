package sample

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/creachadair/jrpc2"
)

// filter is the parameter of eth_getLogs.
type filter struct {
	FromBlock json.RawMessage   `json:"fromBlock"`
	ToBlock   json.RawMessage   `json:"toBlock"`
	BlockHash string            `json:"blockHash"`
	Address   oneOrMore         `json:"address"`
	Topics    []json.RawMessage `json:"topics"`
}

// oneOrMore is a string or a list of strings.
type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		if one != "" {
			*o = oneOrMore{one}
		}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(o))
}

// any reports whether o contains text or is empty.
func (o oneOrMore) any(text string) bool {
	return len(o) == 0 || slices.ContainsFunc(o, func(s string) bool { return strings.EqualFold(s, text) })
}

func (n *node) logs(params []json.RawMessage) (any, error) {
	now := n.now()
	var f filter
	if err := json.Unmarshal(params[0], &f); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "invalid filter: %v", err)
	}
	topics := make([]oneOrMore, len(f.Topics))
	for i, raw := range f.Topics {
		if err := json.Unmarshal(raw, &topics[i]); err != nil {
			return nil, jrpc2.Errorf(jrpc2.InvalidParams, "invalid topic %d", i)
		}
	}
	first, last, err := n.span(f, now)
	if err != nil {
		return nil, err
	}
	wanted := func(l *logJSON) bool {
		if !f.Address.any(l.Address) || len(l.Topics) < len(topics) {
			return false
		}
		for i, t := range topics {
			if !t.any(l.Topics[i]) {
				return false
			}
		}
		return true
	}
	list := []*logJSON{}
	block, hash, index, firstLog := int64(-1), "", 0, 0
	for _, t := range n.chain.sent(first, last, now) {
		if t.block != block {
			block, hash, index, firstLog = t.block, n.chain.hash(t.block, n.chain.branch(t.block, now)), 0, 0
		}
		logs := n.placed(t, index, firstLog, hash)
		for _, l := range logs {
			if wanted(l) {
				list = append(list, l)
			}
		}
		index, firstLog = index+1, firstLog+len(logs)
	}
	return list, nil
}

// span returns the range of blocks of a filter.
func (n *node) span(f filter, now time.Time) (first, last int64, err error) {
	if f.BlockHash != "" {
		block, ok := n.chain.blockByHash(f.BlockHash, now)
		if !ok {
			return 0, 0, jrpc2.Errorf(-32000, "unknown block")
		}
		return block, block, nil
	}
	first, last = n.chain.head(now), n.chain.head(now)
	var beyond bool
	for raw, to := range map[*json.RawMessage]*int64{&f.FromBlock: &first, &f.ToBlock: &last} {
		if len(*raw) == 0 {
			continue
		}
		var past bool
		if *to, past, err = n.number(*raw, now); err != nil {
			return 0, 0, err
		}
		beyond = beyond || past
	}
	switch {
	case first > last:
		return 0, 0, jrpc2.Errorf(jrpc2.InvalidParams, "invalid block range params")
	case beyond:
		return 0, 0, jrpc2.Errorf(-32000, "block range extends beyond current head block")
	case last-first >= maxRange:
		return 0, 0, jrpc2.Errorf(codeRange, "eth_getLogs is limited to a 10,000 range")
	}
	return first, last, nil
}
