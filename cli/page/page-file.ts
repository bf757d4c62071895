import { readFileSync } from 'node:fs';
import type { Settings } from '../../process/settings.js';
import type { PageSnapshot } from './snapshot.js';

const place = '<script id="snapshot" type="application/json"></script>';

/** The page as built: it reads its snapshot from the server. */
export const builtPage = (): string => readFileSync(new URL('page.html', import.meta.url), 'utf8');

/** The page as one file, with its snapshot inside. */
export function withSnapshot(html: string, snapshot: PageSnapshot): string {
  // A name may contain the end of a script.
  const text = JSON.stringify(snapshot).replaceAll('<', '\\u003c');
  return html.replace(place, () => place.replace('></', () => `>${text}</`));
}

export const pageFile = (snapshot: PageSnapshot): string => withSnapshot(builtPage(), snapshot);

/** Address of the Temporal UI with the namespace; empty if unknown. */
export const temporalUiOf = ({ TEMPORAL_UI_URL: ui, TEMPORAL_NAMESPACE: namespace }: Settings): string =>
  ui === undefined ? '' : `${ui.replace(/\/$/, '')}/namespaces/${encodeURIComponent(namespace)}`;
