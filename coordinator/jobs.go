package coordinator

import "golang.org/x/sync/errgroup"

// jobs are the work of a turn. Each job runs in a goroutine of its own. The turn's goroutine owns the
// fields.
type jobs struct {
	group errgroup.Group
	// early are the jobs that wait until the turn is open. Until then the turn's beginning may fail, and
	// then no job may run.
	early  []func()
	isOpen bool
	// settle lets a simulation wait until nothing moves. It does nothing else.
	settle func()
}

// begin runs a job as soon as the turn is open.
func (j *jobs) begin(job func()) {
	if !j.isOpen {
		j.early = append(j.early, job)
		return
	}
	j.group.Go(func() error {
		job()
		return nil
	})
	j.settle()
}

// open runs the early jobs.
func (j *jobs) open() {
	j.isOpen = true
	for _, job := range j.early {
		j.begin(job)
	}
	j.early = nil
}

// wait returns when all jobs have ended.
func (j *jobs) wait() { _ = j.group.Wait() } // jobs post their errors
