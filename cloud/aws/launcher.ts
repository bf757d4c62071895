import type { CreateFleetCommandOutput } from '@aws-sdk/client-ec2';
import { type EC2NodeClass, restrictedTags } from '../../api/aws/ec2-node-class.js';
import { awsLabels } from '../../api/aws/labels.js';
import { annotations } from '../../api/labels.js';
import { DomainError, isDomainError } from '../../core/failures.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { LaunchOption } from '../../core/launch-options.js';
import { lookUp } from '../../core/own.js';
import { err, ok, type Result } from '../../core/result.js';
import type {
  LaunchedInstance,
  LaunchFailure,
  LaunchRefusal,
  LaunchRequest,
  ProviderEvent,
  UnavailableOffering,
} from '../port.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { awsCode, toDomainError } from './errors.js';
import {
  type FleetInput,
  type FleetOutcome,
  fleetRequest,
  isTemplateMissing,
  noErrors,
  nothingUsable,
  readFleetErrors,
  withEmptyAsCapacity,
  withinConfigs,
} from './fleet.js';
import type { Instances } from './instances.js';
import {
  chooseLaunch,
  launchPlacementOf,
  type LaunchStage,
  reservationOf,
  templateKey,
  zoneOf,
} from './launch-choice.js';
import type { LaunchTemplates } from './launch-template.js';
import { adoptedInstance, type Ec2LaunchRequest, launchedInstance, madeInstance } from './launched-instance.js';
import type { Subnets } from './networks.js';
import { placementKey } from './placement-groups.js';
import type { Reservations } from './reservations.js';
import { launchTags } from './tags.js';
import type { TemplatePlanner } from './template-planner.js';
import type { UnavailableOfferings } from '../../core/unavailable-offerings.js';
import { brokenConditions, conditionOf } from '../../core/conditions.js';
import { nameOf } from '../../core/names.js';

/** Time after which the effect of a request is visible to all callers, milliseconds. */
const visibleAfterMs = 60_000;
/** Maximum number of launches that are tracked. Losing one costs a delay of a minute, never a second instance. */
const mostKept = 5000;

/**
 * Tracks the client tokens of CreateFleet. EC2 stores a token with its parameters and response: a repeated request with
 * the same parameters gets the same response, with other parameters it fails (`IdempotentParameterMismatch`).
 * Parameters differ between attempts: offerings become unavailable, another subnet has more free addresses.
 * - A request whose response was lost is repeated with the same parameters, so that EC2 reports its result.
 * - A token whose response had no instance is spent: the next attempt uses another.
 * - A token that another process used with other parameters before it died is spent after the time in which an instance
 * launched with it becomes visible: until then the claim may have one.
 */
export class ClientTokens<Request> {
  /** By name: the number of spent tokens. */
  private readonly spent = new Map<string, number>();
  private readonly lostRequests = new Map<string, Request>();
  private readonly mismatches = new Map<string, number>();

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  /** The token for the next request of this name. */
  next(name: string): string {
    const spent = this.spent.get(name) ?? 0;
    return spent === 0 ? name : `${name}-${spent}`;
  }

  /** The request whose response was lost, to be repeated unchanged. */
  unanswered(name: string): Request | undefined {
    return this.lostRequests.get(name);
  }

  lost(name: string, request: Request): void {
    keep(this.lostRequests, name, request);
  }

  answered(name: string): void {
    this.lostRequests.delete(name);
    this.mismatches.delete(name);
  }

  /** Marks the token as spent: EC2 launches nothing more with it. */
  spend(name: string): void {
    this.answered(name);
    keep(this.spent, name, (this.spent.get(name) ?? 0) + 1);
  }

  /** Handles a mismatch: EC2 knows the token with other parameters, and no instance of the claim is visible. */
  mismatched(name: string): void {
    const now = this.clock.now();
    const since = this.mismatches.get(name) ?? now;
    if (now - since >= visibleAfterMs) this.spend(name);
    else keep(this.mismatches, name, since);
  }
}

function keep<T>(kept: Map<string, T>, key: string, value: T): void {
  const [oldest] = kept.keys();
  if (kept.size >= mostKept && !kept.has(key) && oldest !== undefined) kept.delete(oldest);
  kept.set(key, value);
}

export interface LauncherDeps {
  readonly calls: Pick<AwsCalls, 'createFleet'>;
  readonly clusterName: string;
  readonly instances: Instances;
  readonly subnets: Subnets;
  readonly templates: LaunchTemplates;
  readonly planner: TemplatePlanner;
  readonly unavailable: UnavailableOfferings;
  readonly reservations: Reservations;
  readonly clock: Pick<Clock, 'now'>;
  readonly catalogue: (nodeClass: EC2NodeClass) => Promise<readonly InstanceType[]>;
}

