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
 * Writes KWOK's own stage for nodes as two into `folder`: a node that is new is made ready at once, and one that somebody else says is not ready is made so again after as long as
 * a kubelet takes. Returns the files.
 */
export function writeNodeStages(stages: string, folder: string): readonly string[] {
  const own = parse(readFileSync(join(stages, 'node-initialize.yaml'), 'utf8')) as KwokStage;
  const phase = (operator: string): object => ({ key: '.status.phase', operator, values: ['Running'] });
  const initialize = stageFor(own, own.metadata.name, phase('NotIn'), {});
  const recover = stageFor(own, 'node-recover', phase('In'), { delay: { durationMilliseconds: kubeletMs } });
  return [initialize, recover].map((stage) => {
    const file = join(folder, `${stage.metadata.name}.yaml`);
    writeFileSync(file, stringify(stage));
    return file;
  });
}

function stageFor(stage: KwokStage, name: string, expression: object, more: object): KwokStage {
  const { spec } = stage;
  const selector = { ...spec.selector, matchExpressions: [...spec.selector.matchExpressions, expression] };
  return { ...stage, metadata: { ...stage.metadata, name }, spec: { ...spec, ...more, selector } };
}
