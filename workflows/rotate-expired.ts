import { setHandler, sleep, condition } from '@temporalio/workflow';
import { workflowNow } from './clock.js';
import type { RotateExpiredInput, RotateExpiredResult } from './messages.js';
import { nodeChangedSignal, searchAttributes } from './messages.js';
import { endNode } from './node-end.js';
import { Progress } from './progress.js';
import { activitiesOf } from './proxies.js';
import { Replacements } from './replacements.js';
import { rotateByPolicy } from './rotation.js';

const hour = 3_600_000;
const retryMs = 10 * 60_000;

/** A node's end of life (section 4.13): as its pool's DisruptionPolicy says, or as Karpenter does. */
export async function rotateExpired(input: RotateExpiredInput): Promise<RotateExpiredResult> {
  return input.byPolicy === true ? rotateByPolicy(input) : rotateAtExpiry(input);
}

/** What workflows that an older build started go on with. */
async function rotateAtExpiry(input: RotateExpiredInput): Promise<RotateExpiredResult> {
  const { cluster, claim, nodePool } = input;
  const activities = activitiesOf(cluster);
  const replacements = new Replacements(cluster);
  let changed = false;
  setHandler(nodeChangedSignal, () => void (changed = true));
  const progress = new Progress(
    `Expiry of ${claim.name}`,
    [
      { key: searchAttributes.cluster, value: cluster },
      { key: searchAttributes.nodePool, value: nodePool },
      { key: searchAttributes.nodeClaim, value: claim.name },
      { key: searchAttributes.reason, value: 'expired' },
    ],
    { NodeClaim: claim.name, NodePool: nodePool },
  );

  progress.enter('waiting', { waitingFor: 'expireAfter', until: input.expiresAt });
  for (;;) {
    changed = false;
    const view = await activities.kube.viewClaim({ claim });
    if (view.state !== 'live') return { outcome: 'gone', replacements: [] };
    const rest = input.expiresAt - workflowNow();
    if (rest <= 0) break;
    await condition(() => changed, rest, { summary: `${claim.name} to expire` });
  }

  const deadline = input.expiresAt + (input.replaceWithinMs ?? hour);
  let verdict: 'ready' | 'failed' | 'late' = 'failed';
  while (verdict !== 'ready' && workflowNow() < deadline) {
    const view = await activities.kube.viewClaim({ claim });
    if (view.state !== 'live') return { outcome: 'gone', replacements: replacements.claims.map(({ name }) => name) };
    if (view.nodeName === undefined) break;
    await replacements.request([view.nodeName], 'expired', deadline - workflowNow());
    progress.enter('replacing', { waitingFor: 'the replacement to be up', until: deadline });
    verdict = await replacements.settled(deadline - workflowNow());
    if (verdict === 'failed')
      await sleep(Math.min(retryMs, Math.max(1, deadline - workflowNow())), { summary: 'try again' });
  }
  progress.enter('draining', { facts: { replacement: verdict } });
  await endNode({ cluster, claim, nodePool, reason: 'expired' });
  progress.enter('done');
  const names = replacements.claims.map(({ name }) => name);
  return { outcome: verdict === 'ready' ? 'rotated' : 'forced', replacements: names };
}
