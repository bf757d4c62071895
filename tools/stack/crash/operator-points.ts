import proto from '@temporalio/proto';
import type { KubernetesWrite } from '../kubernetes-proxy/proxy.js';
import type { CallHooks } from '../temporal-proxy/proxy.js';
import type { Deaths } from './deaths.js';

const {
  SignalWithStartWorkflowExecutionRequest,
  SignalWorkflowExecutionRequest,
  StartWorkflowExecutionRequest,
  UpdateWorkflowExecutionRequest,
} = proto.temporal.api.workflowservice.v1;

/** What an operator has written somewhere. */
interface OperatorCall {
  /** Such as `start terminateNode`, `signal nodeChanged` or `patch nodepools/status`. */
  readonly name: string;
  /** What names the object that it is about: an id, a path, an input. */
  readonly about: string;
}

interface Payloads {
  readonly payloads?: readonly { readonly data?: Uint8Array | null }[] | null;
}

const textOf = (input: Payloads | null | undefined): string =>
  (input?.payloads ?? []).map(({ data }) => Buffer.from(data ?? []).toString('utf8')).join();

type Reader = (message: Buffer) => OperatorCall;

const readers: Readonly<Partial<Record<string, Reader>>> = {
  StartWorkflowExecution: (message) => {
    const { workflowType, workflowId, input } = StartWorkflowExecutionRequest.decode(message);
    return { name: `start ${workflowType?.name ?? ''}`, about: `${workflowId} ${textOf(input)}` };
  },
  SignalWithStartWorkflowExecution: (message) => {
    const { workflowType, workflowId, signalName, input, signalInput } =
      SignalWithStartWorkflowExecutionRequest.decode(message);
    const name = `start ${workflowType?.name ?? ''} with signal ${signalName}`;
    return { name, about: `${workflowId} ${textOf(input)} ${textOf(signalInput)}` };
  },
  SignalWorkflowExecution: (message) => {
    const { workflowExecution, signalName, input } = SignalWorkflowExecutionRequest.decode(message);
    return { name: `signal ${signalName}`, about: `${workflowExecution?.workflowId ?? ''} ${textOf(input)}` };
  },
  UpdateWorkflowExecution: (message) => {
    const { workflowExecution, request } = UpdateWorkflowExecutionRequest.decode(message);
    const { name = '', args } = request?.input ?? {};
    return { name: `update ${name ?? ''}`, about: `${workflowExecution?.workflowId ?? ''} ${textOf(args)}` };
  },
};

/** A call of Temporal that changes something there; undefined for others. */
const temporalCall = (method: string, message: Buffer): OperatorCall | undefined => readers[method]?.(message);

const verbs: Readonly<Partial<Record<string, string>>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
/** `/api/v1/[namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]]`, or the same below `/apis/GROUP/VERSION`. */
const resourcePath = /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([^/]+)(?:\/([^/]+)(?:\/([^/]+))?)?$/;

/** A write to Kubernetes that took effect; undefined for others. */
function kubernetesCall({ method, path, body, status }: KubernetesWrite): OperatorCall | undefined {
  const [, resource = '', name = '', subresource] = resourcePath.exec(path) ?? [];
  const verb = verbs[method];
  if (verb === undefined || resource === '' || status >= 300) return undefined;
  return {
    name: `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`,
    about: `${name} ${body}`,
  };
}

interface OperatorOptions {
  /** To which scenario a call belongs, by what it is about. */
  readonly scenarioOf: (about: string) => string;
  /** How many points there are of one call in a scenario, at most. */
  readonly most: number;
}

/** Where an operator dies: after each kind of write to Kubernetes and to Temporal took effect, while it has not heard of it. */
export class OperatorPoints implements CallHooks {
  private readonly counts = new Map<string, number>();

  constructor(
    private readonly deaths: Deaths,
    private readonly options: OperatorOptions,
  ) {}

  request(): boolean {
    return true;
  }

  response(method: string, message: Buffer): boolean {
    return !this.isLast(temporalCall(method, message));
  }

  /** Whether the operator hears what came of it. */
  written(write: KubernetesWrite): boolean {
    return !this.isLast(kubernetesCall(write));
  }

  private isLast(call: OperatorCall | undefined): boolean {
    if (call === undefined) return false;
    const scenario = this.options.scenarioOf(call.about);
    const key = `${scenario} ${call.name}`;
    const count = (this.counts.get(key) ?? 0) + 1;
    if (count > this.options.most) return false;
    if (!this.deaths.isLast({ scenario, of: 'operator', place: `after ${call.name} ${count}` })) return false;
    this.counts.set(key, count);
    return true;
  }
}
