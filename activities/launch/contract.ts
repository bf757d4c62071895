import type { LaunchedInstance } from '../../cloud/port.js';
import type { ClaimRef } from '../../workflows/messages.js';
import type { CollectedInstances, CollectedObjects, LostObjects } from '../garbage-collection/contract.js';
import type { InstanceView } from '../interruption/contract.js';

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

export type LaunchInstanceResult =
  | { readonly state: 'launched'; readonly instance: LaunchedInstance }
  | {
      readonly state: 'refused';
      readonly reason: 'insufficient_capacity' | 'nodeclass_not_ready';
      readonly message: string;
    }
  /**
   * This attempt came to nothing, which says nothing of the next; it took `tookMs` of a worker's time. `isUnavailable`: the cloud answered
   * nobody meanwhile, so that it says nothing of the claim either.
   */
  | { readonly state: 'failed'; readonly message: string; readonly tookMs: number; readonly isUnavailable?: boolean }
  | { readonly state: 'gone' };

export type TagInstanceResult =
  { readonly state: 'tagged' | 'gone' } | { readonly state: 'failed'; readonly message: string };

export type NodeSync =
  | { readonly state: 'gone' | 'deleting' }
  /** `againMs`: the node is there, and is to be looked at again after so long. */
  | { readonly state: 'waiting'; readonly reason: string; readonly message: string; readonly againMs?: number }
  | {
      readonly state: 'registered' | 'initialized';
      readonly nodeName: string;
      readonly providerId: string;
      readonly reason: string;
      readonly message: string;
    };

export interface LaunchActivities {
  /** Puts the finalizer on before anything is launched (launch/finalizer-first). */
  prepareClaim(input: { claim: ClaimRef }): Promise<ClaimView>;
  /** The claim as it is; changes nothing. */
  viewClaim(input: { claim: ClaimRef }): Promise<ClaimView>;
  /** Writes what was launched into the claim; harmless on a deleting claim, which keeps its provider id. */
  recordLaunch(input: { claim: ClaimRef; instance: LaunchedInstance }): Promise<void>;
  /** Registration, then initialization, as far as the node allows. `live` looks for the Node past the cache. */
  syncNode(input: { claim: ClaimRef; live?: boolean }): Promise<NodeSync>;
  /** Deletes a claim that cannot become a node, with its event. */
  failClaim(input: { claim: ClaimRef; reason: string; message: string }): Promise<void>;
}

export interface CloudActivities {
  /** At most one instance for a claim's UID, however often it is called (invariants/one-instance). `attempt` counts from 1. */
  launchInstance(input: { claim: ClaimRef; attempt?: number }): Promise<LaunchInstanceResult>;
  /** Tags that need the Node's name, once; what the cloud refuses is told on the claim. */
  tagInstance(input: { claim: ClaimRef; providerId: string; nodeName: string }): Promise<TagInstanceResult>;
  /** As `tagInstance`, for nodes whose launch did not manage to; ends at the first refusal. Gives how many it tagged. */
  tagUntagged(): Promise<{ readonly tagged: number; readonly failed?: string }>;
  terminateInstance(input: { claim: ClaimRef; providerId: string }): Promise<{ state: 'terminating' | 'gone' }>;
  /** Restarts the machine; `unsupported` where the provider cannot. */
  rebootInstance(input: {
    claim: ClaimRef;
    providerId: string;
  }): Promise<{ state: 'rebooting' | 'gone' | 'unsupported' }>;
  /** Whether the instance is gone; changes nothing. */
  findInstance(input: { providerId: string }): Promise<{ state: 'there' | 'gone' }>;
  /** Whose instance it is. With `cordonFor`, the id of the workflow that will own the taint, a node with pods to move is tainted in the same breath: a notice gives little time. */
  inspectInstance(input: { instanceId: string; kind: string; at: number; cordonFor?: string }): Promise<InstanceView>;
  /** Reads instance types and prices again (instance-types/catalogue-age). */
  refreshCatalogue(): Promise<void>;
  /** Removes launch templates and instance profiles that nothing uses any more (launch-templates/unused-go, node-classes/instance-profiles). */
  sweepCloud(): Promise<void>;
  /** Terminates instances without a claim. */
  collectInstances(): Promise<CollectedInstances>;
  /** One look at what seems to have lost its instance or its claim; changes nothing. */
  findLost(): Promise<LostObjects>;
  /** A second look, some time later: what is still lost goes. */
  collectLost(lost: LostObjects): Promise<CollectedObjects>;
}
