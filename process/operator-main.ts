import { runAll } from './run-all.js';

// The operator alone, for images; `stowage run` is the usual way.
process.exitCode = await runAll({ role: 'operator' });
