interface Past {
  readonly at: number;
  readonly nodePool: string;
}

interface RefusedNodes {
  readonly at: number;
  readonly nodes: readonly { readonly nodePool: string }[];
}

/** Which nodes were disrupted recently, and what people rejected. */
export interface Records<P extends Past, R extends RefusedNodes> {
  readonly pastDisruptions: readonly P[];
  readonly refused: readonly R[];
}

/**
 * Records with those that NodePools keep. Those of `pools` are what a later state wrote: they take the place of what is known of these
 * NodePools, but for what is younger than all of them. Without `pools` they are of all, and nothing is known that they lack or that is over.
 */
export function withRecorded<P extends Past, R extends RefusedNodes>(
  known: Records<P, R>,
  { pools, pastDisruptions, refused }: Records<P, R> & { readonly pools?: readonly string[] },
): Records<P, R> {
  const youngest = Math.max(...[...pastDisruptions, ...refused].map(({ at }) => at));
  const stays = (at: number, of: readonly string[]): boolean =>
    at > youngest || pools === undefined || !of.some((pool) => pools.includes(pool));
  const others = known.refused.filter(({ at, nodes }) =>
    stays(
      at,
      nodes.map(({ nodePool }) => nodePool),
    ),
  );
  // One of nodes of several NodePools is kept by each of them.
  const all = new Map([...refused, ...others].map((each) => [JSON.stringify(each), each]));
  return {
    pastDisruptions: [...pastDisruptions, ...known.pastDisruptions.filter(({ at, nodePool }) => stays(at, [nodePool]))],
    refused: [...all.values()],
  };
}
