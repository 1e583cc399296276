import type { PreparedLaunch } from './prepare-launch.ts'

/** Keeps one launch prepared, so that a sandbox does not wait for its namespaces. */
export interface SpareLaunch {
  /** Prepares one, if there is none. */
  prepare(): void
  /** The spare one, or a new one; the next is prepared later. Rejects as the preparation does. */
  take(): Promise<PreparedLaunch>
  stop(): Promise<void>
}

/** `later` calls its argument once the sandbox that takes a launch has had time to start. */
export function createSpareLaunch(
  start: () => Promise<PreparedLaunch>,
  later: (prepare: () => void) => void,
): SpareLaunch {
  let spare: Promise<PreparedLaunch> | null = null
  let isStopped = false

  const prepare = (): void => {
    if (spare !== null || isStopped) return
    const starting = start()
    spare = starting
    const forget = (): void => {
      if (spare === starting) spare = null
    }
    // The next `take` starts another, and reports why it cannot.
    starting.then(({ holder }) => holder.ended).then(forget, forget)
  }

  return {
    prepare,
    async take() {
      const taken = spare ?? start()
      spare = null
      const launch = await taken
      later(prepare)
      return launch
    },
    async stop() {
      isStopped = true
      const last = spare
      spare = null
      const launch = await last?.catch(() => null)
      await launch?.discard()
    },
  }
}
