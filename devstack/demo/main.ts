import { Command } from 'commander';
import { createKubeClient } from '../../kube/client.js';
import { CloudProxyControl } from '../cloud-proxy/control.js';
import { stackParts } from '../components.js';
import { stackFolder } from '../paths.js';
import { isRunning, tailOf } from '../processes.js';
import { readState } from '../stack-state.js';
import { startStack, stopStack, type Stack } from '../stack.js';
import { createNarrator, type Narrator } from './narrator.js';
import { nodeTable } from './node-table.js';
import { playStory, type Stage } from './story.js';

interface DemoOptions {
  readonly keep: boolean;
  readonly name: string;
}

async function demo({ keep, name }: DemoOptions): Promise<void> {
  const tell = createNarrator();
  const folder = stackFolder(name);
  const stop = (): Promise<number> => stopStack(folder);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupted.abort();
      tell.plain('\nStopping what was started ...');
      void stop().finally(() => process.exit(130));
    });
  }
  let told = false;
  try {
    const stack = await raiseStack(name, tell);
    const stage = setStage(stack, tell);
    await playStory(stage);
    tell.chapter('What happened to each node');
    tell.plain(await nodeTable(stage));
    told = true;
    if (keep) tell.plain(explore(stack));
  } finally {
    if (!(keep && told) && !interrupted.signal.aborted) {
      tell.plain('\nStopping what was started ...');
      await stop();
    }
  }
}

async function raiseStack(name: string, tell: Narrator): Promise<Stack> {
  tell.chapter('A real control plane, a real Temporal server, an EC2 API, and Stowage');
  const stack = await startStack({ name, parts: stackParts, progress: (line) => tell.act(line) });
  tell.see(`everything serves; watch along in the Temporal UI: ${stack.temporalUiUrl ?? ''}`);
  return stack;
}

function setStage(stack: Stack, tell: Narrator): Stage {
  const { adminKubeconfig, awsEndpoint, folder } = stack;
  if (adminKubeconfig === undefined || awsEndpoint === undefined)
    throw new Error('The stack came up without its parts.');
  return {
    stack,
    tell,
    kube: createKubeClient({ kubeconfig: adminKubeconfig, userAgent: 'stowage-demo' }),
    cloud: new CloudProxyControl(awsEndpoint),
    failure: () => {
      const stowage = readState(folder)?.components.find((component) => component.name === 'stowage');
      if (stowage === undefined || isRunning(stowage)) return undefined;
      return new Error(`Stowage stopped by itself; the end of ${stowage.log}:\n${tailOf(stowage.log)}`);
    },
  };
}

function explore({ name, temporalUiUrl, kubectl, adminKubeconfig }: Stack): string {
  return [
    '',
    'Everything keeps running:',
    `  Temporal UI   ${temporalUiUrl ?? ''}`,
    `  kubectl       ${kubectl ?? 'kubectl'} --kubeconfig ${adminKubeconfig ?? ''}`,
    `  stop it with  npm run stack -- down --name ${name}`,
  ].join('\n');
}

const program = new Command('demo')
  .description('Plays the story of a few nodes on a real local stack, and tells what happens.')
  .option('--keep', 'leave everything running afterwards, for exploring', false)
  .option('--name <name>', 'name of the stack', 'demo');

try {
  await demo(program.parse().opts<DemoOptions>());
} catch (error) {
  process.stderr.write(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
