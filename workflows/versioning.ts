import type { WorkflowDefinitionOptions } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';
import type { WorkflowInfo } from '@temporalio/workflow';

/** For workflows that last minutes: they end on the build that began them (settings/worker-versions). All others go on in a new build. */
export const endsOnItsBuild = (): WorkflowDefinitionOptions => optionsOn(workflowInfo());

/**
 * Temporal refuses every workflow task of a worker without a version that asks for a behavior.
 *
 * @testOnly
 */
export const optionsOn = ({
  currentDeploymentVersion,
}: Pick<WorkflowInfo, 'currentDeploymentVersion'>): WorkflowDefinitionOptions =>
  (currentDeploymentVersion?.deploymentName ?? '') === '' ? {} : { versioningBehavior: 'PINNED' };
