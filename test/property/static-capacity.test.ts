import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Random } from '../cases/random.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { staticCounts, staticDriftRoom, staticPlan } from '../../disruption/static-capacity/static-capacity.js';
import type { StaticCounts } from '../../disruption/static-capacity/static-capacity.js';
import { nodeClaim, nodePool } from '../builders/activity-world.js';

// The same cases in every run, so that a failure is a change; STOWAGE_SEED draws others.
fc.configureGlobal({ seed: Number(process.env['STOWAGE_SEED'] ?? 20_260_101) });

/** One static pool through random events: scaled, drifting, moves that end either way, nodes that are lost. */
class Pool {
  private readonly claims = new Map<string, { going: boolean; deleting: boolean; successor?: string | undefined }>();
  private serial = 0;

  constructor(
    private replicas: number,
    private readonly limit: number,
    private readonly random: Random,
  ) {}

  get size(): number {
    return this.claims.size;
  }

  step(): void {
    const steps = [
      () => this.keep(),
      () => this.drift(),
      () => this.launch(),
      () => this.finish(),
      () => this.fail(),
      () => this.purge(),
      () => this.lose(),
      () => this.scale(),
    ];
    steps[this.random.int(0, steps.length - 1)]!();
  }

  /** Until nothing is left to do. */
  settle(): number {
    for (let i = 0; i < 4 * this.limit + 4; i++) {
      this.purge();
      this.launch();
      this.finish();
      this.keep();
    }
    this.purge();
    return this.claims.size;
  }

  get wanted(): number {
    return Math.min(this.replicas, this.limit);
  }

  private counts(): StaticCounts {
    const views = [...this.claims].map(([name, { going, deleting }]): NodeView => {
      const status = going ? { conditions: [{ type: 'DisruptionReason', status: 'True' as const }] } : {};
      const base = nodeClaim(name, { status });
      const metadata = { ...base.metadata, ...(deleting ? { deletionTimestamp: '2026-01-05T12:00:00Z' } : {}) };
      return { claim: { ...base, metadata }, pods: [], pricePerHour: 1 };
    });
    const isReplaced = (uid: string): boolean => {
      const successor = this.claims.get(uid.slice('uid-'.length))?.successor;
      return successor !== undefined && this.claims.has(successor);
    };
    return staticCounts(views, { deleting: new Set(), claimed: new Set(), isReplaced });
  }

  private pool() {
    return nodePool('static', { replicas: this.replicas, limits: { nodes: String(this.limit) } });
  }

  private create(): string {
    const name = `c${this.serial++}`;
    this.claims.set(name, { going: false, deleting: false });
    return name;
  }

  private keep(): void {
    const { create, remove } = staticPlan(this.pool(), this.counts(), 0);
    for (let i = 0; i < create; i++) this.create();
    for (const { claim } of remove) this.claims.get(claim.metadata.name ?? '')!.deleting = true;
  }

  private drift(): void {
    const counts = this.counts();
    const room = Math.min(staticDriftRoom(this.pool(), counts), this.random.int(1, 3));
    for (const { claim } of counts.running.slice(0, room)) this.claims.get(claim.metadata.name ?? '')!.going = true;
  }

  /** A move that has begun creates its replacement, also after other changes. */
  private launch(): void {
    for (const claim of this.moves(({ successor }) => successor === undefined)) claim.successor = this.create();
  }

  private finish(): void {
    for (const claim of this.moves(({ successor }) => successor !== undefined)) claim.deleting = true;
  }

  private fail(): void {
    for (const claim of this.moves(() => this.random.chance(0.5)))
      Object.assign(claim, { going: false, successor: undefined });
  }

  private moves(
    which: (claim: { successor?: string | undefined }) => boolean,
  ): { going: boolean; deleting: boolean; successor?: string | undefined }[] {
    return [...this.claims.values()].filter((claim) => claim.going && !claim.deleting && which(claim));
  }

  private purge(): void {
    for (const [name, { deleting }] of this.claims) if (deleting) this.claims.delete(name);
  }

  private lose(): void {
    const names = [...this.claims.keys()];
    if (names.length > 0) this.claims.delete(names[this.random.int(0, names.length - 1)]!);
  }

  private scale(): void {
    this.replicas = this.random.int(0, this.limit + 2);
  }
}

test('a static pool never has more nodes than limits.nodes, and ends with its replicas, after any order of changes and failures', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 0, max: 8 }),
      fc.integer(),
      (limit, replicas, seed) => {
        const pool = new Pool(replicas, limit, new Random(seed));
        for (let i = 0; i < 60; i++) {
          pool.step();
          expect(pool.size).toBeLessThanOrEqual(limit);
        }
        expect(pool.settle()).toBe(pool.wanted);
      },
    ),
    { numRuns: 150 },
  );
});
