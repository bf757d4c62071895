// Entry point of the commands on files: bundled as one script with a code cache (bundles.ts).
export { consolidateOffline } from './consolidate.js';
export { planOffline } from './plan.js';
