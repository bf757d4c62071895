import { expect, test } from '@jest/globals';
import type { WorkflowDefinitionOptions } from '@temporalio/common';
import * as workflows from './index.js';

interface Defined {
  readonly workflowDefinitionOptions?: WorkflowDefinitionOptions;
}

// Rule `settings/worker-versions`. Entities and what waits for days or must not wait for a build would stay on one that is gone.
test('only workflows that last minutes end on the build that began them', () => {
  const pinned = Object.entries(workflows as unknown as Readonly<Record<string, Defined>>)
    .filter(([, { workflowDefinitionOptions: options }]) => options?.versioningBehavior === 'PINNED')
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
