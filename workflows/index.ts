// What the worker bundles: every workflow by its name on the wire.
export { collectGarbage } from './collect-garbage.js';
export { consolidate } from './consolidate.js';
export { disrupt } from './disrupt.js';
export { explainPod } from './explain-pod.js';
export { handleInterruption } from './handle-interruption.js';
export { keepReplicas } from './keep-replicas.js';
export { launchNode } from './launch-node.js';
export { measureSavings } from './measure-savings.js';
export { provision } from './provision.js';
export { repairNode } from './repair-node.js';
export { offerings } from './offerings.js';
export { refreshCatalogue, sweepCloud } from './cloud-upkeep.js';
export { replaceDrifted } from './replace-drifted.js';
export { replaceNode } from './replace-node.js';
export { rotateExpired } from './rotate-expired.js';
export { terminateNode } from './terminate-node.js';
