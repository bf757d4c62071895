import { workflowNow } from '../clock.js';
import type { Progress } from '../progress.js';
import { timeText } from '../../core/time.js';

/**
 * Shows the current step of a piece of work, and since when. The operator finds steps that take too long
 * (operator/stuck).
 */
export class Watchdog {
  constructor(private readonly progress: Progress) {}

  /** Called when a step begins. */
  enter(step: string): void {
    this.progress.addFacts({ 'busy with': `${step}, since ${timeText(workflowNow())}` });
  }

  /** Runs `work`, whose steps are shown until it ends. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      this.progress.addFacts({ 'busy with': 'nothing' });
    }
  }
}
