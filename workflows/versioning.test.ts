import { expect, test } from 'vitest';
import * as workflows from './index.js';
import { endsOnItsBuild, optionsOn } from './versioning.js';

interface Defined {
  readonly workflowDefinitionOptions?: unknown;
}

// Rule `settings/worker-versions`. Entities and what waits for days or must not wait for a build would stay on one that is gone.
test('only workflows that last minutes end on the build that began them', () => {
  const pinned = Object.entries(workflows as unknown as Readonly<Record<string, Defined>>)
    .filter(([, { workflowDefinitionOptions: options }]) => options === endsOnItsBuild)
    .map(([name]) => name);

  expect(pinned.sort()).toEqual([
    'collectGarbage',
    'consolidate',
    'explainPod',
    'launchBatch',
    'launchNode',
    'refreshCatalogue',
    'replaceNode',
    'sweepCloud',
  ]);
});

test('and only where workers have a version: Temporal refuses their workflow tasks otherwise', () => {
  const on = (deploymentName: string) => optionsOn({ currentDeploymentVersion: { deploymentName, buildId: 'b' } });

  expect(on('stowage-c')).toEqual({ versioningBehavior: 'PINNED' });
  expect(on('')).toEqual({});
  expect(optionsOn({})).toEqual({});
});
