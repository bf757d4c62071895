import { runAll } from './run-all.js';

// Runs only the worker, for images; `stowage run` is the usual command.
process.exitCode = await runAll({ role: 'worker' });
