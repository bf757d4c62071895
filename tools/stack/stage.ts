import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createKubeClient } from '../../kube/client.js';
import type { KubeClient } from '../../kube/port.js';
import { CloudProxyControl } from './cloud-proxy/control.js';
import { stackParts, type StackPart } from './components.js';
import type { Narrator } from './demo/narrator.js';
import { repositoryRoot, stackFolder } from './paths.js';
import { isRunning, tailOf } from './processes.js';
import { readState } from './stack-state.js';
import { startStack, type Stack } from './stack.js';
import { stopStack } from './stop-stack.js';

/** Stowage with its cluster, cloud and Temporal, run in processes or containers, as the demo reads them. */
export interface Setting {
  readonly stack: Pick<Stack, 'cluster' | 'temporalAddress'>;
  readonly kube: KubeClient;
  readonly cloud: CloudProxyControl;
  readonly narrator: Narrator;
  /** Why Stowage no longer runs, if so. */
  readonly failure: () => Error | undefined;
  /** `kubectl apply` of a file of the repository. */
  apply(file: string): Promise<void>;
}

/** The whole local stack as processes. */
export interface Stage extends Setting {
  readonly stack: Stack;
}

export interface StageOptions {
  /** Leave everything running afterwards, for exploring; what failed is stopped all the same. */
  readonly keep: boolean;
  /** Of the stack. */
  readonly name: string;
  /** Default all, Stowage included. */
  readonly parts?: readonly StackPart[];
}

/** Raises a stack, has `play` play on it, and stops it in every case, an interrupt from the keyboard included. */
export async function onStage(
  { keep, name, parts = stackParts }: StageOptions,
  narrator: Narrator,
  play: (stage: Stage) => Promise<void>,
): Promise<void> {
  const folder = stackFolder(name);
  const stop = (): Promise<number> => stopStack(folder);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupted.abort();
      narrator.plain('\nStopping what was started ...');
      void stop().finally(() => process.exit(130));
    });
  }
  let played = false;
  try {
    const stack = await raiseStack(name, parts, narrator);
    await play(setStage(stack, narrator));
    played = true;
    if (keep) narrator.plain(explore(stack));
  } finally {
    if (!(keep && played) && !interrupted.signal.aborted) {
      narrator.plain('\nStopping what was started ...');
      await stop();
    }
  }
}

async function raiseStack(name: string, parts: readonly StackPart[], narrator: Narrator): Promise<Stack> {
  narrator.chapter('A real control plane, a real Temporal server, an EC2 API, and Stowage');
  const stack = await startStack({ name, parts, progress: (line) => narrator.act(line) });
  narrator.see(
    `everything serves; watch along on its page, ${stack.pageUrl ?? ''}, and in the Temporal UI: ${stack.temporalUiUrl ?? ''}`,
  );
  return stack;
}

function setStage(stack: Stack, narrator: Narrator): Stage {
  const { adminKubeconfig, awsEndpoint, kubectl, folder } = stack;
  if (adminKubeconfig === undefined || awsEndpoint === undefined || kubectl === undefined)
    throw new Error('The stack came up without its parts.');
  return {
    stack,
    narrator,
    kube: createKubeClient({ kubeconfig: adminKubeconfig, userAgent: 'stowage-demo' }),
    cloud: new CloudProxyControl(awsEndpoint),
    apply: async (file) => {
      await promisify(execFile)(kubectl, [
        '--kubeconfig',
        adminKubeconfig,
        'apply',
        '-f',
        join(repositoryRoot(), file),
      ]);
    },
    failure: () => {
      const stowage = readState(folder)?.components.find((component) => component.name === 'stowage');
      if (stowage === undefined || isRunning(stowage)) return undefined;
      return new Error(`Stowage stopped by itself; the end of ${stowage.log}:\n${tailOf(stowage.log)}`);
    },
  };
}

function explore({ name, pageUrl, temporalUiUrl, kubectl, adminKubeconfig }: Stack): string {
  return [
    '',
    'Everything keeps running:',
    `  its page      ${pageUrl ?? ''}`,
    `  Temporal UI   ${temporalUiUrl ?? ''}`,
    `  kubectl       ${kubectl ?? 'kubectl'} --kubeconfig ${adminKubeconfig ?? ''}`,
    `  stop it with  npm run stack -- down --name ${name}`,
  ].join('\n');
}
