import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Pod } from '../../api/kubernetes.js';
import type { CommandName } from '../../cli/command-texts.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { nodeOf, within, type LiveWorld } from '../live/world.js';
import { environmentOf, stowage, stowageHere, type Said } from './stowage.js';

export const patience = 600_000;

/** What is said of an object, everywhere. */
export interface Surfaces {
  readonly why: string;
  readonly status: string;
  readonly events: readonly string[];
}

/** A part of what `stowage status` prints. */
export const section = (status: string, title: string): string =>
  status.split('\n\n').find((text) => text.startsWith(title)) ?? '';

/** The answer that `stowage why -o json` printed; the empty text where it printed no report. */
export function answerIn(printed: string): string {
  return printed.startsWith('{') ? ((JSON.parse(printed) as { answer?: string }).answer ?? '') : '';
}

/** People who look on, and who order. */
export class People {
  private running: LiveWorld | undefined;

  /** Set once the stack is up. */
  set world(world: LiveWorld) {
    this.running = world;
    // For `stowageHere`.
    Object.assign(process.env, environmentOf(world));
  }

  get world(): LiveWorld {
    if (this.running === undefined) throw new Error('the stack of the situations does not run yet');
    return this.running;
  }

  stowage(...args: string[]): Promise<Said> {
    return stowage(this.world, ...args);
  }

  /** Until the order is taken: where Temporal does not answer in time, a person orders again. */
  async orders(...args: string[]): Promise<void> {
    let last: Said | undefined;
    await observe(
      `stowage ${args.join(' ')}`,
      async () => (last = await this.stowage(...args)).code === 0,
      within(300),
      () => Promise.resolve(JSON.stringify(last)),
    );
  }

  status(): Promise<string> {
    return stowageHere('status');
  }

  /** Until the command says this, as a program too. */
  says(words: RegExp, name: CommandName, ...args: string[]): Promise<string> {
    let last: Said | string | undefined;
    return observe(
      `stowage ${[name, ...args].join(' ')} says ${String(words)}`,
      async () => {
        if (!words.test((last = await stowageHere(name, ...args)))) return undefined;
        last = await this.stowage(name, ...args);
        return words.test(last.stdout) ? last.stdout : undefined;
      },
      within(300),
      () => Promise.resolve(JSON.stringify(last)),
    );
  }

  /** Until it holds; otherwise what `stowage status` says is in the failure. */
  until(what: string, holds: () => Promise<boolean>): Promise<true> {
    return observe(
      what,
      async () => await holds(),
      within(300),
      () => this.status(),
    );
  }

  async pod(app: string): Promise<Pod | undefined> {
    const pods = await this.world.kube.list('Pod', { namespace: 'default', labelSelector: `app=${app}` });
    return pods.find(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  async podName(app: string): Promise<string> {
    return (await this.pod(app))?.metadata.name ?? '';
  }

  async node(app: string): Promise<string> {
    return (await nodeOf(this.world, app)) ?? '';
  }

  async claimOf(node: string): Promise<NodeClaim> {
    const claims = await this.world.kube.list('NodeClaim');
    const claim = claims.find(({ status }) => status?.nodeName === node);
    if (claim === undefined) throw new Error(`no NodeClaim has node "${node}"`);
    return claim;
  }

  /** What events of this object say. */
  async events(kind: string, name: string): Promise<readonly string[]> {
    const events = await this.world.kube.list('Event', { namespace: 'default' });
    return events
      .filter(({ involvedObject }) => involvedObject.kind === kind && involvedObject.name === name)
      .map(({ reason = '', message = '' }) => `${reason}: ${message}`);
  }

  /** What `stowage why` answers; the empty text where it does not. */
  private async answer(subject: string): Promise<string> {
    return answerIn(await stowageHere('why', subject, '-o', 'json'));
  }

  async surfaces(subject: string, kind: string, name: string): Promise<Surfaces> {
    const [why, status, events] = await Promise.all([this.answer(subject), this.status(), this.events(kind, name)]);
    return { why, status, events };
  }

  /** The workflow that asks about the claim of this node. */
  async question(node: string): Promise<string> {
    const claim = (await this.claimOf(node)).metadata.name ?? '';
    const asked = new RegExp(`^  ${claim} \\([^]*?stowage approve (\\S+)`, 'm');
    const text = await this.says(asked, 'status');
    return asked.exec(text)?.[1] ?? '';
  }
}