type LaunchResult = Result<LaunchedInstance, LaunchRefusal>;

/**
 * Launches the single instance of a claim: spot, then on-demand if the claim allows both (launch/capacity-type-order,
 * launch/fleet-request).
 */
export class Launcher {
  private readonly underWay = new Map<string, Promise<LaunchResult>>();
  private readonly tokens: ClientTokens<Asked>;

  constructor(private readonly deps: LauncherDeps) {
    this.tokens = new ClientTokens(deps.clock);
  }

  /** Concurrent calls with the same token share one launch; later calls look up its result in EC2. */
  launch(request: LaunchRequest): Promise<LaunchResult> {
    const running = this.underWay.get(request.clientToken);
    if (running !== undefined) return running;
    const launch = this.start(request as Ec2LaunchRequest).finally(() => this.underWay.delete(request.clientToken));
    this.underWay.set(request.clientToken, launch);
    return launch;
  }

  private async start(request: Ec2LaunchRequest): Promise<LaunchResult> {
    if (request.firstAttempt !== true) {
      const adopted = await this.adopt(request);
      if (adopted !== undefined) return adopted;
    }
    const notReady = whyNotLaunchable(request.nodeClass);
    if (notReady !== undefined) return err({ kind: 'NodeClassNotReady', message: notReady, unavailable: [] });
    const choice = chooseLaunch(await this.typesOf(request), request.claim);
    if (choice.kind === 'none') return err({ kind: 'InsufficientCapacity', message: choice.message, unavailable: [] });
    const unavailable: UnavailableOffering[] = [];
    const messages: string[] = [];
    const events: ProviderEvent[] = [];
    const failures: LaunchFailure[] = [];
    for (const stage of choice.stages) {
      const outcome = await this.attempt(request, stage);
      if (outcome.verdict.spotRoleMissing === true) events.push(spotRoleMissing);
      failures.push(...(outcome.verdict.failures ?? []));
      if (outcome.launched !== undefined) {
        const all = [...unavailable, ...outcome.verdict.unavailable];
        return ok({ ...outcome.launched, unavailable: all, events, failures });
      }
      unavailable.push(...outcome.verdict.unavailable);
      messages.push(`${stage.capacityType}: ${outcome.verdict.message}`);
    }
    return err({ kind: 'InsufficientCapacity', message: messages.join('; '), unavailable, events, failures });
  }

  /** The catalogue with which the claim was planned. */
  private async typesOf({ nodeClass, overlaid }: Ec2LaunchRequest): Promise<readonly InstanceType[]> {
    const types = await this.deps.catalogue(nodeClass);
    return overlaid === undefined ? types : overlaid(types);
  }

  /** The instance that an earlier launch of the claim created, whose response was lost. */
  private async adopt(request: Ec2LaunchRequest): Promise<LaunchResult | undefined> {
    const found = await this.deps.instances.ofClaim(request.claim.metadata.uid ?? '');
    const alive = found.find((instance) => !['terminated', 'shutting-down'].includes(instance.state));
    if (alive !== undefined) return ok(adoptedInstance(await this.typesOf(request), request, alive));
    if (found.length === 0) return undefined;
    // A claim never gets a second instance: if this one is terminated, the claim has failed.
    const message = `${found[0]!.instanceId}, launched for this claim, is terminated already`;
    return err({ kind: 'InsufficientCapacity', message, unavailable: [] });
  }

  /** One stage; a launch template that was deleted is created again, once. */
  private async attempt(request: Ec2LaunchRequest, stage: LaunchStage, again = false): Promise<StageOutcome> {
    const name = stageToken(request, stage, again);
    const asked = this.tokens.unanswered(name) ?? (await this.prepare(request, stage, name));
    if (asked === undefined) return { launched: undefined, verdict: nothingUsable };
    const answer = await this.send(request, asked);
    if ('adopted' in answer) return { launched: answer.adopted, verdict: noErrors };
    if (answer.verdict.templateMissing && answer.launched === undefined && !again) {
      for (const { template } of asked.input.templates.values()) this.deps.templates.forget(template);
      return this.attempt(request, stage, true);
    }
    this.settleReservations(asked.options, answer);
    this.deps.unavailable.add(answer.verdict.unavailable);
    for (const id of answer.verdict.exhaustedSubnets) this.deps.subnets.markExhausted(id);
    // With the same token EC2 would repeat its response, or report other parameters.
    if (answer.launched === undefined) this.tokens.spend(name);
    if (answer.launched === undefined && !answer.verdict.onlyCapacity) {
      const type = answer.verdict.throttled ? 'Throttled' : 'LaunchFailed';
      const { message, reason, failures } = answer.verdict;
      throw new DomainError(type, `ec2:CreateFleet: ${message}`, {
        ...{ action: 'ec2:CreateFleet', failures },
        ...(reason === undefined ? {} : { reason }),
      });
    }
    return answer;
  }

