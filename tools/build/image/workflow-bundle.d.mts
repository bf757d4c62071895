export interface BundledWorkflows {
  /** The script, with its map in its last line. */
  readonly code: string;
  readonly files: readonly string[];
}

export function slimmed(bundle: string): Promise<BundledWorkflows>;
export function bundledWorkflows(root: string): Promise<BundledWorkflows>;
