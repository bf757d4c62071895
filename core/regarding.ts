const apiVersions = {
  Node: 'v1',
  Pod: 'v1',
  NodeClaim: 'karpenter.sh/v1',
  NodePool: 'karpenter.sh/v1',
} as const;

/** The metadata of an object, or as much of it as is known. */
interface Identity {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
}

/** An object as an event refers to it. */
export interface EventSubject {
  apiVersion: string;
  kind: string;
  name: string;
  namespace?: string;
  uid?: string;
}

/** What an event is about. */
export function regarding(kind: keyof typeof apiVersions, { name = '', namespace, uid }: Identity): EventSubject {
  return {
    apiVersion: apiVersions[kind],
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
  };
}
