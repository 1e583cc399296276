import type { Log } from '../../operations/log/create-log.ts'
import type { Sources } from '../../platform/sources.ts'
import { createRolloutWatch, type RolloutWatch, type RolloutWatchDeps } from './rollout-watch.ts'

/** The watch of a server; it logs the errors that keep it from evaluating. */
export function openRolloutWatch(
  deps: Pick<RolloutWatchDeps, 'store' | 'audited' | 'views'> & {
    readonly sources: Pick<Sources, 'now'>
    readonly log: Log
  },
): RolloutWatch {
  const { log, sources, ...rest } = deps
  const onError = (err: unknown): void => log.error({ err }, 'rollouts cannot be evaluated')
  return createRolloutWatch({ ...rest, ...sources, onError })
}
