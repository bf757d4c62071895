// Before the tests that start Stowage: its packing threads do not warm up, which takes more than half of the processor time of a start. How
// quick first plans are is nothing that they look at. main-job.test.ts starts it as users do.
process.env.PACKING_WARM_UP ||= 'false';
// Several stacks share the processors, so that no server of one would have two to itself. Where a program in Go believes that it has, its idle
// threads look for work at each other's: a tenth of the processor time of an API server and its etcd at rest, and a little of their start.
process.env.GOMAXPROCS ||= '1';
