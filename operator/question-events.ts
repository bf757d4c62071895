import type { Client } from '@temporalio/client';
import { parseWorkflowId } from '../core/ids.js';
import { regarding, type EventSubject } from '../core/events.js';
import { timeText } from '../core/time.js';
import { explainQuery, openWorkflowsQuery, questionText, searchAttributes } from '../workflows/messages.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

const everyMs = 15_000;
const answerMs = 2000;
/** Maximum number of questions published per poll; the next poll publishes the rest. */
const mostPublished = 50;

/** An open question of a workflow. */
export interface QuestionFound {
  /** Identifies a question of one run. */
  readonly key: string;
  readonly nodeClaim: string;
  readonly nodePool: string;
  readonly text: string;
}

type Context = Pick<OperatorContext, 'cache' | 'events' | 'log'>;

/**
 * Publishes each question once, as an event on the node and NodeClaim or the NodePool (events/of-questions): for
 * expirations, repairs, rollouts and escalations. Consolidations publish theirs themselves.
 */
export class QuestionEvents {
  private published: ReadonlySet<string> = new Set();

  constructor(
    private readonly context: Pick<Context, 'cache' | 'events'>,
    private readonly ask: (known: ReadonlySet<string>) => Promise<readonly QuestionFound[]>,
  ) {}

  async publishNew(): Promise<void> {
    const open = await this.ask(this.published);
    for (const question of open) {
      if (this.published.has(question.key) || question.text === '') continue;
      for (const subject of this.subjectsOf(question))
        this.context.events.publish({
          ...{ regarding: subject, type: 'Warning', reason: 'AwaitsApproval', message: question.text },
          dedupeBy: [subject.kind, subject.name, question.key],
        });
    }
    // One without text is asked again, since no worker responded.
    this.published = new Set(
      open.filter(({ key, text }) => text !== '' || this.published.has(key)).map(({ key }) => key),
    );
  }

  private subjectsOf({ nodeClaim, nodePool }: QuestionFound): readonly EventSubject[] {
    if (nodeClaim === '') {
      const pool = this.context.cache.get('NodePool', { name: nodePool });
      return [regarding('NodePool', pool?.metadata ?? { name: nodePool })];
    }
    const claim = this.context.cache.get('NodeClaim', { name: nodeClaim });
    const node = claim?.status?.nodeName;
    return [
      regarding('NodeClaim', claim?.metadata ?? { name: nodeClaim }),
      ...(node === undefined ? [] : [regarding('Node', { name: node })]),
    ];
  }
}

/** Runs `QuestionEvents` every 15 seconds. */
export function publishQuestions(context: Context, client: Client, cluster: string): () => void {
  const news = new QuestionEvents(context, (known) => openQuestions(client, cluster, known));
  const look = async (): Promise<{ afterMs: number }> => {
    await news.publishNew();
    return { afterMs: everyMs };
  };
  const looks = new WorkQueue('publishing open questions', look, context.log, 1);
  looks.add('all');
  return () => looks.stop();
}

/** Open questions by visibility; the workflow provides the text, which is queried once. */
async function openQuestions(
  client: Client,
  cluster: string,
  known: ReadonlySet<string>,
): Promise<readonly QuestionFound[]> {
  const query = `${openWorkflowsQuery(cluster)} AND ${searchAttributes.awaitingApproval.name} = true`;
  const found: QuestionFound[] = [];
  let asked = 0;
  for await (const { workflowId, runId, typedSearchAttributes: attributes } of client.workflow.list({ query })) {
    if (parseWorkflowId(workflowId)?.kind === 'consolidate') continue;
    const key = `${workflowId} ${runId}`;
    const text = known.has(key) || asked++ >= mostPublished ? '' : await textOf(client, workflowId, runId);
    const nodeClaim = attributes.get(searchAttributes.nodeClaim) ?? '';
    found.push({ key, nodeClaim, nodePool: attributes.get(searchAttributes.nodePool) ?? '', text });
  }
  return found;
}

async function textOf(client: Client, workflowId: string, runId: string): Promise<string> {
  try {
    const handle = client.workflow.getHandle(workflowId, runId);
    const { question } = await client.connection.withDeadline(Date.now() + answerMs, () => handle.query(explainQuery));
    if (question === undefined) return '';
    const end = `without an answer until ${timeText(question.until)} ${question.unanswered}`;
    return `${questionText(question)}; ${end} (stowage approve|reject ${workflowId})`;
  } catch {
    return '';
  }
}
