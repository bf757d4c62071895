// Around test files that start stacks: one moto for all of them, whose address their processes inherit. To load and to answer for the first time
// costs it two seconds of a processor, another account in it next to nothing.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { motoProgram } from '../../tools/stack/cloud.js';
import { freePorts } from '../../tools/stack/ports.js';
import { launch, stopLaunchedWithThisProcess, stopProcess, waitUntilReady } from '../../tools/stack/processes.js';
import { ensureToolchain } from '../../tools/stack/toolchain.js';

export default async function shareMoto(): Promise<() => Promise<void>> {
  stopLaunchedWithThisProcess();
  const { motoPython } = await ensureToolchain(['moto']);
  if (motoPython === undefined) throw new Error('moto is not installed.');
  const folder = mkdtempSync(join(tmpdir(), 'stowage-test-moto-'));
  const [port = 0] = await freePorts(1);
  const { address, args, env, ready } = motoProgram(folder, port);
  const log = join(folder, 'moto.log');
  const record = launch(motoPython, args, { log, cwd: folder, env });
  await waitUntilReady('moto', record, log, ready);
  process.env.STOWAGE_TEST_MOTO = address;
  return async () => {
    await stopProcess(record, 3000);
    rmSync(folder, { recursive: true, force: true });
  };
}
