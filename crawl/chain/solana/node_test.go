package solana_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"reflect"
	"slices"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres/ledger"
)

const ausdMint = "AUSD1jCcCyPLybk1YnvPWsHQSrZ46dxwoMniN4N2UEB9"

// solanaNode is a running node.
type solanaNode struct {
	*chaintest.Solana
	url string
}

func newSolanaNode(t *testing.T, transactions []chaintest.SolanaTransaction) *solanaNode {
	t.Helper()
	n := chaintest.NewSolana(transactions)
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return &solanaNode{n, server.URL}
}

// recordedSolana returns the transactions of testdata/solana.txtar, oldest first, the names of files by signature, and
// those of accounts by address.
func recordedSolana(t *testing.T) (entries []chaintest.SolanaTransaction, files map[string]string,
	names map[string]string) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/solana.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files, names = map[string]string{}, map[string]string{}
	for _, f := range archive.Files {
		if f.Name == "names.json" {
			byName := map[string]string{}
			if err := json.Unmarshal(f.Data, &byName); err != nil {
				t.Fatal(err)
			}
			for name, address := range byName {
				names[address] = name
			}
			continue
		}
		e, err := chaintest.ReadSolana(f.Data)
		if err != nil {
			t.Fatal(err)
		}
		entries, files[e.Signature] = append(entries, e), f.Name[:len(f.Name)-len(".json")]
	}
	return entries, files, names
}

// walkStore is a Store in memory: it refuses a commit if the walk has changed, and stores each settlement once.
type walkStore struct {
	mu          sync.Mutex
	walks       map[string]ledger.Walk
	settlements map[string]ledger.Settlement
	commits     []ledger.Walk
	head        ledger.Head
	refuse      func(is ledger.Walk) error // before a commit
}

func newWalkStore(settlers ...ledger.ScanSettler) *walkStore {
	s := &walkStore{walks: map[string]ledger.Walk{}, settlements: map[string]ledger.Settlement{}}
	for _, settler := range settlers {
		s.walks[settler.Address] = ledger.Walk{Settler: settler}
	}
	return s
}

func (s *walkStore) LockIndex(context.Context, string) (func(), bool, error) {
	return func() {}, true, nil
}

func (s *walkStore) SetHead(_ context.Context, h ledger.Head) error { s.head = h; return nil }

func (s *walkStore) Walks(context.Context, string) (list []ledger.Walk, err error) {
	for _, address := range slices.Sorted(maps.Keys(s.walks)) {
		list = append(list, s.walks[address])
	}
	return list, nil
}

func (s *walkStore) CommitWalk(ctx context.Context, _ string, was, is ledger.Walk,
	list []ledger.Settlement) (fresh int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.refuse != nil {
		if err := s.refuse(is); err != nil {
			return 0, err
		}
	}
	if !reflect.DeepEqual(s.walks[was.Settler.Address], was) {
		return 0, ledger.ErrMoved
	}
	for _, x := range list {
		key := fmt.Sprintf("%s/%05d", x.Transaction, x.LogIndex)
		if _, stored := s.settlements[key]; !stored {
			s.settlements[key] = x
			fresh++
		}
	}
	s.walks[is.Settler.Address] = is
	s.commits = append(s.commits, is)
	return fresh, nil
}

// amounts returns the amounts of the stored settlements in ascending order. SolanaHistory numbers them.
func (s *walkStore) amounts() (list []int) {
	for _, x := range s.settlements {
		var n int
		_, _ = fmt.Sscan(x.Amount, &n)
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}
