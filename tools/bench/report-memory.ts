// Loaded into a measured process by `--import`: at its end it prints its peak memory, in KiB.
import { writeFileSync } from 'node:fs';

const file = process.env['STOWAGE_BENCH_MEMORY'];
if (file !== undefined) process.on('exit', () => writeFileSync(file, String(process.resourceUsage().maxRSS)));
