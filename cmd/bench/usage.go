package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticks is the number of clock ticks a second in /proc.
const ticks = 100

// selfCPU returns the processor time of this process in seconds, without its children.
func selfCPU() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// cpuOf returns the processor time of a process in seconds, including its children, also those that have ended.
func cpuOf(pid int) (float64, error) {
	for {
		children, err := childrenOf(pid)
		if err != nil {
			return 0, err
		}
		sum, err := readTicks(pid, 11, 15) // utime, stime, cutime, cstime
		if err != nil {
			return 0, err
		}
		for _, child := range children {
			n, err := readTicks(child, 11, 13)
			if err != nil {
				break // it has ended meanwhile
			}
			sum += n
		}
		// A child that ended between the reads would count twice or not at all.
		if after, err := childrenOf(pid); err != nil || slices.Equal(after, children) {
			return float64(sum) / ticks, err
		}
	}
}

func childrenOf(pid int) (list []int, err error) {
	name := fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid)
	children, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for _, field := range strings.Fields(string(children)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		list = append(list, child)
	}
	return list, nil
}

// readTicks returns the sum of fields of a process's stat file, counted after the name.
func readTicks(pid, from, to int) (sum int64, err error) {
	name := fmt.Sprintf("/proc/%d/stat", pid)
	stat, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])) // the name may contain any byte
	if len(fields) < to {
		return 0, fmt.Errorf("%s ends early", name)
	}
	for _, field := range fields[from:to] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", name, err)
		}
		sum += n
	}
	return sum, nil
}

// postmaster returns the process of the Postgres server whose data folder is dir.
func postmaster(dir string) (int, error) {
	b, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0, fmt.Errorf("read postmaster.pid: %w", err)
	}
	return pid, nil
}

// memoryOf returns a figure of a process's status in MB, such as VmHWM, the maximum resident memory.
func memoryOf(pid int, field string) (float64, error) {
	name := fmt.Sprintf("/proc/%d/status", pid)
	status, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			var kib float64
			if _, err := fmt.Sscan(rest, &kib); err != nil {
				return 0, fmt.Errorf("read %s of %s: %w", field, name, err)
			}
			return kib * 1024 / 1e6, nil
		}
	}
	return 0, fmt.Errorf("%s has no %s", name, field)
}
