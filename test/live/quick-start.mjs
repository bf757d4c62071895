// Before the tests that start Stowage: its packing threads do not warm up, which takes more than half of the processor time of a start. How
// quick first plans are is nothing that they look at. main-job.test.ts starts it as users do.
process.env.PACKING_WARM_UP ||= 'false';
