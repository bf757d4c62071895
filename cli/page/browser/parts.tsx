import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { isFile, past, type Past, show, snapshot, view } from './state.js';
import { pasts } from './view.js';

export function Section({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function WorkflowLink({ workflowId }: { readonly workflowId: string | undefined }) {
  const temporal = snapshot.value?.temporal ?? '';
  if (temporal === '' || workflowId === undefined) return null;
  return (
    <a
      href={`${temporal}/workflows/${encodeURIComponent(workflowId)}`}
      title={`${workflowId} in the Temporal UI`}
      rel="noreferrer"
      target="_blank"
    >
      workflow
    </a>
  );
}

/** Commands to copy. */
export function Orders({ orders, workflowId }: { readonly orders: readonly string[]; readonly workflowId?: string }) {
  return (
    <div class="orders">
      {orders.map((order) => (
        <Copy key={order} text={order} />
      ))}
      <WorkflowLink workflowId={workflowId} />
    </div>
  );
}

function Copy({ text }: { readonly text: string }) {
  const [done, setDone] = useState(false);
  const copy = (): void => void navigator.clipboard.writeText(text).then(() => setDone(true));
  return (
    <button class="copy" title="copy this command" onClick={copy}>
      <code>{text}</code> <span aria-live="polite">{done ? 'copied' : ''}</span>
    </button>
  );
}

/** How far back prices and what happened go, which is one choice, and what is missing of it. */
export function Back() {
  if (isFile.value) return null;
  const { past: since } = view.value;
  return (
    <div class="controls">
      <Choice label="show" value={since} options={pasts} onChange={(value) => show({ past: value })} />
      <span class="muted" role="status">
        {since === '' ? '' : missingOf(past.value)}
      </span>
    </div>
  );
}

function missingOf({ prices, report, problem }: Past): string {
  if (problem !== undefined) return problem;
  if (prices === undefined || report === undefined) return 'Reading…';
  return prices.source === 'Prometheus'
    ? ''
    : 'Prices are those since the operator leads: PROMETHEUS_URL gives earlier ones.';
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: Readonly<Record<T, string>>;
  readonly onChange: (value: T) => void;
}

export function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value as T)}>
        {Object.entries<string>(options).map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
