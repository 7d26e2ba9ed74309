package simd

import (
	"sync"
	"sync/atomic"

	"github.com/likbench/likbench/backend"
)

// job is the launch that a stream is running. Workers may join while it is open and take
// ranges of tiles until none are left; a pointer to it that reaches a worker late finds it
// closed, or helps the stream's next launch.
type job struct {
	v      *variant
	tiles  int64
	grain  int64        // tiles taken at once
	next   atomic.Int64 // first tile not taken
	tasks  []slot       // by worker
	mu     sync.Mutex
	left   sync.Cond // a worker left
	joined int
	joins  bool // open for workers
}

// slot keeps a worker's task, apart from its neighbours' cache lines.
type slot struct {
	Task
	_ [lineSize]byte
}

func (j *job) init(workers int) {
	j.tasks = make([]slot, workers)
	j.left.L = &j.mu
}

// grainsPerWorker bounds the imbalance at the end of a launch to an eighth of a share.
const grainsPerWorker = 8

// prepare sets the launch up: data is the shared scratch followed by each worker's own.
func (j *job) prepare(v *variant, c *backend.Call, status *statusWord, data []byte, shared, local int64) {
	j.v, j.tiles = v, v.tiles(c)
	j.grain = max(1, j.tiles/int64(grainsPerWorker*len(j.tasks)))
	j.next.Store(0)
	for w := range j.tasks {
		t := &j.tasks[w].Task
		*t = Task{Call: c, Hi: j.tiles, tag: v.tag, status: status}
		if data != nil {
			at := shared + int64(w)*local
			t.Scratch, t.Local = data[:shared:shared], data[at:at+local:at+local]
		}
	}
}

// whole is worker 0's task over all tiles, for Start and Finish.
func (j *job) whole() *Task {
	t := &j.tasks[0].Task
	t.Lo, t.Hi = 0, j.tiles
	return t
}

// run takes tiles as worker w until none are left.
func (j *job) run(w int) {
	t := &j.tasks[w].Task
	for {
		hi := j.next.Add(j.grain)
		t.Lo, t.Hi = hi-j.grain, min(hi, j.tiles)
		if t.Lo >= j.tiles {
			return
		}
		j.v.run(t)
	}
}

// open lets workers join.
func (j *job) open() {
	j.mu.Lock()
	j.joins = true
	j.mu.Unlock()
}

// enter is a worker's arrival; false means that the launch is over.
func (j *job) enter() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.joins {
		j.joined++
	}
	return j.joins
}

func (j *job) leave() {
	j.mu.Lock()
	if j.joined--; j.joined == 0 {
		j.left.Signal()
	}
	j.mu.Unlock()
}

// wait closes the job and returns when every worker has left it.
func (j *job) wait() {
	j.mu.Lock()
	j.joins = false
	for j.joined > 0 {
		j.left.Wait()
	}
	j.mu.Unlock()
}

// forget drops what belongs to the caller.
func (j *job) forget() {
	for w := range j.tasks {
		j.tasks[w].Task = Task{}
	}
}