  /** Undefined if no option has a subnet and a template. */
  private async prepare(request: Ec2LaunchRequest, stage: LaunchStage, name: string): Promise<Asked | undefined> {
    const subnets = await this.deps.subnets.choose(request.nodeClass.status?.subnets ?? []);
    const templates = await this.deps.planner.plan(request, stage);
    const usable = stage.options.filter((option) => subnets.has(zoneOf(option)) && templates.has(templateKey(option)));
    const options = withinConfigs(usable, templates);
    if (options.length === 0) return undefined;
    const found = { templates, subnets, token: this.tokens.next(name) };
    return { name, input: this.fleetInput(request, { ...stage, options }, found), options };
  }

  /**
   * Counts a launched instance against its reservation. If there was no capacity, the reservation counts as used up,
   * also where EC2 listed free instances before.
   */
  private settleReservations(options: readonly LaunchOption[], { launched, verdict }: StageOutcome): void {
    const used = launched?.labels[awsLabels.capacityReservationId];
    if (used !== undefined) this.deps.reservations.used(used);
    if (launched !== undefined || !verdict.onlyCapacity) return;
    for (const option of options) {
      const reservation = reservationOf(option);
      if (reservation !== undefined) this.deps.reservations.exhausted(reservation);
    }
  }

  private fleetInput(
    request: Ec2LaunchRequest,
    stage: LaunchStage,
    found: Pick<FleetInput, 'templates' | 'subnets'> & { readonly token: string },
  ): FleetInput {
    const { nodeClass, claim } = request;
    const annotated = (name: string): boolean => lookUp(claim.metadata.annotations ?? {}, name) === 'true';
    return {
      stage,
      templates: found.templates,
      subnets: found.subnets,
      tags: launchTags(nodeClass, claim, this.deps.clusterName),
      clientToken: found.token,
      prioritized: annotated(annotations.priceOverlayApplied),
      // `spec.context` applies to the flexibility that the claim required.
      context: annotated(annotations.minValuesRelaxed) ? undefined : nodeClass.spec.context,
    };
  }

  private async send(
    request: Ec2LaunchRequest,
    asked: Asked,
  ): Promise<StageOutcome | { readonly adopted: LaunchedInstance }> {
    const { input, options } = asked;
    const ids = [...input.subnets.values()].map((subnet) => subnet.id);
    const giveBack = this.deps.subnets.reserve(ids, smallestPods(options));
    try {
      const answer = await this.deps.calls.createFleet(fleetRequest(input));
      this.tokens.answered(asked.name);
      const outcome = this.read(request, input, answer);
      giveBack(outcome.subnetId);
      return outcome;
    } catch (error) {
      giveBack(undefined);
      return await this.recover(request, asked, error);
    }
  }

  /** Handles a failed CreateFleet: EC2 may have executed it, or an earlier one with this token. */
  private async recover(
    request: Ec2LaunchRequest,
    asked: Asked,
    error: unknown,
  ): Promise<StageOutcome | { readonly adopted: LaunchedInstance }> {
    const code = awsCode(error);
    if (isTemplateMissing(code)) {
      return { launched: undefined, verdict: { ...noErrors, templateMissing: true, message: code } };
    }
    const failure = toDomainError(error, 'ec2:CreateFleet');
    if (code === 'IdempotentParameterMismatch' || isDomainError(error, 'Unavailable')) {
      const adopted = await this.adopt(request);
      if (adopted?.ok === true) return { adopted: adopted.value };
      if (code === 'IdempotentParameterMismatch') this.tokens.mismatched(asked.name);
      else this.tokens.lost(asked.name, asked);
      throw new DomainError(
        'LaunchFailed',
        `${failure.message}; no instance of the claim is visible yet`,
        failure.details,
      );
    }
    throw failure.type === 'Invalid' ? new DomainError('LaunchFailed', failure.message, failure.details) : failure;
  }

