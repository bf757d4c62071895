// The tests of workflows run on Temporal's own server that skips time.
process.env.STOWAGE_TEST_TEMPORAL = 'server';
