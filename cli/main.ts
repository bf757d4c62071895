import { CommanderError } from 'commander';
import { exitStatus, UsageError } from './exit.js';
import { stowageProgram } from './program.js';

// Whoever reads the output may have seen enough (`stowage plan | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

try {
  await stowageProgram().parseAsync();
} catch (error) {
  process.exitCode = statusOf(error);
}

function statusOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitStatus.ok : exitStatus.badInput;
  if (error instanceof UsageError) {
    process.stderr.write(`stowage: ${error.message}\n`);
    return exitStatus.badInput;
  }
  process.stderr.write(`stowage: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return exitStatus.failed;
}
