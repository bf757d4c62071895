/** How long things take on the local stack, milliseconds; read off histories of live runs. */
export const latencies = {
  /** kube-scheduler binds so many pods one after the other. */
  bindMs: 4,
  /** Bound pods come to run one after the other. */
  runMs: 8,
  /** A pod that found no node is tried again so long after something changed. */
  retryMs: 1000,
  /** From the end of a pod until its ReplicaSet has made another. */
  replicaMs: 15,
  /** So many evictions at a time, and how long these take. */
  evictions: { atOnce: 5, tookMs: 105 },
  /** A search, and another one when a validation looks again. */
  searchMs: 300,
  /** From a NodeClaim to its initialized node, least and most. */
  launchMs: { from: 3000, to: 6000 },
  /** From the last eviction until the NodeClaim is gone, least and most. */
  terminationMs: { from: 1000, to: 2500 },
} as const;
