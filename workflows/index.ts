// The entry point of the workflow bundle. The name of each export is the workflow type in Temporal.
export { consolidate } from './consolidation/consolidate.js';
export { disrupt } from './disruption/disrupt.js';
export { handleInterruption } from './interruption/handle-interruption.js';
export { keepReplicas } from './static-capacity/keep-replicas.js';
export { launchNode } from './launch/launch-node.js';
export { measureSavings } from './consolidation/measure-savings.js';
export { provision } from './provisioning/provision.js';
export { repairNode } from './repair/repair-node.js';
export { offerings } from './provisioning/offerings.js';
export { replaceDrifted } from './drift/replace-drifted.js';
export { replaceNode } from './replacement/replace-node.js';
export { expireNode } from './expiration/expire-node.js';
export { terminateNode } from './termination/terminate-node.js';
