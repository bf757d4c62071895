import type { LaunchedInstance } from '../../cloud/port.js';
import type { ClaimRef } from '../../workflows/messages.js';

export type ClaimView =
  | { readonly state: 'gone' }
  | { readonly state: 'deleting'; readonly providerId?: string }
  | {
      readonly state: 'live';
      readonly providerId?: string;
      readonly initialized: boolean;
      readonly registered: boolean;
      /** When Launched became true, milliseconds of the epoch. */
      readonly launchedAt?: number;
      readonly nodeName?: string;
    };

/** The API server answered, and refuses the write (launch/refused-writes). */
export interface RefusedWrite {
  readonly state: 'refused';
  readonly message: string;
}

export type LaunchInstanceResult =
  /** `recorded`: the NodeClaim has the instance; otherwise `recordLaunch` has to write it. */
  | { readonly state: 'launched'; readonly instance: LaunchedInstance; readonly recorded?: boolean }
  | {
      readonly state: 'refused';
      readonly reason: 'insufficient_capacity' | 'nodeclass_not_ready';
      readonly message: string;
    }
  /**
   * The attempt failed, and another may succeed; it took `tookMs`. `isUnavailable`: the cloud answered no call
   * meanwhile, so the failure says nothing about the NodeClaim.
   */
  | { readonly state: 'failed'; readonly message: string; readonly tookMs: number; readonly isUnavailable?: boolean }
  | { readonly state: 'gone' };

export type NodeSync =
  | { readonly state: 'gone' | 'deleting' }
  /**
   * The NodeClaim has no provider id: the API server was restored from a backup from before the launch was recorded.
   */
  | { readonly state: 'unlaunched' }
  /**
   * `againMs`: the Node exists and has to be checked again after this time. `registered`: whether the NodeClaim has
   * condition Registered. `instanceEnded`: there will be no Node; workflows of earlier builds continue to wait.
   */
  | {
      readonly state: 'waiting';
      readonly reason: string;
      readonly message: string;
      readonly againMs?: number;
      readonly registered?: boolean;
      readonly instanceEnded?: true;
    }
  | {
      readonly state: 'registered' | 'initialized';
      readonly nodeName: string;
      readonly providerId: string;
      readonly reason: string;
      readonly message: string;
    };

export interface LaunchActivities {
  /** Adds the finalizer, before anything is launched (launch/finalizer-first). */
  prepareClaim(input: { claim: ClaimRef }): Promise<ClaimView | RefusedWrite>;
  viewClaim(input: { claim: ClaimRef }): Promise<ClaimView>;
  /** Writes the launched instance to the NodeClaim; a deleting NodeClaim keeps its provider id. */
  recordLaunch(input: { claim: ClaimRef; instance: LaunchedInstance }): Promise<RefusedWrite | undefined>;
  /**
   * Registers and initializes the node, as far as it is ready, and begins to tag its instance. `live` reads the Node
   * from the API server instead of the watch cache.
   */
  syncNode(input: { claim: ClaimRef; live?: boolean }): Promise<NodeSync>;
  /**
   * Deletes a NodeClaim whose launch or registration failed, with an event. `refused`: the API server refused writes of
   * the NodeClaim, so its NodePool is excluded from plans for a while.
   */
  failClaim(input: { claim: ClaimRef; reason: string; message: string; refused?: boolean }): Promise<void>;
}

export interface CloudActivities {
  /**
   * Launches at most one instance for a NodeClaim's UID, however often it is called (invariants/one-instance), and
   * writes it to the NodeClaim if possible. `isFirst`: nothing can have been launched for the NodeClaim before.
   */
  launchInstance(input: { claim: ClaimRef; isFirst?: boolean }): Promise<LaunchInstanceResult>;
  /** Restarts the machine; `unsupported` where the provider cannot. */
  rebootInstance(input: {
    claim: ClaimRef;
    providerId: string;
  }): Promise<{ state: 'rebooting' | 'gone' | 'unsupported' }>;
}
