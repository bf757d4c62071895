import { engines, type Component, type Engine, type StackContext } from './components.js';
import { postgresqlComponent, preparePostgresql } from './postgresql.js';
import { ensureNamespace, prepareDatabases, temporalServerComponent } from './temporal-server.js';
import { temporalComponent } from './temporal.js';

/** As `STOWAGE_ENGINE` says; the development server where it says nothing. */
export function engineOf(environment: Readonly<Record<string, string | undefined>>): Engine {
  const { STOWAGE_ENGINE: given = '' } = environment;
  if (given === '') return 'development';
  const found = engines.find((engine) => engine === given);
  if (found !== undefined) return found;
  throw new Error(`STOWAGE_ENGINE is "${given}"; ${engines.join(' and ')} are allowed.`);
}

/** Each after the one before, without which it does not start. */
export function engineComponents(context: StackContext): Component[] {
  if (context.engine !== 'postgres') return [temporalComponent(context)];
  return [postgresqlComponent(context), temporalServerComponent(context)];
}

/** Brings an engine up by `up`, with all that a development server makes by itself. */
export async function bringUpEngine(
  context: StackContext,
  up: (component: Component) => Promise<boolean>,
): Promise<void> {
  if (context.engine !== 'postgres') {
    await up(temporalComponent(context));
    return;
  }
  await preparePostgresql(context);
  await up(postgresqlComponent(context));
  await prepareDatabases(context);
  await up(temporalServerComponent(context));
  await ensureNamespace(context);
}
