import { failureOf } from './failure.js';
import { stowageProgram } from './program.js';
import { warn } from './output/print.js';

// Whoever reads the output may have seen enough (`stowage plan | head`).
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
