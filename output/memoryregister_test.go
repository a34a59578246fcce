package output

import (
	"context"
	"errors"
	"sync"
)

// memoryRegister keeps a record in memory. Package postgres tests the real register.
type memoryRegister struct {
	hook   func(op, name string, do func() error) error
	mu     sync.Mutex
	record Record
	locked bool
	lost   bool // the lock's connection is lost
}

func (r *memoryRegister) do(op string, do func() error) error {
	if r.hook == nil {
		return do()
	}
	return r.hook(op, "register", do)
}

func (r *memoryRegister) Lock(context.Context) (held func(context.Context) error, release func(), err error) {
	err = r.do("lock", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.locked {
			return ErrBusy
		}
		r.locked = true
		return nil
	})
	if err != nil {
		r.unlock() // ends the connection in every case
		return nil, nil, err
	}
	held = func(context.Context) error {
		return r.do("held", func() error {
			if r.lost {
				return errors.New("connection lost")
			}
			return nil
		})
	}
	return held, r.unlock, nil
}

func (r *memoryRegister) unlock() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.locked = false
}

func (r *memoryRegister) Read(context.Context) (record Record, err error) {
	err = r.do("read", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		record = r.record
		return nil
	})
	return record, err
}

func (r *memoryRegister) Replace(_ context.Context, was int64, next Record) error {
	return r.do("replace", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.record.Generation != was {
			return ErrConflict
		}
		r.record = next
		return nil
	})
}
