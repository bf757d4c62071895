import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

/** As long as a kubelet takes to see that somebody wrote another status than its own (nodeStatusUpdateFrequency). */
const kubeletMs = 10_000;

interface KwokStage {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly selector: { readonly matchExpressions: readonly object[] } };
}

/**
 * Writes KWOK's own stages into `folder`, and returns the files. Two of them act at once where a kubelet does not, and become two each:
 *
 * - a node that is new is made ready at once, but one that somebody else says is not ready only after as long as a kubelet takes;
 * - a pod that is being deleted goes at once, but one with a hook that runs before it stops only when its grace is over.
 */
export function writeStages(stages: string, folder: string): readonly string[] {
  const own = (name: string): KwokStage => parse(readFileSync(join(stages, `${name}.yaml`), 'utf8')) as KwokStage;
  const phase = (operator: string): object => ({ key: '.status.phase', operator, values: ['Running'] });
  const hook = (operator: string): object => ({ key: '.spec.containers.[].lifecycle.preStop', operator });
  const node = own('node-initialize');
  const pod = own('pod-delete');
  const graceOver = { durationFrom: { expressionFrom: '.metadata.deletionTimestamp' } };
  return [
    variantOf(node, 'node-initialize', phase('NotIn')),
    variantOf(node, 'node-recover', phase('In'), { durationMilliseconds: kubeletMs }),
    own('node-heartbeat-with-lease'),
    own('pod-ready'),
    own('pod-complete'),
    variantOf(pod, 'pod-delete', hook('DoesNotExist')),
    variantOf(pod, 'pod-stop', hook('Exists'), graceOver),
  ].map((stage) => {
    const file = join(folder, `${stage.metadata.name}.yaml`);
    writeFileSync(file, stringify(stage));
    return file;
  });
}

/** The stage for the objects that the expression, too, matches. */
function variantOf(stage: KwokStage, name: string, expression: object, delay?: object): KwokStage {
  const { spec } = stage;
  const selector = { ...spec.selector, matchExpressions: [...spec.selector.matchExpressions, expression] };
  const own = delay === undefined ? {} : { delay };
  return { ...stage, metadata: { ...stage.metadata, name }, spec: { ...spec, ...own, selector } };
}
