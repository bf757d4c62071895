import { runAll } from './run-all.js';

// The worker alone, for images; `stowage run` is the usual way.
process.exitCode = await runAll({ role: 'worker' });
