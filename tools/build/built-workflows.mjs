// Bundles the workflows of dist/, as the first start of Stowage there would: where several start at once, each would bundle them for itself.
import { workflowBundle } from '../../dist/worker/bundle.js';

await workflowBundle();
