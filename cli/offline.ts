// What the commands on files run: bundled as one script with its compiled code beside it (offline-code.ts).
export { consolidateOffline } from './consolidate.js';
export { planOffline } from './plan.js';
