import { field, type CrdRow } from './crd-case-helpers.js';

const kind = 'DisruptionPause';
const long = (length: number): string => 'x'.repeat(length);

export const disruptionPauseRows: readonly CrdRow[] = [
  field(kind, 'spec.scope', {
    accepts: [
      { kind: 'Cluster' },
      { kind: 'NodePool', name: 'general' },
      { kind: 'NodePool', name: 'general', reason: 'Drifted' },
      { kind: 'Node', name: long(253) },
      { kind: 'Reason', name: 'Expired' },
    ],
    refuses: [
      undefined,
      {},
      { name: 'general' },
      { kind: 'Namespace', name: 'x' },
      { kind: 'NodePool' },
      { kind: 'Node', name: '' },
      { kind: 'Node', name: long(254) },
      { kind: 'NodePool', name: 'general', reason: 'Boredom' },
      { kind: 'Reason', name: 'Boredom' },
    ],
  }),
  field(kind, 'spec.message', { accepts: ['x', long(500)], refuses: [undefined, '', long(501)] }),
  field(kind, 'spec.requestedBy', { accepts: [undefined, 'ann', long(500)], refuses: ['', long(501)] }),
  field(kind, 'spec.until', { accepts: [undefined, '2026-11-21T17:51:54Z'], refuses: ['tomorrow', ''] }),
];
