import { annotations, taints } from '../../../api/labels.js';
import { about, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { critical, deadline, drains, protectedPod, tolerating } from './drains.js';
import { deleteNode, ending, isThere, left, podOn, runningNode, said } from './nodes.js';
import { minute, running, second, type Running } from './stage.js';

/** A node with 300 s of terminationGracePeriod and one pod, or two. */
function withDeadline(
  pods: Readonly<Record<string, Parameters<typeof podOn>[2]>>,
  expected: unknown,
  result: (it: Running) => Promise<unknown>,
): Check {
  return running(expected, async (it) => {
    runningNode(it, 'n1', {
      spec: { terminationGracePeriod: '300s' },
      claim: { annotations: { [annotations.terminationTimestamp]: deadline(it, 300 * second) } },
    });
    for (const [name, more] of Object.entries(pods)) podOn(it, name, more);
    await it.pass(second);
    await deleteNode(it, 'n1', 10 * second);
    return result(it);
  });
}
const graceOf = (seconds: number, more: { metadata?: object; spec?: object } = {}): Parameters<typeof podOn>[2] => ({
  ...more,
  spec: { ...more.spec, terminationGracePeriodSeconds: seconds },
});

const deadlineCases: readonly ConformanceCase[] = about('drain before the deadline', [
  same(
    751,
    'a protected pod is deleted in time for its grace period',
    withDeadline({ web: graceOf(300, protectedPod) }, ['web'], (it) => Promise.resolve(ending(it, 'web'))),
  ),
  same(
    777,
    'a later tier does not wait where its grace period would not fit',
    withDeadline({ plain: graceOf(30), critical: graceOf(600, critical) }, ['critical'], (it) =>
      Promise.resolve(ending(it, 'critical')),
    ),
  ),
  same(
    810,
    'a protected pod with a shorter grace period stays as long',
    withDeadline({ web: graceOf(60, protectedPod) }, { at100: [], at265: ['web'] }, async (it) => {
      await it.pass(88 * second);
      const at100 = ending(it, 'web');
      await it.pass(165 * second);
      return { at100, at265: ending(it, 'web') };
    }),
  ),
  same(
    845,
    'a pod that would end after the node is cut short',
    running(true, async (it) => {
      runningNode(it, 'n1', {
        spec: { terminationGracePeriod: '300s' },
        claim: { annotations: { [annotations.terminationTimestamp]: deadline(it, 300 * second) } },
      });
      podOn(it, 'web', graceOf(6000, protectedPod));
      await it.kube.delete('Pod', { name: 'web', namespace: 'default' });
      await it.pass(90 * second);
      await deleteNode(it);
      const seconds = it.get('Pod', 'web')?.metadata.deletionGracePeriodSeconds ?? 0;
      return Math.abs(seconds - 208) <= 15;
    }),
  ),
  same(
    880,
    'leaves at least five seconds',
    drains({}, { tainted: true, drained: 'Unknown/Draining', later: [] }, async (it) => ({
      tainted: it.get('Node', 'n1')?.spec?.taints?.some(({ key }) => key === taints.disrupted.key),
      drained: said(it, 'Drained'),
      later: await left(it, 'n1', minute),
    })),
  ),
]);

const attachment = (it: Running, name: string): void =>
  void it.kube.put('VolumeAttachment', {
    metadata: { name },
    spec: { attacher: 'ebs.csi.aws.com', nodeName: 'n1', source: { persistentVolumeName: name } },
    status: { attached: true },
  });

const volumeCases: readonly ConformanceCase[] = about('volumes of a drained node', [
  same(
    909,
    'attached ones are waited for',
    running({ waits: 'Unknown/AwaitingVolumeDetachment', there: true, left: [] }, async (it) => {
      runningNode(it);
      attachment(it, 'foo');
      await it.pass(second);
      await deleteNode(it, 'n1', 20 * second);
      const waits = { waits: said(it, 'VolumesDetached'), there: isThere(it, 'Node') };
      it.kube.remove('VolumeAttachment', { name: 'foo' });
      return { ...waits, left: await left(it) };
    }),
  ),
  same(
    935,
    'those of pods that stay are not waited for',
    running({ waits: 'Unknown/AwaitingVolumeDetachment', left: [] }, async (it) => {
      runningNode(it);
      attachment(it, 'foo');
      attachment(it, 'bar');
      it.kube.put('PersistentVolumeClaim', {
        metadata: { name: 'kept', namespace: 'default' },
        spec: { volumeName: 'bar' },
      });
      podOn(it, 'kept', {
        spec: {
          ...(tolerating('Exists') as { spec: object }).spec,
          volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'kept' } }],
        },
      });
      await it.pass(second);
      await deleteNode(it, 'n1', 20 * second);
      const waits = said(it, 'VolumesDetached');
      it.kube.remove('VolumeAttachment', { name: 'foo' });
      return { waits, left: await left(it) };
    }),
  ),
  same(
    978,
    'none is waited for past the deadline',
    running({ waits: 'Unknown/AwaitingVolumeDetachment', left: [] }, async (it) => {
      runningNode(it, 'n1', { claim: { annotations: { [annotations.terminationTimestamp]: deadline(it, minute) } } });
      attachment(it, 'foo');
      await it.pass(second);
      await deleteNode(it, 'n1', 20 * second);
      return { waits: said(it, 'VolumesDetached'), left: await left(it) };
    }),
  ),
]);

const measures = (...names: readonly string[]): Check =>
  drains(
    {},
    names.map(() => 1),
    async (it) => {
      await it.pass(2 * minute);
      return names.map(
        (name) => it.measured.filter((each) => each.name === name && each.labels['nodepool'] === 'default').length,
      );
    },
  );

const metricCases: readonly ConformanceCase[] = about('metrics of termination', [
  same(1010, 'duration of a termination', measures('nodes_termination_duration_seconds')),
  same(1024, 'number of drained and terminated nodes', measures('nodes_drained_total', 'nodes_terminated_total')),
  same(1038, 'lifetime of a node', measures('nodes_lifetime_duration_seconds')),
]);

/** What pkg/controllers/node/termination/suite_test.go has of deadlines, volumes and metrics. */
export const detachCases: readonly ConformanceCase[] = [...deadlineCases, ...volumeCases, ...metricCases];
