import { randomUUID } from 'node:crypto';
import { AwsError } from './aws-error.js';
import type { Cloud } from './cloud.js';
import { interruptSpot } from './reclaim.js';
import type { ExperimentTemplate } from './settings.js';

const interruptions = 'aws:ec2:send-spot-instance-interruptions';
/** From the warning to the end, as EC2 has it. */
const noticeMs = 120_000;

/** Answers a call of FIS; undefined: it is not played. */
export function experiments(cloud: Cloud, method: string, path: string, body: string): object | undefined {
  const [, kind, id] = path.split('?')[0]!.split('/');
  if (kind === 'experimentTemplates' && method === 'POST') return createTemplate(cloud, body);
  if (kind === 'experimentTemplates' && method === 'DELETE' && id !== undefined) return deleteTemplate(cloud, id);
  if (kind === 'experiments' && method === 'POST') return start(cloud, body);
  return undefined;
}

function createTemplate(cloud: Cloud, body: string): object {
  const template = JSON.parse(body) as ExperimentTemplate;
  const id = `EXT${randomUUID().slice(0, 13)}`;
  cloud.experimentTemplates.set(id, template);
  return { experimentTemplate: { id, ...template } };
}

function deleteTemplate(cloud: Cloud, id: string): object {
  requireTemplate(cloud, id);
  cloud.experimentTemplates.delete(id);
  return { experimentTemplate: { id } };
}

function start(cloud: Cloud, body: string): object {
  const { experimentTemplateId = '' } = JSON.parse(body) as { experimentTemplateId?: string };
  const { actions = {}, targets = {} } = requireTemplate(cloud, experimentTemplateId);
  for (const { actionId = '', targets: named = {} } of Object.values(actions)) {
    if (actionId !== interruptions) {
      throw new AwsError('ValidationException', `The local cloud does not play the action ${actionId}.`);
    }
    const arns = Object.values(named).flatMap((name) => targets[name]?.resourceArns ?? []);
    const ids = arns.map((arn) => arn.split('/').at(-1)!);
    for (const { id } of cloud.instances.require(ids)) interruptSpot(cloud, id, noticeMs);
  }
  return { experiment: { id: `EXP${randomUUID().slice(0, 13)}`, experimentTemplateId, state: { status: 'running' } } };
}

function requireTemplate(cloud: Cloud, id: string): ExperimentTemplate {
  const template = cloud.experimentTemplates.get(id);
  if (template === undefined)
    throw new AwsError('ResourceNotFoundException', `Experiment template ${id} not found.`, 404);
  return template;
}