  private read(
    request: Ec2LaunchRequest,
    input: FleetInput,
    answer: CreateFleetCommandOutput,
  ): StageOutcome & { readonly subnetId: string | undefined } {
    const [first] = input.stage.options;
    const { groupId, partition } = first === undefined ? {} : launchPlacementOf(first);
    const placement = placementKey(groupId, partition);
    const zoneOfSubnet = new Map([...input.subnets.values()].map((subnet) => [subnet.id, subnet.zone]));
    const verdict = readFleetErrors(answer.Errors ?? [], input.stage.capacityType, zoneOfSubnet, placement);
    const made = madeInstance(answer, zoneOfSubnet);
    if (made === undefined) return { launched: undefined, verdict: withEmptyAsCapacity(verdict), subnetId: undefined };
    const { instanceId } = made;
    this.deps.instances.launched(instanceId);
    const option = optionOf(input.stage, made.type, made.zone);
    if (option === undefined) {
      throw new DomainError('LaunchFailed', `ec2:CreateFleet launched ${instanceId}, which does not match the request`);
    }
    this.deps.unavailable.succeeded(input.stage.capacityType, option.type.name, zoneOf(option), placement);
    const imageId = made.imageId ?? input.templates.get(templateKey(option))?.imageId;
    const instance = launchedInstance(request, option, { instanceId, imageId });
    return {
      launched: { ...instance, pricePerHour: option.offering.price, unavailable: verdict.unavailable },
      verdict,
      subnetId: made.subnetId,
    };
  }
}

const spotRoleMissing: ProviderEvent = {
  type: 'Warning',
  reason: 'SpotServiceLinkedRoleCreationFailure',
  message:
    'Attempted to launch a spot instance but failed due to "AuthFailure.ServiceLinkedRoleCreationNotPermitted": ' +
    'the account has no role AWSServiceRoleForEC2Spot',
};

/** A CreateFleet as it was sent. */
interface Asked {
  /** Name of the token. */
  readonly name: string;
  readonly input: FleetInput;
  readonly options: readonly LaunchOption[];
}

/** Each request of a launch has a separate token that is the same whenever the launch is retried. */
function stageToken({ clientToken }: Ec2LaunchRequest, stage: LaunchStage, again: boolean): string {
  return `${clientToken}${tokenSuffix[stage.capacityType]}${again ? '-t' : ''}`;
}

const tokenSuffix = { reserved: '-r', spot: '', 'on-demand': '-od' } as const;

interface StageOutcome {
  readonly launched: LaunchedInstance | undefined;
  readonly verdict: FleetOutcome;
}

function optionOf(stage: LaunchStage, type: string | undefined, zone: string | undefined): LaunchOption | undefined {
  return stage.options.find((option) => option.type.name === type && zoneOf(option) === zone);
}

function smallestPods(options: readonly LaunchOption[]): number {
  return Math.min(...options.map(({ type }) => type.capacity.pods ?? 1));
}

/**
 * Why nothing can be launched from the node class now. Throws if its readiness is Unknown, so that the launch is
 * retried (launch/node-class-not-ready).
 */
function whyNotLaunchable(nodeClass: EC2NodeClass): string | undefined {
  return whyNotReady(nodeClass) ?? wrongTags(nodeClass);
}

function wrongTags({ metadata: { name = '' }, spec }: EC2NodeClass): string | undefined {
  const wrong = restrictedTags(spec.tags);
  return wrong.length === 0 ? undefined : `EC2NodeClass ${name}: spec.tags may not have ${wrong.join(', ')}`;
}

function whyNotReady(nodeClass: EC2NodeClass): string | undefined {
  const ready = conditionOf(nodeClass.status?.conditions, 'Ready');
  const name = nameOf(nodeClass);
  if (ready === undefined || ready.status === 'Unknown') {
    throw new DomainError('LaunchFailed', `EC2NodeClass ${name} is not resolved yet`, {
      reason: 'NodeClassReadinessUnknown',
    });
  }
  if (ready.status === 'False') {
    const [broken] = brokenConditions(nodeClass.status?.conditions);
    const why = broken?.message === undefined ? '' : `: ${broken.message}`;
    return `${ready.message ?? ready.reason ?? 'not ready'}${why}`;
  }
  const { generation } = nodeClass.metadata;
  if (generation !== undefined && ready.observedGeneration !== undefined && ready.observedGeneration !== generation) {
    return `EC2NodeClass ${name} changed and is not resolved again yet`;
  }
  return undefined;
}
