import type { ObjectMeta } from '../api/kubernetes.js';

interface Named {
  readonly metadata: ObjectMeta;
}

export const nameOf = ({ metadata }: Named): string => metadata.name ?? '';

export const namespaceOf = ({ metadata }: Named): string => metadata.namespace ?? 'default';

/** `namespace/name`. */
export const fullName = (object: Named): string => `${namespaceOf(object)}/${nameOf(object)}`;
