import type { RepairView } from '../../activities/repair/contract.js';
import type { Question } from '../people/consent.js';

type Unhealthy = Extract<RepairView, { state: 'unhealthy' }>;

/** The approval question, and which pods would lose their protection by an approval. */
export function repairQuestion({ nodeName, condition: what, steps }: Unhealthy): Question {
  const actions = steps.map(({ action }) => action);
  const isForced = actions.includes('Force');
  const breaks = `its step Force deletes the pods of ${nodeName}, whatever protects them`;
  return {
    what: `approval to repair ${nodeName} (${what})`,
    yes: `takes the steps ${actions.join(', ')}`,
    ...(isForced ? { breaks } : {}),
  };
}
