import { useEffect, useState } from 'preact/hooks';
import type { Life, NodePod, PageNode, PageSnapshot, Why } from '../snapshot.js';
import { ageText, cores, count, gibibytes, minuteText, perHour, perMonth, shellWord, used } from './format.js';
import { Orders, Section, WorkflowLink } from './parts';
import { answerOf, isFile, selected, show, view } from './state.js';

/** An answer of the API; empty while it is read. */
function useAnswer<T>(path: string): { readonly value?: T; readonly problem?: string } {
  const [answer, setAnswer] = useState<{ readonly value?: T; readonly problem?: string }>({});
  useEffect(() => {
    setAnswer({});
    const stop = new AbortController();
    answerOf<T>(path, stop.signal).then(
      (value) => setAnswer({ value }),
      (error: Error) => {
        if (!stop.signal.aborted) setAnswer({ problem: `No answer: ${error.message}` });
      },
    );
    return () => stop.abort();
  }, [path]);
  return answer;
}

const encoded = (name: string): string => name.split('/').map(encodeURIComponent).join('/');

/** All about the node, or the waiting pod, that was chosen. */
export function Drawer({ page }: { readonly page: PageSnapshot }) {
  const { node: name, pod } = view.value;
  const node = selected.value;
  const kind = name === '' ? 'pod' : 'node';
  return (
    <aside aria-label={`${kind} ${name || pod}`}>
      <button class="close" aria-label="close" onClick={() => show({ node: '', pod: '' })}>
        ×
      </button>
      <h2 aria-live="polite">{name || pod}</h2>
      {kind === 'node' ? <Facts node={node} page={page} /> : null}
      {isFile.value ? (
        <p class="muted">Reasons, history and pods are read from the operator: this file does not have them.</p>
      ) : kind === 'pod' ? (
        <WhySection title="Why it waits" path={`pods/${encoded(pod)}/why`} />
      ) : (
        <>
          <WhySection title="Why it is here" path={`nodes/${encoded(name)}/why`} />
          <LifeSection path={`nodes/${encoded(name)}/history`} />
          <PodsSection path={`nodes/${encoded(name)}/pods`} />
        </>
      )}
      <Section title="Commands">
        <Orders
          orders={
            kind === 'pod'
              ? [`stowage why ${shellWord(`pod/${pod}`)}`]
              : [
                  `stowage why ${shellWord(`node/${name}`)}`,
                  `stowage history node ${shellWord(name)}`,
                  `stowage hold ${shellWord(name)} --because '...'`,
                  `stowage pause --node ${shellWord(name)} --because '...'`,
                ]
          }
        />
      </Section>
    </aside>
  );
}

function Facts({ node, page }: { readonly node: PageNode | undefined; readonly page: PageSnapshot }) {
  if (node === undefined) return <p>It is gone, or has no NodeClaim.</p>;
  const [cpu, memory, gpus] = used(node);
  const stays = page.stays.filter(({ nodes }) => nodes.includes(node.name));
  const rows: readonly (readonly [string, string])[] = [
    ['state', [node.state, ...node.marks].join(', ')],
    ['price', `${perHour(node.pricePerHour)}, ${perMonth(node.pricePerHour)}`],
    ['instance', `${node.type} ${node.capacityType} in ${node.zone}`],
    ['NodePool', node.pool],
    ['NodeClaim', node.claim],
    ['age', ageText(page.at - node.created)],
    ['CPU', `${cores(cpu)} of ${cores(node.allocatable[0])} requested`],
    ['memory', `${gibibytes(memory)} of ${gibibytes(node.allocatable[1])} requested`],
    ...(node.allocatable[2] === 0 ? [] : [['GPUs', `${gpus} of ${node.allocatable[2]} requested`] as const]),
    ...(node.waits === undefined ? [] : [['waits', node.waits] as const]),
    ...stays.map(({ why }) => ['stays', why] as const),
  ];
  return (
    <dl>
      {rows.map(([term, text]) => (
        <div key={`${term} ${text}`}>
          <dt>{term}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

function WhySection({ title, path }: { readonly title: string; readonly path: string }) {
  const { value, problem } = useAnswer<Why>(path);
  return (
    <Section title={title}>
      {value === undefined ? <p class="muted">{problem ?? 'Reading…'}</p> : <p>{value.answer}</p>}
      <ul>
        {value?.details.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </Section>
  );
}

function LifeSection({ path }: { readonly path: string }) {
  const { value, problem } = useAnswer<Life>(path);
  return (
    <Section title="Its life">
      {value === undefined ? <p class="muted">{problem ?? 'Reading…'}</p> : null}
      <ol class="life">
        {value?.lines.map(({ at, what, workflowId }) => (
          <li key={`${at} ${what}`}>
            <time>{minuteText(at, 19)}</time>
            <div>
              {what} <WorkflowLink workflowId={workflowId} />
            </div>
          </li>
        ))}
      </ol>
    </Section>
  );
}

function PodsSection({ path }: { readonly path: string }) {
  const { value, problem } = useAnswer<readonly NodePod[]>(path);
  return (
    <Section title={value === undefined ? 'Pods' : count(value.length, 'pod')}>
      {value === undefined ? <p class="muted">{problem ?? 'Reading…'}</p> : null}
      <ul class="rows">
        {value?.map(({ name: pod, requests: [cpu, memory], isDaemon }) => (
          <li key={pod} class={isDaemon ? 'muted' : ''}>
            <span>{pod}</span>
            <span class="muted">
              {cores(cpu)} CPU, {gibibytes(memory)}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
