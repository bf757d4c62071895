import { failureOf } from './failure.js';
import { stowageProgram } from './program.js';
import { warn } from './output/print.js';

// The reader of the output may close it early (`stowage plan | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

try {
  await stowageProgram().parseAsync();
} catch (error) {
  const { status, said } = failureOf(error);
  warn(said);
  process.exitCode = status;
}
